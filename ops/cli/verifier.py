"""`dealproof verifier`: the verifier as one file, for a machine that has nothing but Python.

Not here: how it is built (`ops.portable.build`), what it does (`ops.portable.command`).
"""

from __future__ import annotations

from hashlib import sha256
from importlib.metadata import version
from pathlib import Path

import click

from ops.files import write_whole
from ops.portable.build import verifier as built


@click.command()
@click.option(
    "-o", "--output", "path", metavar="FILE", type=click.Path(path_type=Path, dir_okay=False),
    default=Path("dealproof-verify.pyz"), show_default=True, help="Where to write it.",
)  # fmt: skip
def verifier(path: Path) -> None:
    """Write the verifier of evidence files and receipts as one file that runs on Python 3.11+ with nothing installed.

    The same version gives the same bytes; what is printed is the file's SHA-256, as `sha256sum` prints it.
    """
    data = built(version("dealproof"))
    write_whole(path, data)
    path.chmod(0o755)
    click.echo(f"{sha256(data).hexdigest()}  {path}")
