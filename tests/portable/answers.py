"""What domain and replay say to some bytes, as a text: asked in this process (msgspec) and in another (the stand-in).

Run as a program it answers lines of standard input; it must then import nothing but the archive and the standard
library.  What both call an error may be worded differently, so an error of the decoder is one word here.

Not here: the questions (`test_msgspec_stand_in`), the process (`other`).
"""

from __future__ import annotations

import json
import re
import sys
from base64 import b64decode
from collections.abc import Callable
from typing import Any, Final

import msgspec

from domain import access, account, activation, day, doctor, jackpot, table, verification, wager
from domain.codec import Codec
from domain.log import events as log_events
from domain.log.receipt import Receipt
from domain.log.trust import Trust
from domain.record import canonical_json, read_envelope
from domain.round.events import ROUND_EVENTS
from domain.ruleset import Document, load_ruleset
from domain.rulesets import released_rulesets
from ops.log.ed25519 import check_signature
from replay import evidence_file
from replay.evidence import by_digest
from replay.evidence_file import read_evidence, verify_evidence
from replay.scenario import Scenario, run_scenario
from replay.verify_round import climb, is_exactly_as_recomputed, verify_round

CODECS: Final[dict[str, Codec[Any]]] = {
    "round": Codec(ROUND_EVENTS),
    "account": account.CODEC,
    "jackpot": jackpot.CODEC,
    "table": table.CODEC,
    "ruleset": activation.CODEC,
    "key": access.KEY_CODEC,
    "access": access.ACCESS_CODEC,
    "day": day.CODEC,
    "log": log_events.CODEC,
    "receipt": wager.CODEC,
    "doctor": doctor.CODEC,
    "verification": verification.CODEC,
}
"""Every kind of stream."""

TYPES: Final[dict[str, Any]] = {
    "anything": object,
    "evidence": evidence_file.EvidenceFile,
    "frame": evidence_file._Frame,
    "receipt body": Receipt,
    "ruleset document": Document,
    "scenario": Scenario,
}
RULESETS: Final = by_digest(released_rulesets().values())


def answer(question: str, data: bytes) -> str:
    """Value or error; the same from every implementation that is right."""
    try:
        return _plain(ASKED[question](data))
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return "no such JSON"
    except ValueError as error:
        return f"{type(error).__name__}: {unworded(str(error))}"


def _verdict(data: bytes) -> Any:
    """Of a round, by the quick way and by the ladder."""
    value = json.loads(data)
    if not isinstance(value, dict) or not value:
        raise ValueError("no round")
    stream, bodies = value["stream"], [body.encode() for body in value["bodies"]]
    quick = is_exactly_as_recomputed(stream, bodies, RULESETS)
    verdicts = [verify_round(stream, bodies, RULESETS), climb(stream, bodies, RULESETS)]
    return quick, [json.dumps(unworded(verdict.as_json())) for verdict in verdicts]


def _evidence(data: bytes) -> str:
    """The verdict on an evidence file; before it, on a line, the trust."""
    trust, _, file = data.partition(b"\n")
    verdict = verify_evidence(read_evidence(file), Trust.from_json(trust), check_signature)
    return json.dumps(unworded(verdict.as_json()))


def _canonical(data: bytes) -> bytes:
    return canonical_json(msgspec.json.decode(data))


def _again(codec: Codec[Any], data: bytes) -> Any:
    """A record, and the bytes that are made of it."""
    record = codec.decode(data)
    fields = {name: getattr(record, name) for name in ("at", "prev", "seq", "stream")}
    return record, codec.encode(record.data, **fields), msgspec.to_builtins(record)


def _asking(function: Callable[..., Any], *first: Any) -> Callable[[bytes], Any]:
    return lambda data: function(*first, data)


ASKED: Final[dict[str, Callable[[bytes], Any]]] = {
    **{f"{name} event": _asking(_again, codec) for name, codec in CODECS.items()},
    **{name: msgspec.json.Decoder(kind).decode for name, kind in TYPES.items()},
    "lines": CODECS["round"].decode_stream,
    "ruleset document read": lambda data: load_ruleset(data).digest,
    "scenario read": lambda data: run_scenario(data, released_rulesets()),
    "envelope": read_envelope,
    "canonical": _canonical,
    "trust": lambda data: Trust.from_json(data).to_json(),
    "verdict": _verdict,
    "verified evidence": _evidence,
}


def _plain(value: Any) -> str:
    """A text of a value, in which a raw part shows its bytes."""
    if isinstance(value, msgspec.Raw):
        return f"raw {bytes(value)!r}"
    if isinstance(value, msgspec.Struct):
        fields = ", ".join(f"{name}={_plain(getattr(value, name))}" for name in value.__struct_fields__)
        return f"{type(value).__name__}({fields})"
    if isinstance(value, list | tuple):
        return f"{type(value).__name__}({', '.join(_plain(item) for item in value)})"
    return repr(value)


def unworded(value: Any) -> Any:
    """Without the words of the decoder."""
    if isinstance(value, dict):
        return {key: unworded(item) for key, item in value.items()}
    if isinstance(value, list):
        return [unworded(item) for item in value]
    return QUOTING.sub(r"\1 …", value) if isinstance(value, str) else value


QUOTING: Final = re.compile(r"^(not an event body:|'.*' event:|evidence:|receipt:|ruleset document:|\$).*", re.S)
"""Texts of ours with words of the decoder behind them."""


if __name__ == "__main__":
    for line in sys.stdin:
        asked, data = json.loads(line)
        print(json.dumps(answer(asked, b64decode(data))), flush=True)
