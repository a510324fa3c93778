"""Print a report: text, CSV, XLSX, Parquet, JSON or PDF, the same bytes for the same report.

All but PDF take constant memory.  Every form has the whole frame and every identity with its residual.
Format: docs/formats/report.md.

Not here: what a report says (`ops.reports.definitions`), signing a PDF (`ops.reports.signing`).
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import BinaryIO, Final

from ops.files import whole_file, write_whole
from ops.reports.building import ReportError
from ops.reports.model import Chart, Report
from ops.reports.words import Words

FORMATS: Final[dict[str, str]] = {
    "text": "ops.reports.render.text", "csv": "ops.reports.render.csv_file", "xlsx": "ops.reports.render.xlsx",
    "parquet": "ops.reports.render.parquet", "json": "ops.reports.render.json_file", "pdf": "ops.reports.render.pdf",
}  # fmt: skip
"""Format -> the module that writes it; those of other people's packages are imported when they are asked for."""

Write = Callable[[Report, BinaryIO, Words], None]


def writer(format_name: str) -> Write:
    """Raises ReportError where the package that writes it is not installed."""
    write: Write = imported(FORMATS[format_name], f"--format {format_name}").write
    return write


def write_file(report: Report, format_name: str, path: Path, words: Words) -> None:
    """A whole file, or none under this name: what was written of a report that fails is gone.  Raises OSError."""
    write = writer(format_name)
    with whole_file(path) as file:
        write(report, file, words)


def write_chart(chart: Chart, path: Path) -> None:
    """A chart as an SVG file, whole or not there.  Raises ReportError, OSError."""
    drawn: str = imported("ops.reports.render.chart", "--charts").svg(chart)
    write_whole(path, drawn.encode())


def imported(module: str, option: str) -> ModuleType:
    """A module that needs a package of the reports' extra.  Raises ReportError: the option, and what to do."""
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        raise ReportError(f"{option}: needs the package {error.name}: pip install 'dealproof[reports]'") from None
    except OSError as error:
        # WeasyPrint finds no Pango on this system.
        first = str(error).partition("\n")[0]
        raise ReportError(f"{option}: a library of the system is missing: {first}") from None
