"""A helper process ends with the process that started it, also when that one is killed.

Not here: starting helpers (`ops.cli.serve`).
"""

from __future__ import annotations

import os
import threading
import time


def end_with_parent(parent: int) -> None:
    """From now on end this process, without a word, as soon as `parent` is not its parent any more."""
    threading.Thread(target=_watch, args=(parent,), daemon=True).start()


def _watch(parent: int) -> None:
    """A helper whose parent was killed would go on beside the next one's."""
    while os.getppid() == parent:
        time.sleep(1)
    # What is half done is done by the journal or by the log's next start, or not at all; its sender asks again.
    os._exit(1)
