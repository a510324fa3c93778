"""The part of msgspec that `domain` and `replay` use, in plain Python: for the verifier that is one file.

msgspec is compiled, so a file that runs anywhere can't carry it.  In that file this package stands under the name
`msgspec`.  It takes and refuses the same bytes, gives the same values and writes the same bytes (tests/portable holds
the two against each other); where it refuses, its words may differ.  What `domain` and `replay` don't use is not here:
an unknown option or type is a TypeError, not a guess.  Only values in values deeper than any record has (beyond 150)
may be refused here and read there.

Not here: speed.  Whoever can install msgspec uses msgspec.
"""

from __future__ import annotations

from . import json, structs
from .errors import DecodeError, MsgspecError, ValidationError
from .plain import convert, to_builtins
from .shapes import Meta
from .structs import UNSET, Raw, Struct, UnsetType, defstruct

__all__ = [
    "UNSET",
    "DecodeError",
    "Meta",
    "MsgspecError",
    "Raw",
    "Struct",
    "UnsetType",
    "ValidationError",
    "convert",
    "defstruct",
    "json",
    "structs",
    "to_builtins",
]
