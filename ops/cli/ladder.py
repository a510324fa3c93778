"""A verdict as people read it: rung by rung, with every finding.

Not here: what was found (`replay`), verdicts of many rounds (`ops.cli.verify`).
"""

from __future__ import annotations

from typing import Any

import msgspec

from ops.cli.output import data_console, printable


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
    where = check["event"] or "the stream" if check["seq"] is None else f"event {check['seq']} {check['event'] or ''}"
    # A finding of the rung ledger lies in another stream than the round's own.
    where = f"{check['stream']} {where}" if "stream" in check else where
    return f"{where.strip()}, {check['field']}: recorded {_value(check['recorded'])}, is {_value(check['recomputed'])}"


def _value(value: object) -> str:
    text = value if isinstance(value, str) else msgspec.json.encode(value).decode()
    return text if len(text) <= 200 else text[:197] + "..."
