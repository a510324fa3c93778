"""Rows of text in columns: never cut, whatever the width, so that a pipe or a file gets every figure whole.

Not here: what the rows say.
"""

from __future__ import annotations

from collections.abc import Sequence

from ops.cli.output import data_console


def print_columns(rows: Sequence[Sequence[str]], *, left: int) -> None:
    """Print rows, the first one headings; the first `left` columns are text, the others figures set to the right."""
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    console = data_console()
    for row in rows:
        cells = [
            cell.ljust(width) if column < left else cell.rjust(width)
            for column, (cell, width) in enumerate(zip(row, widths, strict=True))
        ]
        console.print("  ".join(cells).rstrip(), soft_wrap=True)
