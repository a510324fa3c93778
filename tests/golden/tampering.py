"""Forgeries of golden rounds, one of each kind, with the rung and the event that must give each away.

A careless forger changes stored bytes (`BYTES`): the canonical spelling or the chain gives him away.  A careful one
recomputes every hash afterwards (`REWRITES`), so that only the rung that knows better can.  What no rung of a single
round can see stands in docs/formats/verdict.md.

Not here: writing the files (`make_tampered`), random forgeries (tests/replay).
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final, NamedTuple

from domain.cards import CARD_TEXTS
from domain.deal.commitment import commitment
from domain.rulesets import released_rulesets
from tests.golden.files import Plain, chained, golden_rounds, opened_up

Place = int | None
"""The seq of the event that must be named; None where an event is missing."""

Found = tuple[Place, str | None] | None
"""Seq and name of the event that must be named (no name where it can't be read); None where the round doesn't suit."""


class Forgery(NamedTuple):
    """One kind: what was done to which game's round, and how it must be found."""

    name: str
    ruleset: str
    what: str
    check: str
    field: str
    change: Callable[..., Found]


class Tampered(NamedTuple):
    """A forged record with what must be said of it."""

    based_on: str
    expected: dict[str, Any]
    stream: str
    bodies: list[bytes]


RP, ORP, FCP, MRP = (
    "russian-poker@1",
    "open-russian-poker@1",
    "five-card-poker@1",
    "multibox-russian-poker@1",
)


def tampered(forgery: Forgery) -> Tampered:
    """The first golden round that such a forgery can be made of, forged."""
    for original in golden_rounds(forgery.ruleset):
        bodies, plain = list(original.bodies), opened_up(original.bodies)
        stream = original.stream
        if forgery not in REWRITES:
            found = forgery.change(bodies)
        elif (found := forgery.change(plain)) is not None:
            bodies = chained(plain)
            stream = stream if forgery.name == "other-stream" else plain[0]["stream"]
        if found is not None:
            return Tampered(original.stream, _expected(forgery, *found), stream, bodies)
    raise LookupError(f"{forgery.name}: no golden round of {forgery.ruleset} can be forged so")


def _expected(forgery: Forgery, seq: Place, event: str | None) -> dict[str, Any]:
    if forgery in OPEN_ENDS:
        return {"verdict": "not-checkable", "check": forgery.check}
    return {"verdict": "discrepancy", "check": forgery.check, "seq": seq, "event": event, "field": forgery.field}


# -- finding a place


def places(plain: Sequence[Plain], name: str, **values: object) -> Iterator[int]:
    """Where events of this kind stand, with these values in their data."""
    for seq, body in enumerate(plain):
        data = body["data"]
        if body["type"] == f"{name}.v1" and all(data[key] == value for key, value in values.items()):
            yield seq


def first(plain: Sequence[Plain], name: str, **values: object) -> int | None:
    """The first such place."""
    return next(places(plain, name, **values), None)


def another_card(used: object) -> str:
    """A card that doesn't stand in this text of a record."""
    text = json.dumps(used)
    return next(card for card in CARD_TEXTS if f'"{card}"' not in text)


# -- careless: stored bytes


def _spelt(name: str, old: bytes, new: bytes) -> Callable[[list[bytes]], Found]:
    """One spelling for another in the first event of a kind that has it."""

    def change(bodies: list[bytes]) -> Found:
        for seq, body in enumerate(bodies):
            if f'"type":"{name}.v1"'.encode() in body and old in body:
                bodies[seq] = body.replace(old, new, 1)
                return seq, f"{name}.v1"
        return None

    return change


def _unreadable(name: str, old: bytes, new: bytes) -> Callable[[list[bytes]], Found]:
    """As `_spelt`, for bytes that are no event any more, so that its name isn't known."""

    def change(bodies: list[bytes]) -> Found:
        found = _spelt(name, old, new)(bodies)
        return None if found is None else (found[0], None)

    return change


def _byte_in_an_amount(bodies: list[bytes]) -> Found:
    found = _spelt("box-settled", b'"ante":20', b'"ante":30')(bodies)
    if found is None or found[0] is None:
        return None
    return found[0] + 1, json.loads(bodies[found[0] + 1])["type"]


def _keys_in_another_order(bodies: list[bytes]) -> Found:
    body = json.loads(bodies[1])
    bodies[1] = json.dumps(dict(reversed(body.items())), separators=(",", ":"), ensure_ascii=False).encode()
    return 1, body["type"]


def _order(bodies: list[bytes]) -> Found:
    seq = first(opened_up(bodies), "hand-shown")
    if seq is None:
        return None
    bodies[seq - 1], bodies[seq] = bodies[seq], bodies[seq - 1]
    return seq - 1, "hand-shown.v1"


def _missing(bodies: list[bytes]) -> Found:
    seq = first(opened_up(bodies), "bet-made")
    if seq is None:
        return None
    del bodies[seq]
    return seq, json.loads(bodies[seq])["type"]


def _doubled(bodies: list[bytes]) -> Found:
    seq = first(opened_up(bodies), "bet-made")
    if seq is None:
        return None
    bodies.insert(seq, bodies[seq])
    return seq + 1, "bet-made.v1"


def _beginning_missing(bodies: list[bytes]) -> Found:
    del bodies[0]
    return 0, "box-placed.v1"


def _event_of_another_round(bodies: list[bytes]) -> Found:
    name = json.loads(bodies[1])["type"]
    if name != "box-placed.v1" or golden_rounds(RP)[-1].bodies[0] == bodies[0]:
        return None
    bodies[1] = golden_rounds(RP)[-1].bodies[1]
    return 1, name


BYTES: Final = (
    Forgery(
        "byte-in-an-amount", RP, "one digit of a returned ante, no hash recomputed", "chain", "prev", _byte_in_an_amount
    ),
    Forgery(
        "byte-that-ends-a-text",
        RP,
        "a quotation mark lost",
        "bytes",
        "body",
        _unreadable("round-closed", b'"net"', b'"net '),
    ),
    Forgery("order", ORP, "two neighbours exchanged", "chain", "seq", _order),
    Forgery("missing", RP, "an event taken out of the middle", "chain", "seq", _missing),
    Forgery("missing-beginning", RP, "the first event taken away", "chain", "seq", _beginning_missing),
    Forgery("doubled", RP, "an event stored twice", "chain", "seq", _doubled),
    Forgery(
        "event-of-another-round",
        RP,
        "an event of another round in its place",
        "bytes",
        "stream",
        _event_of_another_round,
    ),
    Forgery(
        "whitespace", RP, "a blank after a comma", "bytes", "body", _spelt("round-closed", b',"data"', b', "data"')
    ),
    Forgery(
        "whitespace-at-the-end",
        RP,
        "a line end after the body",
        "bytes",
        "body",
        _spelt("round-closed", b'"v":1}', b'"v":1}\n'),
    ),
    Forgery(
        "doubled-key",
        RP,
        "a key twice with one value",
        "bytes",
        "body",
        _spelt("round-closed", b'"v":1', b'"v":1,"v":1'),
    ),
    Forgery(
        "number-as-1e2",
        RP,
        "100 spelt with an exponent",
        "bytes",
        "body",
        _unreadable("box-placed", b":100,", b":1e2,"),
    ),
    Forgery("number-as-fraction", RP, "0 spelt 0.0", "bytes", "body", _unreadable("box-settled", b":0,", b":0.0,")),
    Forgery("number-as-minus-0", RP, "0 spelt -0", "bytes", "body", _spelt("box-settled", b":0,", b":-0,")),
    Forgery(
        "letter-escaped",
        RP,
        "a letter spelt as an escape",
        "bytes",
        "body",
        _spelt("box-placed", b'"open"', b'"op\\u0065n"'),
    ),
    Forgery("keys-in-another-order", RP, "the keys the other way round", "bytes", "body", _keys_in_another_order),
    Forgery(
        "unknown-key",
        RP,
        "a key that no event has",
        "bytes",
        "body",
        _unreadable("round-closed", b'"net"', b'"bet":0,"net"'),
    ),
    Forgery(
        "unknown-event",
        RP,
        "a name that no event has",
        "bytes",
        "body",
        _unreadable("round-closed", b"round-closed.v1", b"round-closed.v9"),
    ),
    Forgery("unknown-format", RP, "another format number", "bytes", "v", _spelt("round-closed", b'"v":1', b'"v":2')),
    Forgery(
        "amount-as-text",
        RP,
        "a number in quotation marks",
        "bytes",
        "body",
        _unreadable("box-placed", b'"box":1', b'"box":"1"'),
    ),
)


# -- careful: every hash recomputed


def _set(name: str, key: str, new: object, **values: object) -> Callable[[list[Plain]], Found]:
    """Another value in the first event of a kind that has these values; a function makes it of the old one."""

    def change(plain: list[Plain]) -> Found:
        seq = first(plain, name, **values)
        if seq is None:
            return None
        data = plain[seq]["data"]
        data[key] = new(data[key]) if callable(new) else new
        return seq, f"{name}.v1"

    return change


def _set_found_at(change: Callable[[list[Plain]], object], *kinds: str) -> Callable[[list[Plain]], Found]:
    """A change that is found later, at the first event of these kinds."""

    def found_later(plain: list[Plain]) -> Found:
        seqs = [seq for kind in kinds for seq in places(plain, kind)]
        if not seqs or change(plain) is None:
            return None
        return min(seqs), plain[min(seqs)]["type"]

    return found_later


def _two_swapped(cards: list[str]) -> list[str]:
    return [cards[1], cards[0], *cards[2:]]


def _one_replaced(cards: list[str]) -> list[str]:
    return [another_card(cards), *cards[1:]]


def _last_replaced(cards: list[str]) -> list[str]:
    return [*cards[:-1], another_card(cards)]


def _paid_consistently(plain: list[Plain]) -> Found:
    """A loser is paid, and every total agrees."""
    seq, closed = first(plain, "box-settled", outcome="lost"), first(plain, "round-closed")
    if seq is None or closed is None:
        return None
    plain[seq]["data"]["bet"] += 400
    for place in (seq, closed):
        plain[place]["data"]["returned"] += 400
        plain[place]["data"]["net"] += 400
    return seq, "box-settled.v1"


def _drawing_changed(plain: list[Plain]) -> Found:
    """One card more is said to be exchanged; the price is the same for any number."""
    seq, drawn = first(plain, "exchange-bought"), first(plain, "cards-drawn")
    if seq is None or drawn is None or len(plain[seq]["data"]["discard"]) == 5:
        return None
    discard = plain[seq]["data"]["discard"]
    discard.append(next(position for position in range(5) if position not in discard))
    return drawn, "cards-drawn.v1"


def _bet_to_fold(plain: list[Plain]) -> Found:
    """A box that won is said to have folded."""
    bet, settled = first(plain, "bet-made"), first(plain, "box-settled", outcome="won")
    if bet is None or settled is None or first(plain, "insurance-bought") or first(plain, "dealer-game-bought"):
        return None
    data = plain[bet]["data"]
    plain[bet] |= {"type": "box-folded.v1", "data": {"box": data["box"], "by": data["by"]}}
    return settled, "box-settled.v1"


def _purchase_to_ante(plain: list[Plain]) -> Found:
    bought = first(plain, "dealer-game-bought")
    replaced = first(plain, "dealer-card-replaced")
    if bought is None or replaced is None or len(list(places(plain, "dealer-game-bought"))) > 1:
        return None
    data = plain[bought]["data"]
    plain[bought] |= {"type": "ante-taken.v1", "data": {"box": data["box"], "by": data["by"]}}
    return replaced, "dealer-card-replaced.v1"


def _added(name: str, offset: int, **values: object) -> Callable[[list[Plain]], Found]:
    """An event once more, so many places later."""

    def change(plain: list[Plain]) -> Found:
        seq = first(plain, name, **values)
        if seq is None:
            return None
        plain.insert(seq + offset, plain[seq] | {"at": plain[seq + offset - 1]["at"]})
        return seq + offset, f"{name}.v1"

    return change


def _taken_out(name: str, **values: object) -> Callable[[list[Plain]], Found]:
    """A missing event of the house's own: it has no seq to be named by."""

    def change(plain: list[Plain]) -> Found:
        seq = first(plain, name, **values)
        if seq is None:
            return None
        del plain[seq]
        return None, f"{name}.v1"

    return change


def _choice_taken_out(plain: list[Plain]) -> Found:
    """Without its BET the round can't go on, so what follows is not to be there."""
    seq = first(plain, "bet-made")
    if seq is None or plain[seq + 1]["type"] != "dealer-revealed.v1":
        return None
    del plain[seq]
    return seq, "dealer-revealed.v1"


def _moved_behind_the_reveal(plain: list[Plain]) -> Found:
    seq, revealed = first(plain, "bet-made"), first(plain, "dealer-revealed")
    if seq is None or revealed is None:
        return None
    plain.insert(revealed, plain.pop(seq) | {"at": plain[revealed]["at"]})
    return revealed, "bet-made.v1"


def _box_after_the_deal(plain: list[Plain]) -> Found:
    dealt = first(plain, "cards-dealt")
    if dealt is None or dealt < 3:
        return None
    plain.insert(dealt, plain.pop(dealt - 1) | {"at": plain[dealt]["at"]})
    return dealt, "box-placed.v1"


def _seed_before_the_close(plain: list[Plain]) -> Found:
    if plain[-2]["type"] != "round-closed.v1":
        return None
    plain[-2:] = plain[:-3:-1]
    return len(plain) - 2, "seed-revealed.v1"


def _back_dated(plain: list[Plain]) -> Found:
    if plain[3]["at"] <= plain[0]["at"]:
        return None
    for body in plain[4:]:
        body["at"] = plain[0]["at"]
    return 4, plain[4]["type"]


def _no_such_time(plain: list[Plain]) -> Found:
    plain[-1]["at"] = plain[-1]["at"][:11] + "24:00:00.000Z"
    return len(plain) - 1, plain[-1]["type"]


def _pinned(name: str | None, digest: str | None) -> Callable[[list[Plain]], Found]:
    """Another ruleset's name or digest in the opening event."""

    def change(plain: list[Plain]) -> Found:
        opened = plain[0]["data"]
        opened["ruleset"] = name or opened["ruleset"]
        opened["ruleset_digest"] = opened["ruleset_digest"] if digest is None else _digest(digest)
        return 0, "round-opened.v1"

    return change


def _digest(ruleset: str) -> str:
    return released_rulesets()[ruleset].digest.hex()


def _other_seed(plain: list[Plain]) -> Found:
    plain[-1]["data"]["server_seed"] = "5e" * 32
    return 0, "round-opened.v1"


def _other_seed_and_commitment(plain: list[Plain]) -> Found:
    dealt, opened = first(plain, "cards-dealt"), plain[0]["data"]
    if dealt is None:
        return None
    plain[-1]["data"]["server_seed"] = "5e" * 32
    identity = bytes.fromhex(plain[0]["stream"].removeprefix("round:"))
    digest = bytes.fromhex(opened["ruleset_digest"])
    opened["commitment"] = commitment(identity, digest, b"\x5e" * 32).hex()
    return dealt, "cards-dealt.v1"


def _seed_of_31_bytes(plain: list[Plain]) -> Found:
    plain[-1]["data"]["server_seed"] = plain[-1]["data"]["server_seed"][2:]
    return None, "seed-revealed.v1"


def _smallest_ante_raised(plain: list[Plain]) -> Found:
    limits = plain[0]["data"]["limits"]
    if plain[1]["type"] != "box-placed.v1" or plain[1]["data"]["ante"] == limits["ante_max"]:
        return None
    limits["ante_min"] = limits["ante_max"]
    return 1, "box-placed.v1"


def _maximum_lifted(plain: list[Plain]) -> Found:
    """The first box that won, won more than the table's maximum."""
    limits, settled = plain[0]["data"]["limits"], first(plain, "box-settled", outcome="won", main="straight")
    won = first(plain, "box-settled", outcome="won")
    if settled is None or settled != won or limits["payout_max"] is None:
        return None
    data = plain[settled]["data"]
    bets = {plain[seq]["data"]["box"]: plain[seq]["data"]["bet"] for seq in places(plain, "bet-made")}
    if data["box"] not in bets or data["bet"] - bets[data["box"]] != limits["payout_max"]:
        return None
    limits["payout_max"] = None
    return settled, "box-settled.v1"


def _stake_doubled(plain: list[Plain]) -> Found:
    """An ante said to be twice as high, with no price that follows from it changed."""
    placed, bet = first(plain, "box-placed"), first(plain, "bet-made")
    draw = first(plain, "exchange-bought") or first(plain, "sixth-card-bought")
    if placed is None or bet is None or draw or plain[placed]["data"]["ante"] > 2000 or plain[placed]["data"]["bonus"]:
        return None
    plain[placed]["data"]["ante"] *= 2
    return bet, "bet-made.v1"


def _stake_doubled_consistently(plain: list[Plain]) -> Found:
    """As before with the BET doubled too: only the settlement is as it was."""
    found = _stake_doubled(plain)
    settled = first(plain, "box-settled", outcome="won")
    if found is None or found[0] is None or settled is None or first(plain, "insurance-bought"):
        return None
    plain[found[0]]["data"]["bet"] *= 2
    return settled, "box-settled.v1"


def _refund_raised(plain: list[Plain]) -> Found:
    seq = first(plain, "round-voided")
    if seq is None or not plain[seq]["data"]["refunds"]:
        return None
    plain[seq]["data"]["refunds"][0]["amount"] += 100
    return seq, "round-voided.v1"


def _named_otherwise(plain: list[Plain]) -> Found:
    """The events of this round in the name of another one."""
    for body in plain:
        body["stream"] = "round:" + "00" * 16
    return 0, "round-opened.v1"


def _insured_too_high(plain: list[Plain]) -> Found:
    seq = first(plain, "insurance-bought")
    if seq is None:
        return None
    plain[seq]["data"]["stake"] = 10**9
    return seq, "insurance-bought.v1"


def _more(amount: int) -> Callable[[int], int]:
    return lambda old: old + amount


def _other_of(*values: str) -> Callable[[str], str]:
    return lambda old: next(value for value in values if value != old)


def _dark_sixth(plain: list[Plain]) -> Found:
    for seq in places(plain, "hand-shown"):
        if len(plain[seq]["data"]["cards"]) == 6:
            plain[seq]["data"]["cards"] = _last_replaced(plain[seq]["data"]["cards"])
            return seq, "hand-shown.v1"
    return None


def _lower_card_replaced(plain: list[Plain]) -> Found:
    seq, revealed = first(plain, "dealer-card-replaced"), first(plain, "dealer-revealed")
    if seq is None or revealed is None:
        return None
    data = plain[seq]["data"]
    data["old"] = next(card for card in plain[revealed]["data"]["cards"] if card[0] != data["old"][0])
    return seq, "dealer-card-replaced.v1"


def _never_shown(plain: list[Plain]) -> Found:
    seq = first(plain, "hand-shown")
    if seq is None or first(plain, "exchange-bought") is not None:
        return None
    del plain[seq]
    return None, "hand-shown.v1"


def _pot_changed(plain: list[Plain]) -> Found:
    dealt, won = first(plain, "cards-dealt"), first(plain, "jackpot-won")
    if dealt is None or won is None:
        return None
    plain[dealt]["data"]["jackpot"] += 1000
    return won, "jackpot-won.v1"


def _reversal_kept(plain: list[Plain]) -> Found:
    seq = first(plain, "round-voided")
    if seq is None or not plain[seq]["data"]["jackpot_reversed"]:
        return None
    plain[seq]["data"]["jackpot_reversed"] = 0
    return seq, "round-voided.v1"


def _last_gone(count: int) -> Callable[[list[bytes]], Found]:
    def change(bodies: list[bytes]) -> Found:
        if json.loads(bodies[-2])["type"] != "round-closed.v1":
            return None
        del bodies[-count:]
        return None, None

    return change


REWRITES: Final = (
    Forgery("re-chained-order", RP, "a decision moved behind the reveal", "order", "type", _moved_behind_the_reveal),
    Forgery("box-after-the-deal", MRP, "a box placed when the cards were dealt", "order", "type", _box_after_the_deal),
    Forgery(
        "seed-before-the-close",
        FCP,
        "the seed revealed while the round was still open",
        "order",
        "type",
        _seed_before_the_close,
    ),
    Forgery("seed-twice", RP, "the seed revealed twice", "order", "type", _added("seed-revealed", 1)),
    Forgery("opened-twice", RP, "the opening event twice", "order", "type", _added("round-opened", 1)),
    Forgery("back-dated", RP, "the later events dated before the fourth", "order", "at", _back_dated),
    Forgery("no-such-time", RP, "a time of day that no clock shows", "bytes", "body", _no_such_time),
    Forgery("other-stream", RP, "every body says another round", "bytes", "stream", _named_otherwise),
    Forgery(
        "copied-to-another-round", RP, "the whole round under another id", "commitment", "commitment", _named_otherwise
    ),
    Forgery("other-ruleset", RP, "name and digest of another game", "commitment", "commitment", _pinned(MRP, MRP)),
    Forgery(
        "other-ruleset-digest", RP, "the digest of another game", "commitment", "ruleset_digest", _pinned(None, MRP)
    ),
    Forgery("other-ruleset-name", RP, "the name of another game", "commitment", "ruleset_digest", _pinned(MRP, None)),
    Forgery("other-seed", RP, "another seed revealed", "commitment", "commitment", _other_seed),
    Forgery("seed-too-short", RP, "31 bytes revealed", "commitment", "server_seed", _seed_of_31_bytes),
    Forgery(
        "other-seed-and-commitment",
        RP,
        "another seed, and the commitment made to fit",
        "deck",
        "upcard",
        _other_seed_and_commitment,
    ),
    Forgery(
        "changed-client-seed",
        MRP,
        "another seed said to be a player's",
        "deck",
        "upcard",
        _set_found_at(_set("box-placed", "client_seed", "c1" * 8), "cards-dealt"),
    ),
    Forgery(
        "changed-beacon",
        ORP,
        "a beacon where the table used none",
        "deck",
        "upcard",
        _set_found_at(_set("cards-dealt", "beacon", "be" * 32, beacon=None), "cards-dealt"),
    ),
    Forgery(
        "swapped-cards",
        ORP,
        "two cards of a hand exchanged",
        "deck",
        "cards",
        _set("hand-shown", "cards", _two_swapped),
    ),
    Forgery(
        "other-card", FCP, "a card of a hand replaced", "deck", "cards", _set("hand-shown", "cards", _one_replaced)
    ),
    Forgery("other-drawn-card", RP, "another card drawn", "deck", "cards", _set("cards-drawn", "cards", _one_replaced)),
    Forgery("other-hidden-card", MRP, "another sixth card of a dark box", "deck", "cards", _dark_sixth),
    Forgery(
        "other-upcard",
        FCP,
        "another open card of the dealer",
        "deck",
        "upcard",
        _set("cards-dealt", "upcard", lambda old: another_card([old])),
    ),
    Forgery(
        "other-dealer-card",
        MRP,
        "a card of the dealer replaced",
        "deck",
        "cards",
        _set("dealer-revealed", "cards", _one_replaced),
    ),
    Forgery(
        "other-purchased-card",
        ORP,
        "another card for the dealer's highest",
        "deck",
        "new",
        _set("dealer-card-replaced", "new", lambda old: another_card([old])),
    ),
    Forgery(
        "other-second-purchased-card",
        ORP,
        "another card at the free repeat",
        "deck",
        "new",
        _set("dealer-card-replaced", "new", lambda old: another_card([old]), free=True),
    ),
    Forgery(
        "dealer-card-replaced-wrongly",
        RP,
        "not the dealer's highest card was replaced",
        "legality",
        "old",
        _lower_card_replaced,
    ),
    Forgery(
        "free-replacement-not-free",
        ORP,
        "the repeat said to be paid",
        "legality",
        "free",
        _set("dealer-card-replaced", "free", False, free=True),
    ),
    Forgery(
        "free-replacement-missing",
        ORP,
        "the repeat left out",
        "legality",
        "event",
        _taken_out("dealer-card-replaced", free=True),
    ),
    Forgery("changed-draw", RP, "one card more exchanged", "deck", "cards", _drawing_changed),
    Forgery("wrong-fee", RP, "a price too high", "legality", "fee", _set("exchange-bought", "fee", _more(100))),
    Forgery(
        "wrong-fee-of-the-dealers-game",
        RP,
        "a price too low",
        "legality",
        "fee",
        _set("dealer-game-bought", "fee", _more(-1)),
    ),
    Forgery("wrong-bet", FCP, "a BET too low", "legality", "bet", _set("bet-made", "bet", _more(-2))),
    Forgery(
        "wrong-dark-bet",
        MRP,
        "the BET of a dark box too low",
        "legality",
        "bet",
        _set("box-placed", "bet", _more(-2), mode="dark"),
    ),
    Forgery("changed-stake", RP, "an ante doubled", "legality", "bet", _stake_doubled),
    Forgery(
        "changed-stake-and-bet",
        RP,
        "ante and BET doubled, the settlement not",
        "payout",
        "ante",
        _stake_doubled_consistently,
    ),
    Forgery("changed-limits", RP, "limits that the ante is off", "legality", "choice", _smallest_ante_raised),
    Forgery("changed-maximum", FCP, "the table's maximum payout lifted", "payout", "bet", _maximum_lifted),
    Forgery("added-decision", RP, "a decision once more", "legality", "choice", _added("exchange-bought", 1)),
    Forgery("added-showing", FCP, "a hand shown once more", "legality", "event", _added("hand-shown", 1)),
    Forgery("added-payment", RP, "a bonus paid once more", "payout", "event", _added("bonus-settled", 1)),
    Forgery("missing-decision", RP, "a BET taken out", "legality", "event", _choice_taken_out),
    Forgery("missing-showing", FCP, "a hand that was never shown", "legality", "event", _never_shown),
    Forgery("missing-payment", RP, "a bonus not settled", "payout", "event", _taken_out("bonus-settled")),
    Forgery("missing-jackpot", ORP, "a jackpot not paid", "payout", "event", _taken_out("jackpot-won")),
    Forgery("changed-choice", RP, "a box that won said to have folded", "payout", "ante", _bet_to_fold),
    Forgery("changed-purchase", RP, "a buyer said to have taken the ante", "legality", "event", _purchase_to_ante),
    Forgery("insured-too-high", RP, "an insurance above the largest", "legality", "choice", _insured_too_high),
    Forgery(
        "wrong-payout",
        RP,
        "a winner's ante doubled",
        "payout",
        "ante",
        _set("box-settled", "ante", lambda old: 2 * old, outcome="won"),
    ),
    Forgery(
        "wrong-payout-and-totals", MRP, "a loser paid, all totals made to fit", "payout", "bet", _paid_consistently
    ),
    Forgery("wrong-total", RP, "a box's total only", "payout", "returned", _set("box-settled", "returned", _more(1))),
    Forgery(
        "wrong-round-total", RP, "the round's total only", "payout", "staked", _set("round-closed", "staked", _more(1))
    ),
    Forgery(
        "wrong-outcome",
        RP,
        "a tie said to be lost",
        "payout",
        "outcome",
        _set("box-settled", "outcome", "lost", outcome="tied"),
    ),
    Forgery(
        "wrong-combination",
        RP,
        "another name for a hand",
        "payout",
        "main",
        _set("box-settled", "main", _other_of("pair", "two-pair"), outcome="lost"),
    ),
    Forgery(
        "wrong-second",
        RP,
        "a second combination left out",
        "payout",
        "second",
        _set("box-settled", "second", None, second="ace-king"),
    ),
    Forgery(
        "wrong-dealer-combination",
        FCP,
        "a dealer without a game said to have one",
        "payout",
        "combination",
        _set("dealer-revealed", "combination", "pair", combination="no-game"),
    ),
    Forgery(
        "wrong-bonus",
        RP,
        "a lost bonus returned",
        "payout",
        "returned",
        _set("bonus-settled", "returned", 100, returned=0),
    ),
    Forgery(
        "wrong-insurance",
        MRP,
        "a lost insurance said to have won",
        "payout",
        "outcome",
        _set("insurance-settled", "outcome", "won", outcome="lost"),
    ),
    Forgery(
        "wrong-insurance-return",
        MRP,
        "an insurance paid too much",
        "payout",
        "returned",
        _set("insurance-settled", "returned", _more(1), outcome="returned"),
    ),
    Forgery(
        "wrong-jackpot-share", ORP, "a share too high", "payout", "amount", _set("jackpot-won", "amount", _more(1))
    ),
    Forgery("wrong-pot", ORP, "another pot at the deal", "payout", "amount", _pot_changed),
    Forgery(
        "wrong-contribution",
        ORP,
        "too little for the pot",
        "payout",
        "amount",
        _set("jackpot-contributed", "amount", _more(-1)),
    ),
    Forgery("wrong-refund", MRP, "too much given back in a void", "payout", "refunds", _refund_raised),
    Forgery("seed-missing", RP, "the seed never revealed", "order", "event", _taken_out("seed-revealed")),
    Forgery("wrong-reversal", ORP, "contributions of a void round kept", "payout", "jackpot_reversed", _reversal_kept),
)

OPEN_ENDS: Final = (
    Forgery("truncated-end", RP, "the last three events taken away", "order", "", _last_gone(3)),
)
"""Not to be told from a round that is still open: no rung fails, and the verdict is `not-checkable`."""

FORGERIES: Final = (*BYTES, *REWRITES, *OPEN_ENDS)
