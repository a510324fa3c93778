"""The golden files: JSON Lines, a round a line: `{"stream": …, "bodies": [text, …]}`; a body is the UTF-8 of its text.

Also the tools of whoever forges a record: bodies to plain values and back, canonical and chained anew, written without
the product's own encoder.

Not here: how the rounds came about (`make_golden`), the forgeries (`tampering`).
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Any, Final, NamedTuple

GOLDEN: Final = Path(__file__).parents[1] / "vectors" / "golden"
TAMPERED: Final = GOLDEN / "tampered"
CHAIN_START: Final = "0" * 64


class GoldenRound(NamedTuple):
    """One recorded round: its stream and its stored bodies in order."""

    stream: str
    bodies: list[bytes]


@cache
def golden_rounds(ruleset: str) -> tuple[GoldenRound, ...]:
    """The golden rounds of a ruleset version."""
    lines = (GOLDEN / f"{ruleset}.jsonl").read_text(encoding="utf-8").splitlines()
    return tuple(from_json(json.loads(line)) for line in lines)


def from_json(value: dict[str, Any]) -> GoldenRound:
    """A round of its JSON object."""
    return GoldenRound(value["stream"], [body.encode() for body in value["bodies"]])


def to_json(stream: str, bodies: Sequence[bytes]) -> dict[str, Any]:
    """The JSON object of a round."""
    return {"stream": stream, "bodies": [body.decode() for body in bodies]}


Plain = dict[str, Any]


def opened_up(bodies: Iterable[bytes]) -> list[Plain]:
    """Stored bodies as plain values that can be changed."""
    return [json.loads(body) for body in bodies]


def canonical(body: Plain) -> bytes:
    """The canonical bytes of plain values in our profile."""
    return json.dumps(body, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()


def chained(plain: Iterable[Plain]) -> list[bytes]:
    """Bodies with `seq` and `prev` made anew, as a forger with all hashes recomputed would leave them."""
    prev, bodies = CHAIN_START, list[bytes]()
    for seq, body in enumerate(plain):
        bodies.append(canonical({**body, "seq": seq, "prev": prev}))
        prev = leaf(bodies[-1])
    return bodies


def leaf(body: bytes) -> str:
    """The chain link of a stored body."""
    return sha256(b"\0" + body).hexdigest()
