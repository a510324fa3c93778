"""Every change of a single byte of a stored body is caught, wherever it stands and whatever it becomes.

Not here: changes with all hashes recomputed (`test_verify_rewrites`).
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache

import pytest

from domain.rulesets import released_rulesets
from replay.evidence import by_digest
from replay.verdict import Status
from replay.verify_round import climb, is_exactly_as_recomputed, verify_round
from tests.golden.files import GoldenRound, golden_rounds

RULESETS = by_digest(released_rulesets().values())
EACH_GAME = sorted(released_rulesets())
BIT_BY_BIT = ("multibox-russian-poker@1", "open-russian-poker@1")
"""Those with most kinds of events; the others follow in `-m long`."""


@cache
def shortest(ruleset: str) -> GoldenRound:
    """The shortest golden round of a game that was played to its close."""
    closed = [golden for golden in golden_rounds(ruleset) if b'"type":"round-closed.v1"' in golden.bodies[-2]]
    return min(closed, key=lambda golden: sum(map(len, golden.bodies)))


def with_a_byte_changed(golden: GoldenRound, masks: tuple[int, ...], step: int = 1) -> Iterator[list[bytes]]:
    """The round with every step-th byte of every body changed by each mask."""
    for seq, body in enumerate(golden.bodies):
        for place in range(seq % step, len(body), step):
            for mask in masks:
                changed = bytearray(body)
                changed[place] ^= mask
                yield [*golden.bodies[:seq], bytes(changed), *golden.bodies[seq + 1 :]]


@pytest.mark.parametrize("ruleset", EACH_GAME)
def test_no_byte_with_any_bit_changed_passes_the_quick_way(ruleset: str) -> None:
    """All bytes of all bodies of one round of each game, all eight bits."""
    golden = shortest(ruleset)
    assert is_exactly_as_recomputed(*golden, RULESETS)

    for bodies in with_a_byte_changed(golden, tuple(1 << bit for bit in range(8))):
        assert not is_exactly_as_recomputed(golden.stream, bodies, RULESETS)


@pytest.mark.parametrize("ruleset", EACH_GAME)
def test_a_changed_byte_is_a_discrepancy_on_the_ladder(ruleset: str) -> None:
    """Every eighth byte of one round of each game: a digit becomes another, a letter another letter, or neither."""
    golden = shortest(ruleset)

    for bodies in with_a_byte_changed(golden, (0x01, 0x20, 0x80), step=8):
        assert verify_round(golden.stream, bodies, RULESETS).status is Status.DISCREPANCY


@pytest.mark.parametrize(
    "ruleset",
    [pytest.param(each, marks=pytest.mark.slow if each in BIT_BY_BIT else pytest.mark.long) for each in EACH_GAME],
)
def test_every_changed_bit_is_a_discrepancy_on_the_ladder(ruleset: str) -> None:
    """All bytes of all bodies of one round of each game, all eight bits, each with its whole verdict."""
    golden = shortest(ruleset)

    for bodies in with_a_byte_changed(golden, tuple(1 << bit for bit in range(8))):
        assert climb(golden.stream, bodies, RULESETS).status is Status.DISCREPANCY


@pytest.mark.parametrize("ruleset", EACH_GAME)
def test_the_last_event_has_the_time_of_the_append_that_it_ends(ruleset: str) -> None:
    """The seed is revealed in the append that closes the round; no link covers the last body, but this does."""
    stream, bodies = shortest(ruleset)
    later = bodies[-1].replace(b'"at":"2026', b'"at":"2027', 1)
    assert later != bodies[-1]

    assert verify_round(stream, [*bodies[:-1], later], RULESETS).status is Status.DISCREPANCY


@pytest.mark.parametrize("ruleset", EACH_GAME)
def test_a_byte_taken_out_or_put_in_is_a_discrepancy(ruleset: str) -> None:
    """In every body at every seventh place: the byte lost, doubled, or a blank put before it."""
    golden = shortest(ruleset)

    for seq, body in enumerate(golden.bodies):
        for place in range(0, len(body), 7):
            head, byte, tail = body[:place], body[place : place + 1], body[place + 1 :]
            for changed in (head + tail, head + byte + byte + tail, head + b" " + byte + tail):
                bodies = [*golden.bodies[:seq], changed, *golden.bodies[seq + 1 :]]
                assert verify_round(golden.stream, bodies, RULESETS).status is Status.DISCREPANCY


@pytest.mark.parametrize("ruleset", EACH_GAME)
def test_a_line_feed_between_or_in_bodies_is_a_discrepancy(ruleset: str) -> None:
    """Bodies are lines to the quick way; where one ends must not be open to doubt."""
    stream, bodies = shortest(ruleset)
    joined = bodies[1] + b"\n" + bodies[2]

    for forged in (
        [bodies[0], joined, *bodies[3:]],
        [bodies[0], joined, b"", *bodies[3:]],
        [bodies[0], b"", joined, *bodies[3:]],
        [bodies[0] + b"\n", *bodies[1:]],
        [b"\n" + bodies[0], *bodies[1:]],
        [b"\n".join(bodies)],
        [*bodies, b""],
        [b"", *bodies],
    ):
        assert verify_round(stream, forged, RULESETS).status is Status.DISCREPANCY
