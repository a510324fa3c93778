"""A round as a person reads it: who staked what, every step in order, why each box was paid what it was paid.

What is shown is what the record says, marked REPLAY; only the deck after the reveal and the derivation lines are worked
out from it.  A record that doesn't fit together is shown as far as it can be.

Not here: fetching a round (`ops.journal`), whether the record is true (`replay`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from domain.cards import CARD_TEXTS, DECK_SIZE, card_texts, pretty_card
from domain.derivation import Line, derivation
from domain.hands import COMBINATION_NAMES, evaluate
from domain.round import events as e
from domain.round.codec import EventRecord
from domain.round.state import BoxState, RoundState, fold
from domain.ruleset import Limits, Ruleset
from ops.cli.output import data_console, printable
from replay.evidence import Evidence, by_digest


def print_round(stream: str, records: Sequence[EventRecord], ruleset: Ruleset | None) -> None:
    """Print a round on stdout; see `render_round`."""
    data_console().print(render_round(stream, records, ruleset))


def render_round(stream: str, records: Sequence[EventRecord], ruleset: Ruleset | None) -> RenderableType:
    """A round from its decoded events in stream order, and the ruleset that it pins (None: not known here)."""
    evidence = Evidence(stream, (), by_digest([] if ruleset is None else [ruleset]))
    evidence.read = list(records)  # decoded already
    parts = [*_header(evidence, records), *_steps(records)]
    try:
        parts += _results(evidence, fold(evidence.events))
    except (ValueError, LookupError):
        # Only a record that was tampered with gets here; `replay` names what is wrong, event by event.
        parts.append(_note("The events don't fit together: no results. `dealproof verify` says what is wrong."))
    return Group(*parts)


def render_boxes(ruleset: Ruleset | None, state: RoundState) -> list[RenderableType]:
    """Each box: its hand, its combinations, and the derivation of every amount; then the dealer."""
    parts: list[RenderableType] = []
    for box in state.boxes:
        parts += _box(ruleset, state, box)
    return [*parts, *_dealer(state, ruleset)]


def cards(texts: Iterable[str], width: int = 0) -> Text:
    """Cards with suit signs, hearts and diamonds red; a text that is no card stands as it is."""
    return Text(" ").join(Text(_card_sign(text).ljust(width), style=_card_style(text)) for text in texts)


def whole_units(amount: int) -> str:
    """An amount in minor units with thousands separated."""
    return f"{amount:,}"


# -- header


def _header(evidence: Evidence, records: Sequence[EventRecord]) -> list[RenderableType]:
    facts: dict[str, str] = {}
    opened = evidence.opened
    if opened is not None:
        facts = {
            "table": f"{printable(opened.table)}, round {opened.number:,}",
            "ruleset": f"{printable(opened.ruleset)}{_unknown(evidence)}",
            "digest": printable(opened.ruleset_digest),
            "limits": _limits_words(opened.limits),
            "amounts": f"minor units of {printable(opened.currency)}",
            "commitment": printable(opened.commitment),
        }
    if records:
        facts |= {"opened": _moment(records[0].at), "ended": _ended(evidence, records)}
    for event in evidence.events:
        if isinstance(event, e.RoundVoided):
            facts["VOID"] = printable(event.reason)
    title = Text.assemble(("REPLAY", "bold reverse"), "  ", (printable(evidence.stream), "bold"))
    return [title, _indented(_pairs(facts))]


def _unknown(evidence: Evidence) -> str:
    return "" if evidence.ruleset is not None else " (not known here: no deck and no derivation)"


def _ended(evidence: Evidence, records: Sequence[EventRecord]) -> str:
    if evidence.over:
        return _moment(records[-1].at)
    return "still open: what follows is what its events show so far"


def _limits_words(limits: Limits) -> str:
    top = "no maximum payout" if limits.payout_max is None else f"maximum payout {limits.payout_max:,}"
    return (
        f"ante {limits.ante_min:,} to {limits.ante_max:,} in steps of {limits.ante_step:,}, "
        f"bonus {limits.bonus_min:,} to {limits.bonus_max:,}, {top}"
    )


def _moment(at: str) -> str:
    return printable(at).replace("T", " ").removesuffix("Z") + " UTC"


# -- steps


def _steps(records: Sequence[EventRecord]) -> list[RenderableType]:
    table = Table.grid(padding=(0, 2, 0, 0))
    table.add_column(justify="right", no_wrap=True)
    table.add_column(no_wrap=True)
    table.add_column(overflow="fold")
    teller = _Teller()
    date = ""
    for record in records:
        if record.at[:10] != date:
            date = record.at[:10]
            table.add_row("", Text(printable(date), style="dim"), "")
        table.add_row(str(record.seq), Text(printable(record.at[11:23]), style="dim"), teller.tell(record.data))
    return [_heading("Steps"), _indented(table)]


def _sums(event: e.BoxSettled | e.RoundClosed) -> str:
    return f"staked {whole_units(event.staked)}, returned {whole_units(event.returned)}, net {whole_units(event.net)}"


class _Teller:
    """Puts each event into words; remembers the hands, to name the cards that are discarded by position."""

    def __init__(self) -> None:
        self.hands: dict[int, list[str]] = {}

    def tell(self, event: e.RoundEvent) -> Text:
        """One event in words.  An event without words is a bug and raises KeyError."""
        words = Text.assemble(*_TELLERS[type(event)](self, event))
        if getattr(event, "by", e.By.PLAYER) is e.By.HOUSE:
            words.append(" (by the house)")
        return words

    def opened(self, event: e.RoundOpened) -> Pieces:
        return ("Round opened; the house has committed to its seed",)

    def placed(self, event: e.BoxPlaced) -> Pieces:
        stakes = [f"ante {whole_units(event.ante)}"]
        stakes += [f"BET {whole_units(event.bet)}"] if event.bet else []
        stakes += [f"bonus {whole_units(event.bonus)}"] if event.bonus else []
        how = f"{printable(event.player)} plays it {printable(str(event.mode))}"
        return (f"Box {event.box}: {how}, {', '.join(stakes)}",)

    def dealt(self, event: e.CardsDealt) -> Pieces:
        jackpot = f"; jackpot {whole_units(event.jackpot)}" if event.jackpot else ""
        beacon = f"; beacon {printable(event.beacon)}" if event.beacon is not None else ""
        return ("Bets closed, cards dealt; the dealer's open card is ", cards([event.upcard]), jackpot, beacon)

    def contributed(self, event: e.JackpotContributed) -> Pieces:
        return (f"Box {event.box}: {whole_units(event.amount)} of the bonus go to the jackpot",)

    def shown(self, event: e.HandShown) -> Pieces:
        self.hands[event.box] = event.cards
        return (f"Box {event.box}: hand ", cards(event.cards))

    def bonus(self, event: e.BonusSettled) -> Pieces:
        result = f"won, {whole_units(event.returned)} back" if event.returned else "lost"
        return (f"Box {event.box}: bonus {whole_units(event.stake)} {result}: {_name(event.combination)}",)

    def jackpot(self, event: e.JackpotWon) -> Pieces:
        won = f"Box {event.box}: wins {whole_units(event.amount)} of the jackpot {whole_units(event.pot)}"
        return (f"{won}: {_name(event.combination)}",)

    def exchanged(self, event: e.ExchangeBought) -> Pieces:
        hand = self.hands.get(event.box, [])
        discarded = [hand[place] for place in event.discard if 0 <= place < len(hand)]
        return (f"Box {event.box}: exchanges ", cards(discarded), f" for {whole_units(event.fee)}")

    def sixth(self, event: e.SixthCardBought) -> Pieces:
        return (f"Box {event.box}: buys a sixth card for {whole_units(event.fee)}",)

    def declined(self, event: e.SixthCardDeclined) -> Pieces:
        return (f"Box {event.box}: stays with five cards",)

    def drawn(self, event: e.CardsDrawn) -> Pieces:
        return (f"Box {event.box}: gets ", cards(event.cards))

    def hidden(self, event: e.HiddenCardDrawn) -> Pieces:
        return (f"Box {event.box}: gets its sixth card face down",)

    def insured(self, event: e.InsuranceBought) -> Pieces:
        return (f"Box {event.box}: insures for {whole_units(event.stake)}",)

    def bet(self, event: e.BetMade) -> Pieces:
        return (f"Box {event.box}: BET {whole_units(event.bet)}",)

    def folded(self, event: e.BoxFolded) -> Pieces:
        return (f"Box {event.box}: folds",)

    def revealed(self, event: e.DealerRevealed) -> Pieces:
        return ("The dealer opens ", cards(event.cards), f": {_name(event.combination)}")

    def insurance(self, event: e.InsuranceSettled) -> Pieces:
        back = f", {whole_units(event.returned)} back" if event.returned else ""
        return (f"Box {event.box}: insurance {whole_units(event.stake)} {event.outcome}{back}",)

    def bought(self, event: e.DealerGameBought) -> Pieces:
        return (f"Box {event.box}: buys the dealer's game for {whole_units(event.fee)}",)

    def ante(self, event: e.AnteTaken) -> Pieces:
        return (f"Box {event.box}: takes the ante",)

    def replaced(self, event: e.DealerCardReplaced) -> Pieces:
        free = " once more, free" if event.free else ""
        change = ("The dealer's ", cards([event.old]), f" is replaced{free} by ", cards([event.new]))
        return (*change, f": {_name(event.combination)}")

    def settled(self, event: e.BoxSettled) -> Pieces:
        return (f"Box {event.box}: {_name(event.outcome)}; {_sums(event)}",)

    def closed(self, event: e.RoundClosed) -> Pieces:
        return (f"Round closed; all boxes {_sums(event)}",)

    def voided(self, event: e.RoundVoided) -> Pieces:
        refunds = "".join(f"; box {refund.box}: {whole_units(refund.amount)} back" for refund in event.refunds)
        pot = f"; jackpot less {whole_units(event.jackpot_reversed)}" if event.jackpot_reversed else ""
        return (f"Round VOIDED: {printable(event.reason)}{refunds}{pot}",)

    def seed(self, event: e.SeedRevealed) -> Pieces:
        return ("Server seed revealed",)


Pieces = tuple[str | Text, ...]

_TELLERS: Final[dict[type[e.RoundEvent], Callable[[_Teller, Any], Pieces]]] = {
    e.RoundOpened: _Teller.opened,
    e.BoxPlaced: _Teller.placed,
    e.CardsDealt: _Teller.dealt,
    e.JackpotContributed: _Teller.contributed,
    e.HandShown: _Teller.shown,
    e.BonusSettled: _Teller.bonus,
    e.JackpotWon: _Teller.jackpot,
    e.ExchangeBought: _Teller.exchanged,
    e.SixthCardBought: _Teller.sixth,
    e.SixthCardDeclined: _Teller.declined,
    e.CardsDrawn: _Teller.drawn,
    e.HiddenCardDrawn: _Teller.hidden,
    e.InsuranceBought: _Teller.insured,
    e.BetMade: _Teller.bet,
    e.BoxFolded: _Teller.folded,
    e.DealerRevealed: _Teller.revealed,
    e.InsuranceSettled: _Teller.insurance,
    e.DealerGameBought: _Teller.bought,
    e.AnteTaken: _Teller.ante,
    e.DealerCardReplaced: _Teller.replaced,
    e.BoxSettled: _Teller.settled,
    e.RoundClosed: _Teller.closed,
    e.RoundVoided: _Teller.voided,
    e.SeedRevealed: _Teller.seed,
}


# -- results


def _results(evidence: Evidence, state: RoundState) -> list[RenderableType]:
    return [*render_boxes(evidence.ruleset, state), *_seed_and_deck(evidence, state)]


def _box(ruleset: Ruleset | None, state: RoundState, box: BoxState) -> list[RenderableType]:
    mode = "dark" if box.dark else "open"
    title = _heading(f"Box {box.box}, {mode}, {printable(box.player)}")
    facts = {"client seed": Text(printable(box.client_seed))} if box.client_seed else {}
    facts["hand"] = cards(card_texts(box.cards)) if box.cards else Text("not shown")
    if box.cards:
        facts["combination"] = Text(_combinations(ruleset, box))
    return [title, _indented(_pairs(facts)), _indented(_amounts(ruleset, state, box))]


def _combinations(ruleset: Ruleset | None, box: BoxState) -> str:
    """What was settled; before that, and for a folded box, what the shown cards are."""
    settled = box.settled
    if settled is not None and settled.main is not None:
        return _name(settled.main) + ("" if settled.second is None else f", second {_name(settled.second)}")
    hand = box.final_hand()
    second = None if ruleset is None else ruleset.second(hand)
    words = _name(COMBINATION_NAMES[hand.main])
    words += "" if second is None else f", second {_name(COMBINATION_NAMES[second])}"
    return words + (" (folded)" if box.folded else "")


def _amounts(ruleset: Ruleset | None, state: RoundState, box: BoxState) -> Table:
    lines = _lines(ruleset, state, box)
    table = Table.grid(padding=(0, 2, 0, 0))
    table.add_column(no_wrap=True, style="dim")
    table.add_column()
    table.add_column(justify="right", no_wrap=True)
    for line in lines:
        table.add_row(line.clause, Text(printable(line.text)), whole_units(line.amount))
    for words, amount in _totals(state, box, lines):
        table.add_row("", Text(words, style="bold"), Text(whole_units(amount), style="bold"))
    return table


def _lines(ruleset: Ruleset | None, state: RoundState, box: BoxState) -> list[Line]:
    """The derivation; of a box that was not settled there is none."""
    if ruleset is None or box.settled is None:
        return []
    return derivation(ruleset, state, box)


def _totals(state: RoundState, box: BoxState, lines: list[Line]) -> list[tuple[str, int]]:
    settled = box.settled
    if settled is not None:
        totals = [("staked", settled.staked), ("returned", settled.returned), ("net", settled.net)]
        total = sum(line.amount for line in lines)
        # They differ only in a record that was tampered with.
        return totals + ([("the lines above add up to", total)] if lines and total != settled.net else [])
    so_far = [("staked so far", box.staked), ("returned so far", box.returned_before_showdown)]
    refunds = () if state.voided is None else state.voided.refunds
    return so_far + [("refunded, round void", refund.amount) for refund in refunds if refund.box == box.box]


def _dealer(state: RoundState, ruleset: Ruleset | None) -> list[RenderableType]:
    if not state.dealer:
        known = cards([state.upcard]) if state.upcard is not None else Text("no cards yet")
        return [_heading("Dealer"), _indented(_pairs({"open card": known}))]
    main = evaluate(state.dealer).main
    verdict = "" if ruleset is None else ", qualifies" if main >= ruleset.qualifier else ", does not qualify"
    facts = {"cards": cards(card_texts(state.dealer)), "combination": Text(_name(COMBINATION_NAMES[main]) + verdict)}
    for event in state.replaced:
        free = " (free)" if event.free else ""
        facts["replaced" + free] = Text.assemble(cards([event.old]), " by ", cards([event.new]))
    return [_heading("Dealer"), _indented(_pairs(facts))]


def _seed_and_deck(evidence: Evidence, state: RoundState) -> list[RenderableType]:
    if state.server_seed is None:
        return [_note("The seed is not revealed: the round has not ended.")]
    parts: list[RenderableType] = [
        _heading("Seed and deck"),
        _indented(_pairs({"server seed": printable(state.server_seed)})),
    ]
    if evidence.deck is None:
        return parts
    deck = card_texts(evidence.deck.cards(0, DECK_SIZE))
    rows = [cards(deck[start : start + 13], width=3) for start in range(0, DECK_SIZE, 13)]
    facts = {"deck": Text("\n").join(rows), "": f"{state.next_card} of them were dealt, from the front"}
    return [*parts, _indented(_pairs(facts))]


# -- pieces


def _card_sign(text: str) -> str:
    return pretty_card(text) if text in CARD_TEXTS else printable(text)


def _card_style(text: str) -> str:
    return "red" if text.endswith(("d", "h")) else ""


def _name(name: str) -> str:
    """A stored name as words: `three-of-a-kind` is three of a kind; ace-king keeps its hyphen."""
    return printable(name) if name == "ace-king" else printable(name).replace("-", " ")


def _pairs(facts: dict[str, Any]) -> Table:
    table = Table.grid(padding=(0, 2, 0, 0))
    table.add_column(no_wrap=True, style="dim")
    table.add_column(overflow="fold")
    for name, value in facts.items():
        table.add_row(name, value)
    return table


def _heading(text: str) -> Text:
    return Text("\n" + text, style="bold")


def _note(text: str) -> Text:
    return Text("\n" + text)


def _indented(part: RenderableType) -> Padding:
    return Padding(part, (0, 0, 0, 2), expand=False)
