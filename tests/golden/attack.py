"""Random forgeries: every kind of change that a record can suffer, with all hashes recomputed or not.

Not here: what must be said of them (tests/replay/test_verify_*.py).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from copy import deepcopy
from functools import cache
from random import Random
from typing import Any, Final, NamedTuple

from domain.cards import CARD_TEXTS
from domain.deal.commitment import commitment
from domain.hands import COMBINATION_NAMES
from domain.rulesets import released_rulesets
from tests.golden.files import GoldenRound, Plain, canonical, chained, golden_rounds, opened_up

RULESETS: Final = tuple(released_rulesets())

PLACES: Final[dict[str, tuple[object, ...]]] = {
    "ante": (0, 1, 100, 150, 2000, -100, 10**12),
    "bet": (0, 200, 4000, -2),
    "bonus": (0, 1, 100, -1),
    "stake": (0, 100, 700, 10**15),
    "amount": (0, 1, 7, -7),
    "fee": (0, 50, 100, -100),
    "returned": (0, 100, 12345),
    "net": (0, -1, 900),
    "staked": (0, 500),
    "jackpot": (0, 7, 10**14, 10**14 + 1, -1),
    "pot": (0, 7),
    "jackpot_reversed": (0, 10, -10),
    "box": (0, 1, 2, 3, 4, 5, -1, 255, 256, 300),
    "number": (1, 2, 77, 0, -1, 2**53 - 1, 2**53, 10**30),
    "ante_min": (1, 100, 0, -5, 10**12, 2**63),
    "ante_max": (1, 10**11, 0, 10**11 + 1),
    "ante_step": (1, 2, 50, 0, -1),
    "bonus_min": (1, 100, 0),
    "bonus_max": (1, 10**11, 0),
    "payout_max": (None, 1, 90, 5000, 0, -1, 10**14, 10**14 + 1),
    "discard": ([0], [1, 0], [0, 1, 2, 3, 4], [], [9], [-1], [-10], [0, 0], [5], list(range(60)), [2**70]),
    "by": ("player", "house", "dealer"),
    "mode": ("open", "dark", "half-open"),
    "outcome": ("won", "lost", "returned", "tied", "folded", "no-game"),
    "combination": (*COMBINATION_NAMES[:4], "full house"),
    "main": (*COMBINATION_NAMES[:4], None),
    "second": (*COMBINATION_NAMES[:4], None),
    "free": (True, False),
    "client_seed": ("", "00", "c1" * 8, "zz", "C1", "c", " 00", "00" * 256),
    "server_seed": ("5e" * 32, "00", "zz" * 32, "5E" * 32, ""),
    "beacon": (None, "be" * 32, "be", "zz" * 32, ""),
    "commitment": ("00" * 32, "", "zz"),
    "ruleset": (*RULESETS, "whist@1"),
    "ruleset_digest": (*(ruleset.digest.hex() for ruleset in released_rulesets().values()), "00" * 32, ""),
    "player": (
        "player-1",
        "player-2",
        "",
        "игрок\u0301",
        "\x00\x1f\x7f\u2028\ud83d\ude00".encode("utf-16", "surrogatepass").decode("utf-16"),
    ),
    "table": ("golden-1", "", 'a\\b"c'),
    "currency": ("EUR", "", "€"),
    "sealed_seed": ("", "dp1"),
    "reason": ("other", "", "  "),
    "upcard": (*CARD_TEXTS[:3], "Xx", "", "10h", "aS"),
    "old": (*CARD_TEXTS[:3], "Xx", ""),
    "new": (*CARD_TEXTS[:3], "Xx", ""),
    "at": (
        "2026-01-31T23:59:59.999Z",
        "2026-01-01T00:00:00.000Z",
        "2026-13-01T00:00:00.000Z",
        "2026-00-00T00:00:00.000Z",
        "٢٠٢٦-01-31T23:59:59.999Z",
        "9999-12-31T23:59:59.999Z",
        "2026-01-31",
        "",
    ),
    "v": (1, 2, 0),
    "stream": ("round:" + "00" * 16, "table:1", ""),
}
"""Plausible and impossible values of every field but the lists of cards and refunds."""


class Attack(NamedTuple):
    """A forged record and what was done to make it."""

    stream: str
    bodies: list[bytes]
    steps: list[str]


def attack(random: Random) -> Attack:
    """A golden round after one to four changes, mostly with every hash recomputed."""
    original = random.choice(_sample(random.choice(RULESETS)))
    plain, steps, stream = opened_up(original.bodies), list[str](), original.stream
    for _ in range(random.choice((0, 1, 1, 1, 2, 3, 4))):
        change = random.choice(CHANGES)
        try:
            steps.append(f"{change.__name__}: {change(random, plain)}")
        except (AttributeError, IndexError, KeyError, TypeError, ValueError) as error:
            # An earlier change left nothing that this one could work on.
            steps.append(f"{change.__name__}: {error!r}")
        if not plain:
            break
    if plain and isinstance(plain[0]["stream"], str) and random.random() < 0.5:
        stream = plain[0]["stream"]
    careless = random.random() < 0.1
    return Attack(stream, list(map(canonical, plain)) if careless else chained(plain), steps)


@cache
def _sample(ruleset: str) -> tuple[GoldenRound, ...]:
    """The shorter half of a golden file: there is enough in it, and it's verified faster."""
    rounds = sorted(golden_rounds(ruleset), key=lambda golden: len(golden.bodies))
    return tuple(rounds[: len(rounds) // 2])


def fields(plain: Sequence[Plain]) -> Iterator[tuple[dict[str, Any], str]]:
    """Every field of every event, as an object and its key."""
    for body in plain:
        yield from ((body, key) for key in ("at", "v", "stream"))
        stack = [body["data"]]
        while stack:
            data = stack.pop()
            yield from ((data, key) for key in data)
            stack += [value for value in data.values() if isinstance(value, dict)]
            stack += [
                item for value in data.values() if isinstance(value, list) for item in value if isinstance(item, dict)
            ]


# -- changes: each says in words what it did


def set_a_field(random: Random, plain: list[Plain]) -> str:
    """Any field of any event to another value."""
    data, key = random.choice(list(fields(plain)))
    old = data[key]
    data[key] = _other(random, key, old)
    return f"{key} {old!r} -> {data[key]!r}"


def set_a_stake_everywhere(random: Random, plain: list[Plain]) -> str:
    """An amount consistently replaced wherever it stands."""
    amounts = [(d, k) for d, k in fields(plain) if type(d[k]) is int and k not in ("v", "box", "number")]
    data, key = random.choice(amounts)
    old, new = data[key], data[key] * 2 if random.random() < 0.5 else data[key] + 100
    for other, name in amounts:
        if other[name] == old:
            other[name] = new
    return f"{old} -> {new}"


def drop_an_event(random: Random, plain: list[Plain]) -> str:
    """One event less."""
    return f"{plain.pop(random.randrange(len(plain)))['type']}"


def drop_the_end(random: Random, plain: list[Plain]) -> str:
    """The last events gone."""
    count = random.randint(1, min(3, len(plain)))
    del plain[-count:]
    return str(count)


def repeat_an_event(random: Random, plain: list[Plain]) -> str:
    """One event twice, the second time anywhere."""
    body, place = deepcopy(random.choice(plain)), random.randrange(len(plain) + 1)
    body["at"] = plain[min(place, len(plain) - 1)]["at"]
    plain.insert(place, body)
    return f"{body['type']} at {place}"


def move_an_event(random: Random, plain: list[Plain]) -> str:
    """One event elsewhere; the times stay in order."""
    times = [body["at"] for body in plain]
    body = plain.pop(random.randrange(len(plain)))
    place = random.randrange(len(plain) + 1)
    plain.insert(place, body)
    for other, at in zip(plain, times, strict=True):
        other["at"] = at
    return f"{body['type']} to {place}"


def take_from_another_round(random: Random, plain: list[Plain]) -> str:
    """An event of another round put in or in place of one of its kind."""
    other = deepcopy(random.choice(opened_up(random.choice(_sample(random.choice(RULESETS))).bodies)))
    place = random.randrange(len(plain))
    other |= {"at": plain[place]["at"], "stream": plain[place]["stream"]}
    same = [seq for seq, body in enumerate(plain) if body["type"] == other["type"]]
    if same and random.random() < 0.7:
        plain[random.choice(same)] = other
    else:
        plain.insert(place, other)
    return str(other["type"])


def splice_two_rounds(random: Random, plain: list[Plain]) -> str:
    """The beginning of this round, the end of another."""
    other = deepcopy(opened_up(random.choice(_sample(random.choice(RULESETS))).bodies))
    mine, theirs = random.randrange(1, len(plain) + 1), random.randrange(len(other))
    at, stream = plain[mine - 1]["at"], plain[0]["stream"]
    plain[mine:] = [body | {"at": at, "stream": stream} for body in other[theirs:]]
    return f"{mine} of this and from {theirs} of another"


def another_seed(random: Random, plain: list[Plain]) -> str:
    """Another seed, mostly with the commitment that fits."""
    seed = random.randbytes(32)
    for body in plain:
        if body["type"] == "seed-revealed.v1":
            body["data"]["server_seed"] = seed.hex()
        if body["type"] == "round-opened.v1" and random.random() < 0.8:
            try:
                identity = bytes.fromhex(body["stream"].removeprefix("round:"))
                digest = bytes.fromhex(body["data"]["ruleset_digest"])
                body["data"]["commitment"] = commitment(identity, digest, seed).hex()
            except ValueError:
                continue
    return "and commitment"


def another_decision(random: Random, plain: list[Plain]) -> str:
    """A decision of another kind in its place."""
    seqs = [seq for seq, body in enumerate(plain) if "by" in body["data"]]
    if not seqs:
        return "none"
    body = plain[random.choice(seqs)]
    frame = {"box": body["data"].get("box", 1), "by": "player"}
    old = body["type"]
    body["type"], body["data"] = random.choice(
        (
            ("bet-made.v1", frame | {"bet": 200}),
            ("box-folded.v1", frame),
            ("exchange-bought.v1", frame | {"discard": [0], "fee": 100}),
            ("sixth-card-bought.v1", frame | {"fee": 100}),
            ("sixth-card-declined.v1", frame),
            ("insurance-bought.v1", frame | {"stake": 100}),
            ("dealer-game-bought.v1", frame | {"fee": 100}),
            ("ante-taken.v1", frame),
        )
    )
    return f"{old} -> {body['type']}"


def another_name_for_the_round(random: Random, plain: list[Plain]) -> str:
    """Every body under another stream."""
    stream = random.choice(("round:" + random.randbytes(16).hex(), "round:1", "table:x"))
    for body in plain:
        body["stream"] = stream
    return stream


def void_it(random: Random, plain: list[Plain]) -> str:
    """The end replaced by a void, with what was staked refunded as the rules say or not."""
    place = random.randint(min(1, len(plain) - 1), len(plain) - 1)
    boxes = [body["data"] for body in plain[:place] if body["type"] == "box-placed.v1"]
    refunds = [{"box": box["box"], "amount": box["ante"] + box["bet"] + box["bonus"]} for box in boxes]
    refunds.sort(key=lambda refund: str(refund["box"]))
    contributed = sum(b["data"].get("amount", 0) for b in plain[:place] if b["type"] == "jackpot-contributed.v1")
    void = {"jackpot_reversed": contributed, "reason": "x", "refunds": refunds}
    end = plain[-1]
    plain[place:] = [plain[place] | {"type": "round-voided.v1", "data": void}]
    if end["type"] == "seed-revealed.v1":
        plain.append(end)
    return f"at {place}"


CHANGES: Final[tuple[Callable[[Random, list[Plain]], str], ...]] = (
    set_a_field,
    set_a_field,
    set_a_field,
    set_a_field,
    set_a_stake_everywhere,
    drop_an_event,
    drop_the_end,
    repeat_an_event,
    move_an_event,
    take_from_another_round,
    splice_two_rounds,
    another_seed,
    another_decision,
    another_name_for_the_round,
    void_it,
)


def _other(random: Random, key: str, old: object) -> object:
    """Another value for a field, mostly of its own kind."""
    if random.random() < 0.03:
        return random.choice(("text", 5, None, True, [], {}, 1.5, [["5h"]]))
    if key == "cards" and isinstance(old, list):
        return _other_cards(random, old)
    if key in ("refunds", "limits", "cards"):
        return old
    return random.choice(PLACES[key])


def _other_cards(random: Random, old: list[Any]) -> list[Any]:
    cards = list(old)
    match random.randrange(5):
        case 0:
            random.shuffle(cards)
        case 1:
            cards.append(random.choice(CARD_TEXTS))
        case 2 if cards:
            cards.pop()
        case 3:
            return []
        case _ if cards:
            cards[random.randrange(len(cards))] = random.choice((*CARD_TEXTS, "Xx", "", "10h"))
    return cards
