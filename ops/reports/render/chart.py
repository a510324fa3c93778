"""A chart as SVG: the same for the same specification, from its own data alone.

Not here: what a chart shows (`ops.reports.definitions`).
"""

from __future__ import annotations

from typing import Any, Final

import vl_convert

from ops.reports.model import Chart

VEGA_LITE: Final = "5.20"
"""The version of the language; a later one may draw the same chart otherwise."""

_LOOK: Final[dict[str, Any]] = {
    "font": "DejaVu Sans", "background": "white", "view": {"stroke": None}, "title": {"anchor": "start"},
}  # fmt: skip


def svg(chart: Chart) -> str:
    """Loads nothing from elsewhere; letters stay letters."""
    titled = {"title": chart.title, **chart.specification}
    drawn: str = vl_convert.vegalite_to_svg(titled, vl_version=VEGA_LITE, config=_LOOK, allowed_base_urls=[])
    return drawn
