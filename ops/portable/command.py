"""The program in `dealproof-verify.pyz`: evidence files and receipts, checked offline from pinned keys.

    python dealproof-verify.pyz FILE… [--trust TRUST] [--json]
    python dealproof-verify.pyz receipt TOKEN|FILE [--trust TRUST] [--evidence FILE] [--json]

Output and exit status are those of `dealproof verify FILE` and `dealproof receipt check` (docs/formats/verdict.md): 0
verified, 1 a discrepancy, 2 not checkable or unreadable.  Of several files a discrepancy counts first, then what could
not be checked.

Not here: the verification (`replay.evidence_file`), building the program (`ops.portable.build`).
"""

from __future__ import annotations

import argparse
import os
import sys
import traceback
from collections.abc import Callable, Iterator, Sequence
from hashlib import sha256
from pathlib import Path
from typing import Final

from domain.log.receipt import ReceiptError
from domain.log.trust import TrustError
from ops.cli.output import ReaderLeft, UsageError, printable, reader_may_leave
from ops.cli.verify_file import verify_file
from ops.portable.receipt import check_receipt
from replay.evidence_file import EvidenceError

NAME: Final = "dealproof-verify"
MENDABLE: Final = (EvidenceError, ReceiptError, TrustError, UsageError, OSError)


def main(arguments: Sequence[str], version: str) -> int:
    """The exit status of a command line."""
    if sys.stdout is None:
        return _say("standard output is closed", 2)
    wanted = _parser(version, receipt=arguments[:1] == ["receipt"]).parse_args(arguments)
    try:
        with reader_may_leave():
            statuses = {status for _, status in _checked(wanted)}
    except ReaderLeft:
        return 141
    except KeyboardInterrupt:
        return _say("interrupted", 130)
    except Exception:
        traceback.print_exc()
        return _say("this is a bug; the lines above say where", 70)
    return next(status for status in (1, 2, 0) if status in statuses)


def _checked(wanted: argparse.Namespace) -> Iterator[tuple[Path | str, int]]:
    """What was asked about, with the status of each."""
    trust = Path(wanted.trust or os.environ.get("DEALPROOF_TRUST") or "trust.json")
    if "token" in wanted:
        yield wanted.token, _mended(check_receipt, wanted.token, trust, wanted.evidence, as_json=wanted.json)
        return
    for path in wanted.file:
        yield path, _mended(verify_file, path, trust, as_json=wanted.json)


def _mended(check: Callable[..., int], *arguments: object, as_json: bool) -> int:
    """A check's status; an error that a user can mend is one line, and 2."""
    try:
        return check(*arguments, as_json=as_json)
    except BrokenPipeError:
        raise
    except MENDABLE as error:
        return _say(printable(f"{error.filename}: {error.strerror}" if isinstance(error, OSError) else str(error)), 2)


def _parser(version: str, *, receipt: bool) -> argparse.ArgumentParser:
    words = "Check evidence files, or (`receipt`) a player's receipt, offline, from the keys that you trust."
    parser = argparse.ArgumentParser(NAME, description=words, allow_abbrev=False)
    if receipt:
        parser.add_argument("receipt", choices=["receipt"], help="check a receipt")
        parser.add_argument("token", metavar="TOKEN|FILE", help="the receipt, or a file that holds it")
        parser.add_argument("--evidence", type=Path, metavar="FILE", help="hold it against this evidence file")
    else:
        parser.add_argument("file", type=Path, nargs="+", metavar="FILE", help="an evidence file")
    parser.add_argument("--trust", metavar="TRUST", help="the keys you believe (DEALPROOF_TRUST; default: trust.json)")
    parser.add_argument("--json", action="store_true", help="one JSON object a line")
    parser.add_argument("--version", action=_Version, version=version, help="version and SHA-256 of this file")
    return parser


class _Version(argparse.Action):
    """The version, and the hash of the file that runs, to be held against the one that the house has published."""

    def __init__(self, option_strings: Sequence[str], dest: str, version: str, help: str) -> None:
        super().__init__(option_strings, dest, nargs=0, help=help)
        self._version = version

    def __call__(self, *_: object) -> None:
        print(f"{NAME} {self._version}")
        archive = getattr(__spec__.loader, "archive", None)
        if archive is not None:
            print(f"SHA-256 {sha256(Path(archive).read_bytes()).hexdigest()}")
        sys.exit(0)


def _say(message: str, status: int) -> int:
    print(f"{NAME}: {message}", file=sys.stderr)
    return status
