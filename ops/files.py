"""Files that are whole or not there: written beside their place, and put into it when their bytes are on the disk.

Not here: files that are made once and never replaced (`ops.keys.make_once`), what stands in them.
"""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO


def write_whole(path: Path, data: bytes) -> None:
    """Put a whole file in its place, or leave what stands there.  Raises OSError.

    A crash leaves the old state, and perhaps a `.new` file that nobody reads.  That the new name outlives a power cut
    too takes a `sync_folder`.
    """
    with whole_file(path) as file:
        file.write(data)


@contextmanager
def whole_file(path: Path) -> Iterator[BinaryIO]:
    """A file to write to, which takes its place when the block has ended well; else nothing is left of it.

    What is no file, as /dev/stdout or /dev/null, is written to as it is.
    """
    if path.exists() and not path.is_file() and not path.is_dir():
        with path.open("wb") as device:
            yield device
        return
    draft = path.with_name(f".{path.name}.{secrets.token_hex(8)}.new")
    try:
        with draft.open("xb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        draft.replace(path)
    except BaseException as error:
        draft.unlink(missing_ok=True)
        if isinstance(error, OSError) and error.filename == str(draft):
            error.filename = str(path)  # nobody asked for the draft
        raise


def sync_folder(folder: Path) -> None:
    """Make the names in a folder outlive a power cut.  Raises OSError."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def read_if_there(path: Path, most: int) -> bytes | None:
    """The first bytes of a file, None where it is missing.  Raises OSError."""
    try:
        with path.open("rb") as file:
            return file.read(most)
    except FileNotFoundError:
        return None
