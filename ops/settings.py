"""Where things are: the home folder, the database, the key file; from options first, then the environment.

`DEALPROOF_HOME` (default: a user data folder), `DEALPROOF_DATABASE_URL` (default: the embedded PostgreSQL below the
home), `DEALPROOF_KEY_FILE` (default: below the home).

Not here: opening any of them (`ops.site`).
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import platformdirs
from environs import Env


@dataclass(frozen=True)
class Settings:
    """What a command runs on.  A `database_url` of None is the embedded server."""

    home: Path
    database_url: str | None
    key_file: Path

    @property
    def server_folder(self) -> Path:
        """The embedded PostgreSQL's folder."""
        return self.home / "postgresql"


def read_settings(home: str | None, database_url: str | None, key_file: str | None) -> Settings:
    """Settings from a command's options, each None to be read from the environment."""
    env = Env()
    folder = home or env.str("DEALPROOF_HOME", "") or platformdirs.user_data_dir("dealproof", appauthor=False)
    path = Path(folder).expanduser().absolute()
    url = database_url or env.str("DEALPROOF_DATABASE_URL", "") or None
    key = key_file or env.str("DEALPROOF_KEY_FILE", "")
    return Settings(path, url, Path(key).expanduser() if key else path / "keys" / "dealproof.key")
