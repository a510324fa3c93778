"""Fill the examples of docs/formats/event-record.md and verdict.md from the golden files.

    python -m tests.golden.make_pages

A test compares the pages with what this writes.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Final

from domain.rulesets import released_rulesets
from replay.evidence import by_digest
from replay.verify_round import verify_round
from tests.golden.files import TAMPERED, GoldenRound, from_json, golden_rounds, leaf

FORMATS: Final = Path(__file__).parents[2] / "docs" / "formats"
EXAMPLE: Final = re.compile(r"(<!-- example: (\w+) -->\n```\w*\n)(.*?)(```\n<!-- end -->)", re.DOTALL)


def page_with_examples(name: str) -> str:
    """A page with its examples as they should be."""
    text = (FORMATS / name).read_text(encoding="utf-8")
    return EXAMPLE.sub(lambda found: found[1] + _example(found[2]) + found[4], text)


def shown_round() -> GoldenRound:
    """The shortest golden round of the simplest game that was played to its close."""
    closed = [golden for golden in golden_rounds("russian-poker@1") if b'"round-closed.v1"' in golden.bodies[-2]]
    return min(closed, key=lambda golden: sum(map(len, golden.bodies)))


def _example(name: str) -> str:
    if name == "record":
        return "".join(body.decode() + "\n" for body in shown_round().bodies)
    if name == "leaves":
        return "".join(f"{seq:>2}  {leaf(body)}\n" for seq, body in enumerate(shown_round().bodies))
    forged = json.loads((TAMPERED / "wrong-payout.json").read_text(encoding="utf-8"))
    verdict = verify_round(*from_json(forged), by_digest(released_rulesets().values())).as_json()
    checks = ",\n".join("  " + json.dumps(check, ensure_ascii=False) for check in verdict["checks"])
    return f'{{"round": "{verdict["round"]}", "verdict": "{verdict["verdict"]}", "checks": [\n{checks}]}}\n'


def main() -> None:
    """Write both pages."""
    for name in ("event-record.md", "verdict.md"):
        (FORMATS / name).write_text(page_with_examples(name), encoding="utf-8")


if __name__ == "__main__":
    main()
