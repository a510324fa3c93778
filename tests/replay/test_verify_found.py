"""Forgeries that once passed, went unchecked or raised: one test each, so that none comes back.

Not here: the attacks that found them (`test_verify_rewrites`, `test_verify_garbage`).
"""

from __future__ import annotations

import pytest

from domain.rulesets import released_rulesets
from replay.evidence import by_digest
from replay.verdict import Status
from replay.verify_round import verify_round
from tests.golden.files import Plain, chained, golden_rounds, opened_up

RULESETS = by_digest(released_rulesets().values())
GAME = "russian-poker@1"


def a_round() -> tuple[str, list[Plain]]:
    """A golden round with an exchange, played to its close."""
    for golden in golden_rounds(GAME):
        plain = opened_up(golden.bodies)
        names = [body["type"] for body in plain]
        if "exchange-bought.v1" in names and names[-2] == "round-closed.v1":
            return golden.stream, plain
    raise LookupError


def status(stream: str, plain: list[Plain]) -> Status:
    """The verdict with all hashes recomputed."""
    return verify_round(stream, chained(plain), RULESETS).status


OPENINGS = (
    ("number", 0),
    ("number", 10**30),
    ("table", ""),
    ("currency", ""),
    ("ante_min", -5),
    ("ante_max", 10**12),
    ("bonus_max", 10**12),
    ("payout_max", 10**15),
)


@pytest.mark.parametrize(("key", "value"), OPENINGS)
def test_a_round_that_the_house_would_not_open_is_a_discrepancy(key: str, value: object) -> None:
    """Limits, number and names of the opening that `open_round` refuses."""
    stream, plain = a_round()
    opened = plain[0]["data"]
    (opened if key in opened else opened["limits"])[key] = value

    assert status(stream, plain) is Status.DISCREPANCY


def test_a_step_of_0_is_no_crash() -> None:
    """`ante % limits.ante_step`, in the quick way and in the ladder."""
    stream, plain = a_round()
    plain[0]["data"]["limits"]["ante_step"] = 0

    assert status(stream, plain) is Status.DISCREPANCY


def test_a_discard_far_below_0_is_no_crash() -> None:
    """The rung `deck` walks the recorded events and lets only ValueError pass."""
    stream, plain = a_round()
    next(body for body in plain if body["type"] == "exchange-bought.v1")["data"]["discard"] = [-10]

    assert status(stream, plain) is Status.DISCREPANCY


def test_a_card_that_is_none_in_the_first_event_is_no_crash() -> None:
    """The reveal before the opening, with a text that is no card."""
    stream, plain = a_round()
    revealed = next(body for body in plain if body["type"] == "dealer-revealed.v1")
    forged = revealed | {"at": plain[0]["at"], "data": revealed["data"] | {"cards": ["Xx"]}}

    assert status(stream, [forged, *plain]) is Status.DISCREPANCY


def test_a_beacon_that_is_none_in_the_first_of_two_deals_is_no_crash() -> None:
    """Two deals: the first beacon is no hex, the second is."""
    stream, plain = a_round()
    dealt = next(seq for seq, body in enumerate(plain) if body["type"] == "cards-dealt.v1")
    first, second = ({**plain[dealt]["data"], "beacon": beacon} for beacon in ("zz", "00" * 32))
    forged = [*plain[:dealt], plain[dealt] | {"data": first}, plain[dealt] | {"data": second}, *plain[dealt + 1 :]]

    assert status(stream, forged) is Status.DISCREPANCY


@pytest.mark.parametrize("opening", (b'{"at":', b'{"at":"2026-01-31T23:59:59.999Z","data":'))
def test_a_deep_body_is_no_crash(opening: bytes) -> None:
    """Brackets in brackets, in a field whose type is known and in one that is skipped."""
    stream, plain = a_round()
    bodies = chained(plain)
    bodies[1] = opening + b"[" * 100_000

    assert verify_round(stream, bodies, RULESETS).status is Status.DISCREPANCY


def test_no_body_at_all_is_no_crash() -> None:
    """`verify_round(stream, [], rulesets)`."""
    assert verify_round(a_round()[0], [], RULESETS).status is Status.DISCREPANCY


@pytest.mark.parametrize("at", ("٩٩٩٩-01-31T23:59:59.999Z", "9999-00-31T23:59:59.999Z", "9999-01-00T23:59:59.999Z"))
def test_a_time_that_is_none_is_a_discrepancy(at: str) -> None:
    """The last event at such a time, which sorts after every other."""
    stream, plain = a_round()
    plain[-1]["at"] = at

    assert status(stream, plain) is Status.DISCREPANCY


def test_an_empty_time_is_a_discrepancy() -> None:
    """The first event without a time: the ladder refuses it, the quick way doesn't."""
    stream, plain = a_round()
    plain[0]["at"] = ""

    assert status(stream, plain) is Status.DISCREPANCY


MALFORMED = (
    ("box-placed.v1", "client_seed", "zz"),
    ("box-placed.v1", "client_seed", "AB"),
    ("box-placed.v1", "client_seed", "00" * 256),
    ("box-placed.v1", "box", 300),
    ("box-placed.v1", "box", 0),
    ("cards-dealt.v1", "beacon", "zz"),
)


@pytest.mark.parametrize(("name", "key", "value"), MALFORMED)
def test_a_choice_that_no_player_can_have_made_is_a_discrepancy(name: str, key: str, value: object) -> None:
    """The round is over and its seed is out, so a deck that can't be recomputed is the record's fault."""
    stream, plain = a_round()
    next(body for body in plain if body["type"] == name)["data"][key] = value

    assert status(stream, plain) is Status.DISCREPANCY


def test_a_box_placed_twice_is_a_discrepancy() -> None:
    """The same event again, all hashes recomputed."""
    stream, plain = a_round()

    assert status(stream, [*plain[:2], plain[1], *plain[2:]]) is Status.DISCREPANCY
