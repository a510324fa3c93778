"""Check a player's receipt offline: its signature, and whether an evidence file has its wager.

Not here: the token's format (`domain.log.receipt`), what it is held against (`replay.receipts`), the same in a house
with a journal (`ops.cli.receipt`).
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

import msgspec

from domain.log.receipt import Receipt, open_receipt
from ops.cli.output import UsageError, data_console, printable, write_json_line
from ops.cli.verify_file import read_file
from ops.log.ed25519 import check_signature
from ops.log.trusting import read_trust
from replay.evidence_file import EvidenceError
from replay.receipts import contradictions
from replay.verdict import Discrepancy

LONGEST: Final = 8192
"""Bytes of a file that holds a token."""

Placed = list[tuple[int, bytes]]
"""Events of a record, with their positions."""


def check_receipt(token: str, trust_path: Path, evidence_path: Path | None, *, as_json: bool) -> int:
    """Print what a receipt says and give the exit status: 0 good, 1 the evidence says something else.

    `token` may name a file that holds it.  Raises ReceiptError, TrustError, EvidenceError, UsageError.
    """
    receipt = read_receipt(token, trust_path)
    if evidence_path is None:
        return tell(receipt, None, None, as_json=as_json)
    status = tell(receipt, str(evidence_path), placed_in(evidence_path, receipt), as_json=as_json)
    if not as_json:
        data_console().print(f"Is the file itself true?  dealproof verify {evidence_path} says that.", soft_wrap=True)
    return status


def read_receipt(argument: str, trust_path: Path) -> Receipt:
    """The receipt in a token, or in a file that holds one.  Raises ReceiptError, TrustError, UsageError."""
    return open_receipt(_token(argument), read_trust(trust_path), check_signature)


def placed_in(evidence_path: Path, receipt: Receipt) -> Placed:
    """The events of an evidence file.  Raises EvidenceError, for a file about another round too."""
    file = read_file(evidence_path)
    if file.round != receipt.round:
        raise EvidenceError(f"{evidence_path}: is about round {file.round}, the receipt about {receipt.round}")
    return [(event.position, event.body.encode()) for event in file.events]


def tell(receipt: Receipt, against: str | None, placed: Placed | None, *, as_json: bool) -> int:
    """Print a receipt, and what a record has otherwise; `against` names it.  Gives the exit status."""
    found = [] if placed is None else contradictions(receipt, placed)
    if as_json:
        verdict = "contradicted" if found else "good"
        report = {"receipt": msgspec.to_builtins(receipt), "against": against, "verdict": verdict}
        write_json_line({**report, "discrepancies": [finding.as_json() for finding in found]})
    else:
        _print(receipt)
        if against is not None:
            _print_comparison(against, found)
    return 1 if found else 0


def _token(argument: str) -> str:
    """The token itself, or what a file of that name holds."""
    if argument.startswith("dpr1."):
        return argument
    try:
        with Path(argument).open("rb") as file:
            return file.read(LONGEST).decode("ascii", "replace").strip()
    except OSError as error:
        raise UsageError(f"receipt: {argument[:80]!r} is no token, and no file: {error.strerror}") from None


def _print(receipt: Receipt) -> None:
    console = data_console()
    console.print(f"Receipt of {receipt.origin}: the house has signed that it took this wager", soft_wrap=True)
    rows = {
        "round": receipt.round, "box": receipt.box, "player": printable(receipt.player),
        "stake": f"{receipt.stake:,} in minor units (cents) of the round's currency",
        "position": f"{receipt.position:,} in the house's journal", "commitment": receipt.commitment,
        "ruleset": receipt.ruleset_digest,
        "checkpoint": f"{receipt.checkpoint_size:,} events, root {receipt.checkpoint_root}",
    }  # fmt: skip
    for name, value in rows.items():
        console.print(f"  {name:<11} {value}", soft_wrap=True)


def _print_comparison(against: str, found: list[Discrepancy]) -> None:
    console = data_console()
    if not found:
        console.print(f"Held against {against}: the wager is there, as the receipt says.", soft_wrap=True)
        return
    console.print(f"Held against {against}: this is not what the receipt says.", soft_wrap=True)
    for finding in found:
        console.print(f"  {printable(_sentence(finding))}", soft_wrap=True)
    words = "Either the record was changed afterwards, or the house has signed for a wager that it never took."
    console.print(words, soft_wrap=True)


def _sentence(finding: Discrepancy) -> str:
    """A contradiction as a person says it who knows the receipt and not our events."""
    if finding.recorded == "missing":
        return _MISSING[finding.field].format(finding.recomputed)
    name = finding.field.replace("_", " ")
    return f"{name}: the record says {finding.recorded}, the receipt says {finding.recomputed}"


_MISSING: Final = {
    "round": "the record has no round {}, or none that can be read",
    "position": "the record does not have {}",
    "event": "the record does not say which checkpoint was named for {}",
}
"""By the field of a finding: what it means that the record has nothing there."""
