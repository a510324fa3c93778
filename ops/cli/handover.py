"""`dealproof handover`: everything that a test laboratory needs, as one archive.

Not here: what stands in it (`ops.handover.kit`).
"""

from __future__ import annotations

import sys
from hashlib import sha256
from importlib.metadata import version
from pathlib import Path

import click

from ops.cli.output import UsageError
from ops.files import write_whole


@click.command()
@click.option("-o", "--output", required=True, type=click.Path(path_type=Path), help="Where to write it (a zip file).")
def handover(output: Path) -> int:
    """Write the hand-over kit: formats, rules, a reference decoder, known answers, sample evidence.

    Needs no database.  Its README begins with how to check it.  The same version always writes the same files; stdout
    gets the archive's SHA-256.
    """
    from ops.handover.kit import KitError, kit_files, packed

    number = version("dealproof")
    try:
        found = kit_files(number)
    except KitError as error:
        raise UsageError(str(error)) from None
    archive = packed(found, f"dealproof-handover-{number}")
    write_whole(output, archive)
    print(f"{sha256(archive).hexdigest()}  {output}")
    print(f"{len(found)} files, {len(archive):,} bytes, of version {number}", file=sys.stderr)
    return 0
