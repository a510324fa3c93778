"""Write tests/vectors/evidence: sample evidence files and receipts, tampered copies, and what is to be said of each.

    python -m tests.handover.make_samples

The same files come out each time, and a test holds those that are there against what this makes.  The verdicts are the
product's own: a change in one of them is to be looked at, not only made anew.

Not here: the house they come from (`sample_house`), what is wrong with the tampered ones (`tampering`).
"""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any, Final, NamedTuple

from ops.log.ed25519 import check_signature
from replay.evidence_file import EvidenceError, Level, read_evidence, verify_evidence
from replay.verdict import Verdict
from tests.handover.sample_house import (
    FREQUENT,
    GAME,
    ORIGIN,
    TRUST,
    TRUST_WITHOUT_WITNESS,
    SampleLog,
    Signer,
    evening,
    evidence_file,
    receipts,
)
from tests.handover.tampering import FORGERIES, cosignature_missing, players, tampered_receipts

SAMPLES: Final = Path(__file__).parents[1] / "vectors" / "evidence"
TRUSTS: Final = {"trust.json": TRUST, "trust-without-witness.json": TRUST_WITHOUT_WITNESS}


class Sample(NamedTuple):
    """A file, whose trust it is held against, and what is to be known of it."""

    name: str
    what: str
    data: bytes
    trust: str = "trust.json"


@cache
def samples() -> tuple[Sample, ...]:
    """All evidence files, the true ones first."""
    house, kinds = evening()
    log = SampleLog(house.records)

    def true(name: str, what: str, level: Level, player: str | None = None) -> Sample:
        kind = name.partition(".")[0]
        ruleset = FREQUENT if kind == "jackpot" else GAME
        file = evidence_file(log, getattr(kinds, kind), ruleset, level, player)
        return Sample(name, what, file.to_bytes())

    honest = (
        true("settled.player", "a round of two players, in the file of one of them", Level.PLAYER, players()[0]),
        true("settled.adr", "the same round for dispute resolution", Level.ADR),
        true("settled.regulator", "the same round for a regulator", Level.REGULATOR),
        true("insured.regulator", "a round with an insured box", Level.REGULATOR),
        true("jackpot.regulator", "a jackpot was won, under a ruleset that is not released", Level.REGULATOR),
        true("voided.regulator", "a round that was voided, with who did it", Level.REGULATOR),
        Sample(
            "voided.not-cosigned", "a checkpoint that no witness has signed, for a reader who wants none",
            cosignature_missing(), "trust-without-witness.json",
        ),
    )  # fmt: skip
    forged = [Sample(f"tampered/{_name(each)}", _what(each), each()) for each in FORGERIES]
    return (*honest, *forged)


def _name(forgery: Any) -> str:
    return str(forgery.__name__).replace("_", "-")


def _what(forgery: Any) -> str:
    return str(forgery.__doc__).rstrip(".").replace("\n    ", " ")


def judged(sample: Sample) -> Verdict | str:
    """What the product says: a verdict, or in one line why it can't read the file."""
    try:
        return verify_evidence(read_evidence(sample.data), TRUSTS[sample.trust], check_signature)
    except EvidenceError as error:
        return str(error)


def all_files() -> dict[str, bytes]:
    """Path in the folder -> bytes, of everything but the README."""
    files = {name: trust.to_json() for name, trust in TRUSTS.items()}
    index: dict[str, list[Any]] = {"files": [], "receipts": []}
    for sample in samples():
        files[f"{sample.name}.json"] = sample.data
        found = judged(sample)
        entry: dict[str, Any] = {"file": f"{sample.name}.json", "trust": sample.trust, "what": sample.what}
        if isinstance(found, str):
            entry |= {"exit_status": 2, "verdict": None, "error": found}
        else:
            entry |= {
                "exit_status": {"verified": 0, "discrepancy": 1, "not-checkable": 2}[found.status],
                "verdict": str(found.status),
                "failing": [str(each.name) for each in found.checks if each.discrepancies],
                "expected": f"{sample.name}.verdict.json",
            }
            files[entry["expected"]] = _json(found.as_json())
        index["files"].append(entry)
    for name, (what, token, good) in _receipts().items():
        files[f"receipts/{name}.txt"] = f"{token}\n".encode()
        index["receipts"].append({"file": f"receipts/{name}.txt", "trust": "trust.json", "what": what, "good": good})
    files["index.json"] = _json(index)
    return files


def _receipts() -> dict[str, tuple[str, str, bool]]:
    """Name -> what it is, the token, and whether it is good."""
    house, kinds = evening()
    given = receipts(house, kinds.settled)
    found = {f"settled.box-{box}": (f"for box {box} of settled", token, True) for box, token in given.items()}
    strange = receipts(house, kinds.settled, Signer.named(f"{ORIGIN}/receipts", 1, salt=" stolen name"))
    for name, (what, token) in tampered_receipts(given[1], strange[1]).items():
        found[f"tampered.{name}"] = what, token, False
    return found


def _json(value: Any) -> bytes:
    return json.dumps(value, indent=1, ensure_ascii=False).encode() + b"\n"


def main() -> None:
    """Write them all, and take away what is no longer made."""
    files = all_files()
    for path in SAMPLES.rglob("*"):
        if path.is_file() and path.name != "README.md" and path.relative_to(SAMPLES).as_posix() not in files:
            path.unlink()
    for name, data in files.items():
        (SAMPLES / name).parent.mkdir(parents=True, exist_ok=True)
        (SAMPLES / name).write_bytes(data)
    print(f"{len(files)} files, {sum(map(len, files.values())):,} bytes")


if __name__ == "__main__":
    main()
