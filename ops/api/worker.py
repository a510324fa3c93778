"""One worker process of the server: its own journal, floor and app, from the settings in the environment.

Not here: the process that starts the workers (`ops.cli.serve`).
"""

from __future__ import annotations

import atexit
import os
import threading
import time
from typing import Final

from flask import Flask

from ops.api.app import create_app
from ops.api_keys import Gatekeeper
from ops.journal import Journal
from ops.logs import set_level
from ops.settings import Settings, read_settings
from ops.site import add_data_key, floor_at

REQUESTS_PER_MINUTE: Final = "DEALPROOF_REQUESTS_PER_MINUTE"


def environment(settings: Settings, url: str, per_minute: int) -> dict[str, str]:
    """What a worker must find in its environment."""
    return {
        "DEALPROOF_HOME": str(settings.home),
        "DEALPROOF_DATABASE_URL": url,
        "DEALPROOF_KEY_FILE": str(settings.key_file),
        "DEALPROOF_LOG": settings.log_level,
        REQUESTS_PER_MINUTE: str(per_minute),
    }


def make_app() -> Flask:
    """The worker's app.  Raises DatabaseUnavailable, KeyFileError."""
    settings = read_settings(None, None, None)
    set_level(settings.log_level)
    threading.Thread(target=_end_with_parent, args=(os.getppid(),), daemon=True).start()
    url = settings.database_url
    assert url is not None  # whoever starts a worker names the database
    journal = Journal.open(url)
    atexit.register(journal.close)
    gatekeeper = Gatekeeper(journal, int(os.environ[REQUESTS_PER_MINUTE]))
    return create_app(floor_at(url, journal, settings), gatekeeper, lambda: add_data_key(url, settings))


def _end_with_parent(parent: int) -> None:
    """A worker whose parent was killed would go on serving beside the next server."""
    while os.getppid() == parent:
        time.sleep(1)
    # What is half done is done by the journal or not at all; its sender asks again.
    os._exit(1)
