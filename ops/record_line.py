"""Any text as one line that a record can hold: names of roles and files and tampered values may have any sign in them.

Not here: text that a caller chose, which is refused instead (`domain.record.is_record_text`).
"""

from __future__ import annotations

import unicodedata
from typing import Final

LONGEST_LINE: Final = 300
"""Characters."""


def record_line(text: str) -> str:
    """The text in NFC, printable, cut at LONGEST_LINE."""
    shown = "".join(sign if sign.isprintable() else _spelled(sign) for sign in text)
    line = unicodedata.normalize("NFC", shown)
    return line if len(line) <= LONGEST_LINE else line[: LONGEST_LINE - 1].rstrip() + "…"


def _spelled(sign: str) -> str:
    return " " if sign.isspace() else sign.encode("unicode_escape", "replace").decode("ascii")
