"""Where things are: the home folder, the database, keys, the log, whom to trust; options first, then the environment.

`DEALPROOF_HOME` (default: a user data folder), `DEALPROOF_DATABASE_URL` (default: the embedded PostgreSQL below the
home), `DEALPROOF_KEY_FILE` and `DEALPROOF_TRUST` (default: below the home), `DEALPROOF_LOG` (`ops.logs`),
`DEALPROOF_OPERATOR` (the casino's name, on its reports).

Not here: opening any of them (`ops.site`).
"""

from __future__ import annotations

import hashlib
import os
from dataclasses import dataclass
from pathlib import Path

import platformdirs


@dataclass(frozen=True)
class Settings:
    """What a command runs on.  A `database_url` of None is the embedded server, a `trust` of None the site's own.

    `operator`: the casino's name, for its reports.
    """

    home: Path
    database_url: str | None
    key_file: Path
    log_level: str = "warning"
    trust: Path | None = None
    operator: str | None = None

    @property
    def log_folder(self) -> Path:
        """Tiles, checkpoints and cosigned notes."""
        return self.home / "log"

    @property
    def log_key_file(self) -> Path:
        """What checkpoints are signed with."""
        return self.home / "keys" / "log.key"

    @property
    def receipt_key_file(self) -> Path:
        """What players' receipts are signed with."""
        return self.home / "keys" / "receipt.key"

    @property
    def trust_file(self) -> Path:
        """Whose checkpoints, cosignatures and receipts are believed."""
        return self.trust or self.home / "trust.json"

    @property
    def server_folder(self) -> Path:
        """The embedded PostgreSQL's folder: below the home.

        A server never runs as root, so for root a home that other users can't reach (as below /root) has its server's
        folder below /var/lib/dealproof, one for each home.
        """
        if os.geteuid() != 0 or _others_reach(self.home):
            return self.home / "postgresql"
        return ROOTS_HOME / "homes" / hashlib.sha256(os.fsencode(self.home)).hexdigest()[:16]


ROOTS_HOME = Path("/var/lib/dealproof")
"""Root's own folder below /root would be out of reach for the user that the server runs as."""


def _others_reach(folder: Path) -> bool:
    existing = [path for path in (folder, *folder.parents) if path.exists()]
    return all(path.stat().st_mode & 0o001 for path in existing if path != folder)


def read_settings(
    home: str | None, database_url: str | None, key_file: str | None, trust: str | None = None
) -> Settings:
    """Settings from a command's options, each None to be read from the environment."""
    variable = os.environ.get
    folder = home or variable("DEALPROOF_HOME") or _default_home()
    path = Path(folder).expanduser().absolute()
    url = database_url or variable("DEALPROOF_DATABASE_URL") or None
    key = key_file or variable("DEALPROOF_KEY_FILE")
    key_path = Path(key).expanduser() if key else path / "keys" / "dealproof.key"
    trusted = trust or variable("DEALPROOF_TRUST")
    trust_path = Path(trusted).expanduser().absolute() if trusted else None
    level, operator = variable("DEALPROOF_LOG", "warning"), variable("DEALPROOF_OPERATOR") or None
    return Settings(path, url, key_path, level, trust_path, operator)


def _default_home() -> Path:
    if os.geteuid() == 0:
        return ROOTS_HOME
    return Path(platformdirs.user_data_dir("dealproof", appauthor=False))
