"""Gather the hand-over kit and pack it: one archive from which a test laboratory can work without us.

The same installation packs the same bytes: names sorted, times fixed.  In a checkout documents and known answers come
from their folders, in an installed wheel from `ops/handover/kit`, where `pyproject.toml` puts the same ones.

Not here: what the kit says of itself (`index.md`), its decoder (`reference`), the command (`ops.cli.handover`).
"""

from __future__ import annotations

import io
import zipfile
from collections.abc import Iterator, Mapping
from hashlib import sha256
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Final

CONTENTS: Final = {
    "docs/formats": "docs/formats",
    "docs/rules": "docs/rules",
    "docs/exact-numbers.md": "docs/exact-numbers.md",
    "docs/glossary.md": "docs/glossary.md",
    "docs/round.md": "docs/round.md",
    "known-answers/drbg": "tests/vectors/drbg",
    "known-answers/evidence": "tests/vectors/evidence",
    "known-answers/golden": "tests/vectors/golden",
    "known-answers/jcs": "tests/vectors/jcs",
    "known-answers/merkle": "tests/vectors/merkle",
    "known-answers/notes": "tests/vectors/notes",
    "known-answers/rulesets": "tests/vectors/rulesets",
    "known-answers/scenarios": "tests/vectors/scenarios",
    "known-answers/wycheproof": "tests/vectors/wycheproof",
}
"""Place in the kit -> place in the repository; `pyproject.toml` has the same table for the wheel."""

MANIFEST: Final = "MANIFEST.sha256"
FIXED_TIME: Final = (2000, 1, 1, 0, 0, 0)
READABLE_FILE: Final = 0o100644 << 16


class KitError(Exception):
    """The kit can't be packed here; one line with the reason."""


def kit_files(version: str) -> dict[str, bytes]:
    """Path in the kit -> bytes, the manifest last.  Raises KitError where this installation lacks a part."""
    found = dict(_documents())
    here = files("ops.handover")
    found |= {f"reference/{path}": data for path, data in _below(here / "reference") if path != "__init__.py"}
    found |= {f"rulesets/{path}": data for path, data in _below(files("domain.rulesets")) if path.endswith(".json")}
    found["VERSION"] = f"{version}\n".encode()
    found["README.md"] = (here / "index.md").read_text(encoding="utf-8").replace("{version}", version).encode()
    return dict(sorted(found.items())) | {MANIFEST: manifest_of(found)}


def manifest_of(found: Mapping[str, bytes]) -> bytes:
    """As `sha256sum -c` reads it."""
    return "".join(f"{sha256(found[path]).hexdigest()}  {path}\n" for path in sorted(found)).encode()


def packed(found: Mapping[str, bytes], folder: str) -> bytes:
    """The archive (zip) with everything below one folder."""
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        for path in sorted(found):
            entry = zipfile.ZipInfo(f"{folder}/{path}", FIXED_TIME)
            entry.create_system, entry.external_attr, entry.compress_type = 3, READABLE_FILE, zipfile.ZIP_DEFLATED
            archive.writestr(entry, found[path])
    return stream.getvalue()


def _documents() -> Iterator[tuple[str, bytes]]:
    packaged, checkout = files("ops.handover") / "kit", Path(__file__).parents[2]
    for place, origin in CONTENTS.items():
        source: Traversable = packaged / place if packaged.is_dir() else checkout / origin
        if source.is_file():
            yield place, source.read_bytes()
        elif source.is_dir():
            yield from ((f"{place}/{path}", data) for path, data in _below(source))
        else:
            raise KitError(f"handover: {origin}: is missing from this installation; install dealproof anew")


def _below(folder: Traversable) -> Iterator[tuple[str, bytes]]:
    """Every file below a folder, by its path from there."""
    for each in folder.iterdir():
        if each.is_file():
            yield each.name, each.read_bytes()
        elif each.is_dir() and each.name != "__pycache__":
            yield from ((f"{each.name}/{path}", data) for path, data in _below(each))
