"""Build the verifier that is one file: `dealproof-verify.pyz`, which runs on Python 3.11+ with nothing installed.

It is a zip archive (PEP 441) of our own source as it is installed, with plain Python in place of the compiled packages:
`msgspec` and `rich` by their stand-ins, the check of signatures by `ops.portable.ed25519`.  The archive comes first on
the path, so the stand-ins are used even where the real packages are installed: one behaviour everywhere.

The same version gives the same bytes: names are sorted, times fixed, nothing is compressed (another zlib would give
other bytes).  So whoever has the source can build the file and compare.

Not here: what the file does (`ops.portable.command`).
"""

from __future__ import annotations

import io
import zipfile
from collections.abc import Iterator
from importlib.resources import files
from importlib.resources.abc import Traversable
from typing import Final

PACKAGES: Final = {
    "domain": "domain",
    "replay": "replay",
    "msgspec": "ops.portable.msgspec_stand_in",
    "rich": "ops.portable.rich_stand_in",
}
"""Folder in the archive -> package that is copied whole."""

MODULES: Final = {
    "ops/__init__.py": "ops",
    "ops/cli/__init__.py": "ops.cli",
    "ops/cli/ladder.py": "ops.cli",
    "ops/cli/output.py": "ops.cli",
    "ops/cli/verify_file.py": "ops.cli",
    "ops/clock.py": "ops",
    "ops/log/__init__.py": "ops.log",
    "ops/log/ed25519.py": "ops.portable",
    "ops/log/trusting.py": "ops.log",
    "ops/portable/__init__.py": "ops.portable",
    "ops/portable/command.py": "ops.portable",
    "ops/portable/receipt.py": "ops.portable",
}
"""File in the archive -> package that has the file of this name."""

MAIN: Final = '''\
"""Dealproof's verifier.  The program is `ops.portable.command`."""

import sys

if sys.version_info < (3, 11):
    sys.stderr.write("dealproof-verify: Python 3.11 or newer is needed, this is %s\\n" % sys.version.split()[0])
    sys.exit(2)

from ops.portable.command import main

sys.exit(main(sys.argv[1:], {version!r}))
'''

_START: Final = b"#!/usr/bin/env python3\n"
_TIME: Final = (1980, 1, 1, 0, 0, 0)


def verifier(version: str) -> bytes:
    """The file's bytes; `version` is what it says of itself."""
    contents = dict(_contents())
    contents["__main__.py"] = MAIN.format(version=version).encode()
    whole = io.BytesIO(_START)
    whole.seek(0, io.SEEK_END)
    with zipfile.ZipFile(whole, "a", zipfile.ZIP_STORED) as archive:
        for name, data in sorted(contents.items()):
            archive.writestr(_entry(name), data)
    return whole.getvalue()


def _contents() -> Iterator[tuple[str, bytes]]:
    for folder, package in PACKAGES.items():
        yield from _folder(files(package), folder)
    for name, package in MODULES.items():
        yield name, files(package).joinpath(name.rpartition("/")[2]).read_bytes()


def _folder(folder: Traversable, name: str) -> Iterator[tuple[str, bytes]]:
    """Source and ruleset documents, at any depth."""
    for each in folder.iterdir():
        if each.is_dir():
            yield from _folder(each, f"{name}/{each.name}")
        elif each.name.endswith((".py", ".json")):
            yield f"{name}/{each.name}", each.read_bytes()


def _entry(name: str) -> zipfile.ZipInfo:
    """All that an entry says beside its bytes, the same on every system."""
    entry = zipfile.ZipInfo(name, _TIME)
    entry.create_system = 3
    entry.external_attr = 0o100644 << 16
    return entry
