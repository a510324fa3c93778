"""What `rounds`, `performance`, `combinations` and `commitments` must hold.  Source: docs/rules, the tables' texts.

Whose box it is and what was dealt tell the round's own facts.  What a box staked and what came back of it tell the
players' accounts: the postings that name the round, so every round here was played by players with accounts.

Not here: the accounts (`projected_money`).
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import NamedTuple

from domain import account as a
from domain.access import RoundIntervened
from domain.round import events as e
from tests.reference.projected_journal import (
    Journal,
    Row,
    Seen,
    for_tests,
    of_kind,
    of_stream,
    quarter,
    streams_of,
    summed,
)
from tests.reference.projected_money import balance_at

WAGERS = ("ante", "bet", "bonus", "insurance", "exchange", "sixth-card", "dealer-game")
FEES = ("exchange", "sixth-card", "dealer-game")


class Box(NamedTuple):
    """Whose box it is, how it is played, whether its player is there for a test."""

    number: int
    player: str
    mode: str
    test: bool


class Money(NamedTuple):
    """One posting of a round."""

    box: int
    wager: str
    amount: int


class Whole(NamedTuple):
    """A round: its facts up to its end (or all there are), and what the accounts say of it."""

    id: str
    facts: list[Seen]
    boxes: list[Box]
    staked: list[Money]
    returned: list[Money]

    @property
    def opened(self) -> e.RoundOpened:
        """Its first fact."""
        opened = self.facts[0].event
        assert isinstance(opened, e.RoundOpened)
        return opened

    @property
    def ended(self) -> bool:
        """Whether it was closed or voided."""
        return isinstance(self.facts[-1].event, e.RoundClosed | e.RoundVoided)

    @property
    def closed(self) -> bool:
        """Whether its result counts."""
        return isinstance(self.facts[-1].event, e.RoundClosed)


def whole_rounds(journal: Journal) -> list[Whole]:
    """Every round there is."""
    tests = for_tests(journal)
    rounds = []
    for stream in streams_of(journal, "round"):
        facts = of_stream(journal, stream)
        round_id = facts[0].name
        before_reveal = [seen for seen in facts if not isinstance(seen.event, e.SeedRevealed)]
        currency = facts[0].event.currency
        boxes = [
            Box(placed.event.box, placed.event.player, str(placed.event.mode), (currency, placed.event.player) in tests)
            for placed in of_kind(facts, e.BoxPlaced)
        ]
        staked = list(_postings(of_kind(journal, a.FundsStaked), round_id))
        returned = list(_postings(of_kind(journal, a.FundsReturned, a.FundsWon), round_id))
        rounds.append(Whole(round_id, before_reveal, sorted(boxes), staked, returned))
    return rounds


def _postings(entries: list[Seen], round_id: str) -> Iterator[Money]:
    for seen in entries:
        if seen.event.round == round_id:
            yield from (Money(posting.box, str(posting.wager), posting.amount) for posting in seen.event.postings)


def amount(money: list[Money], box: int | None = None, *wagers: str) -> int:
    """The sum over a box (None: all) and some wagers (none named: all)."""
    return sum(one.amount for one in money if box in (None, one.box) and (not wagers or one.wager in wagers))


def contributed(whole: Whole, box: int | None = None) -> int:
    """What went to a jackpot."""
    return sum(s.event.amount for s in of_kind(whole.facts, e.JackpotContributed) if box in (None, s.event.box))


# -- rounds


def round_(journal: Journal) -> list[Row]:
    """One row a round that has ended."""
    return [_round_row(journal, whole) for whole in whole_rounds(journal) if whole.ended]


def _round_row(journal: Journal, whole: Whole) -> Row:
    opened, first, last = whole.opened, whole.facts[0], whole.facts[-1]
    staked = amount(whole.staked)
    # Rule 10.2: a void gives all back, whatever had been paid.
    returned = amount(whole.returned) if whole.closed else staked
    touched = {seen.event.round for seen in of_kind(journal, RoundIntervened)}
    return (
        whole.id, opened.table, opened.number, opened.currency, opened.ruleset, opened.ruleset_digest,
        opened.commitment, first.position, first.at, _first_at(whole, e.BoxPlaced), _first_at(whole, e.CardsDealt),
        _first_at(whole, e.DealerRevealed), last.at, last.position, "closed" if whole.closed else "voided",
        last.event.reason if isinstance(last.event, e.RoundVoided) else None, len(whole.boxes),
        len({box.player for box in whole.boxes}), bool(whole.boxes) and all(box.test for box in whole.boxes),
        len(whole.facts), *(amount(whole.staked, None, wager) for wager in WAGERS), staked, returned,
        returned - staked, contributed(whole) if whole.closed else 0,
        amount(whole.returned, None, "jackpot") if whole.closed else 0,
        sum(getattr(seen.event, "by", None) == "house" for seen in whole.facts), whole.id in touched,
        parts(whole) if whole.closed else "[]",
    )  # fmt: skip


def _first_at(whole: Whole, kind: type[e.RoundEvent]) -> object:
    return min((seen.at for seen in of_kind(whole.facts, kind)), default=None)


def parts(whole: Whole) -> str:
    """The parts of a closed round as text."""
    boxes = [
        [box.number, box.player, box.mode, box.test, amount(whole.staked, box.number),
         amount(whole.staked, box.number, *FEES), amount(whole.returned, box.number), contributed(whole, box.number),
         amount(whole.returned, box.number, "jackpot")]
        for box in whole.boxes
    ]  # fmt: skip
    wagers = [[test, mode, wager, *sums] for (test, mode, wager), sums in _wagers(whole)]
    seen = dealt(whole)
    combinations = [[*each, seen.count(each)] for each in sorted(set(seen))]
    text = json.dumps({"boxes": boxes, "wagers": wagers, "combinations": combinations})
    return text.replace(" ", "")  # no name has a space


def _wagers(whole: Whole) -> Iterator[tuple[tuple[bool, str, str], tuple[int, int, int]]]:
    """Bets, staked and returned by test, mode and wager, in this order."""
    for test in (False, True):
        for mode in ("dark", "open"):
            own = [box.number for box in whole.boxes if (box.test, box.mode) == (test, mode)]
            for wager in sorted((*WAGERS, "jackpot")):
                placed = [money for money in whole.staked if money.box in own and money.wager == wager]
                won = [seen for seen in of_kind(whole.facts, e.JackpotWon) if seen.event.box in own]
                bets = len(won) if wager == "jackpot" else len(placed)
                back = sum(amount(whole.returned, number, wager) for number in own)
                if bets:
                    yield (test, mode, wager), (bets, amount(placed), back)


def open_round(journal: Journal) -> list[Row]:
    """One row a round that has not ended."""
    return [
        (
            whole.id, whole.opened.table, whole.opened.number, whole.opened.currency, whole.opened.ruleset,
            whole.opened.commitment, whole.facts[0].position, whole.facts[0].at, len(whole.boxes),
            amount(whole.staked), whole.facts[-1].at,
        )
        for whole in whole_rounds(journal)
        if not whole.ended
    ]  # fmt: skip


def round_player(journal: Journal) -> list[Row]:
    """One row a player and round that ended for him."""
    rounds, tests = {whole.id: whole for whole in whole_rounds(journal)}, for_tests(journal)
    rows: list[Row] = []
    for seen in of_kind(journal, a.RoundFinished):
        whole = rounds[seen.event.round]
        own = [box.number for box in whole.boxes if box.player == seen.account[1]]
        staked = sum(amount(whole.staked, number) for number in own)
        returned = sum(amount(whole.returned, number) for number in own) if whole.closed else staked
        first = min(
            entry.position for entry in of_kind(journal, a.FundsStaked)
            if entry.stream == seen.stream and entry.event.round == whole.id
        )  # fmt: skip
        rows.append((
            seen.position, seen.at, *seen.account, whole.id, whole.opened.table, whole.opened.number,
            "closed" if whole.closed else "voided", balance_at(journal, seen.account, first - 1),
            balance_at(journal, seen.account, seen.position), staked, returned, returned - staked,
            seen.account in tests,
        ))  # fmt: skip
    return rows


# -- sums over closed rounds


def _place(whole: Whole, block: int) -> Row:
    last = whole.facts[-1]
    return last.position // block, quarter(last.at), whole.opened.currency, whole.opened.table, whole.opened.ruleset


def revenue(journal: Journal, block: int) -> list[Row]:
    """Sums by game and table, tests apart."""

    def said() -> Iterator[tuple[Row, tuple[int, ...]]]:
        for whole in whole_rounds(journal):
            for test in (False, True) if whole.closed else ():
                own = [box.number for box in whole.boxes if box.test is test]
                staked = sum(amount(whole.staked, number) for number in own)
                back = sum(amount(whole.returned, number) for number in own)
                if own:
                    yield (*_place(whole, block), test), (
                        1, len(own), staked, sum(amount(whole.staked, number, *FEES) for number in own), back,
                        sum(contributed(whole, number) for number in own),
                        sum(amount(whole.returned, number, "jackpot") for number in own),
                        staked**2, staked * back, back**2,
                    )  # fmt: skip

    return summed(said())


def wager_performance(journal: Journal, block: int) -> list[Row]:
    """Sums by mode and wager, tests apart."""
    return summed(
        ((*_place(whole, block), *key), (1, bets, staked, back, staked**2, staked * back, back**2))
        for whole in whole_rounds(journal)
        if whole.closed
        for key, (bets, staked, back) in _wagers(whole)
    )


def dealt(whole: Whole) -> list[tuple[str, str]]:
    """Whose hand showed which combination: the dealer's first five, a box at the end, a box for its bonus."""
    return (
        [("dealer", seen.event.combination) for seen in of_kind(whole.facts, e.DealerRevealed)]
        + [("box", seen.event.main) for seen in of_kind(whole.facts, e.BoxSettled) if seen.event.main is not None]
        + [("bonus", seen.event.combination) for seen in of_kind(whole.facts, e.BonusSettled)]
    )


def combination(journal: Journal, block: int) -> list[Row]:
    """How often each was dealt; of no currency."""

    def said() -> Iterator[tuple[Row, tuple[int]]]:
        for whole in whole_rounds(journal):
            number, begun, _, table, ruleset = _place(whole, block)
            for hand, name in dealt(whole) if whole.closed else ():
                yield (number, begun, table, ruleset, hand, name), (1,)

    return summed(said())


# -- commitments


def commitment(journal: Journal) -> list[Row]:
    """One row a round; a void that is revealed is a void still."""
    rows: list[Row] = []
    for whole in whole_rounds(journal):
        revealed = of_kind(of_stream(journal, f"round:{whole.id}"), e.SeedRevealed)
        state = "open" if not revealed else "revealed"
        if whole.ended and not whole.closed:
            state = "voided"
        rows.append((
            whole.id, whole.opened.table, whole.opened.number, whole.opened.commitment, whole.facts[0].position,
            whole.facts[0].at, len(whole.boxes), state, whole.facts[-1].position if whole.ended else None,
            revealed[0].position if revealed else None, revealed[0].at if revealed else None,
        ))  # fmt: skip
    return rows
