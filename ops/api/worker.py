"""One worker process of the server: its own journal, floor and app, from the settings in the environment.

Not here: the process that starts the workers (`ops.cli.serve`).
"""

from __future__ import annotations

import atexit
import os
from typing import Final

from flask import Flask

from ops.api.app import create_app
from ops.api_keys import Gatekeeper
from ops.journal import Journal
from ops.log.public import PublicLog
from ops.log.store import LogStore
from ops.logs import set_level
from ops.parent import end_with_parent
from ops.receipts import site_receipts
from ops.settings import Settings, read_settings
from ops.site import add_data_key, floor_at

REQUESTS_PER_MINUTE: Final = "DEALPROOF_REQUESTS_PER_MINUTE"
WITH_LOG: Final = "DEALPROOF_WITH_LOG"


def environment(settings: Settings, url: str, per_minute: int, *, with_log: bool) -> dict[str, str]:
    """What a worker must find in its environment."""
    return {
        "DEALPROOF_HOME": str(settings.home),
        "DEALPROOF_DATABASE_URL": url,
        "DEALPROOF_KEY_FILE": str(settings.key_file),
        "DEALPROOF_LOG": settings.log_level,
        "DEALPROOF_TRUST": str(settings.trust_file),
        REQUESTS_PER_MINUTE: str(per_minute),
        WITH_LOG: "yes" if with_log else "",
    }


def make_app() -> Flask:
    """The worker's app.  Raises DatabaseUnavailable, KeyFileError."""
    settings = read_settings(None, None, None)
    set_level(settings.log_level)
    end_with_parent(os.getppid())
    url = settings.database_url
    assert url is not None  # whoever starts a worker names the database
    journal = Journal.open(url)
    atexit.register(journal.close)
    gatekeeper = Gatekeeper(journal, int(os.environ[REQUESTS_PER_MINUTE]))
    log = PublicLog(LogStore(settings.log_folder), settings.trust_file) if os.environ[WITH_LOG] else None
    floor = floor_at(url, journal, settings, None if log is None else site_receipts(settings, log))
    return create_app(floor, gatekeeper, lambda: add_data_key(url, settings), log)
