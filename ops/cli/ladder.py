"""A verdict as people read it: rung by rung, with every finding.

Not here: what was found (`replay`), verdicts of many rounds (`ops.cli.verify`).
"""

from __future__ import annotations

from typing import Any

from ops.cli.output import data_console, printable
from replay.verdict import finding_place, finding_value


def print_ladder(verdict: dict[str, Any]) -> None:
    """The ladder of one round; `verdict` as `Verdict.as_json` has it."""
    console = data_console()
    console.print(f"Round {verdict['round']}: {verdict['verdict']}")
    for check in verdict["checks"]:
        reason = f"  ({printable(check['reason'])})" if "reason" in check else ""
        console.print(f"  {check['check']:<11} {check['status']}{reason}", soft_wrap=True)
        for finding in check.get("discrepancies", ()):
            console.print(f"    {finding_text({**finding, 'discrepancies': ()})}", soft_wrap=True)


def finding_text(check: dict[str, Any]) -> str:
    """The first discrepancy of a rung, or why it could not be checked; one line, whatever the record has in it."""
    return printable(_finding(check))


def _finding(check: dict[str, Any]) -> str:
    if "discrepancies" not in check:
        return str(check.get("reason", ""))
    recorded, recomputed = finding_value(check["recorded"]), finding_value(check["recomputed"])
    return f"{finding_place(check)}, {check['field']}: recorded {recorded}, is {recomputed}"
