"""Whose body we wait for: a server's thread waits as long as a body takes to come, so strangers get none.

A signature can only be checked once the whole body is here.  A few strangers who send theirs byte by byte would keep
every thread waiting; so the key that a request presents is looked up before its body is read.

Not here: letting anybody in, which takes the signature (`ops.api_keys`).
"""

from __future__ import annotations

import hmac
import time
from typing import Final

from domain.access import KEY_CODEC, key_stream
from ops.api_keys import ApiKey, Denial, DenialCode
from ops.commands import newest
from ops.journal import Journal

REMEMBERED_SECONDS: Final = 60
"""How long a key is remembered; there are only as many as were ever made."""

SCHEME: Final = "dealproof "


class Patience:
    """Knows which keys there are.  Safe to share among threads."""

    def __init__(self, journal: Journal) -> None:
        self._journal = journal
        self._known: dict[tuple[str, str], float] = {}

    def denial(self, authorization: str | None) -> Denial | None:
        """Why nobody waits for a body that comes with this header, None if its key is known."""
        if authorization is None:
            return Denial(DenialCode.SIGNATURE_MISSING, "Authorization: is missing; every request must be signed.")
        try:
            key = ApiKey.parse(authorization[len(SCHEME) :])
        except ValueError:
            text = "Authorization: must be Dealproof dpk_<16 hex digits>_<64 hex digits>."
            return Denial(DenialCode.KEY_MALFORMED, text)
        return None if self._knows(key) else Denial(DenialCode.KEY_UNKNOWN, "Authorization: there is no such key.")

    def _knows(self, key: ApiKey) -> bool:
        presented, now = (key.id, key.secret_sha256), time.monotonic()
        if self._known.get(presented, 0) > now:
            return True
        stored = newest(self._journal, key_stream(key.id))
        if stored is None:
            return False
        event = KEY_CODEC.decode(stored.record.body).data
        if not hmac.compare_digest(event.secret_sha256, key.secret_sha256):
            return False
        # Its holder is no stranger even when it was revoked; the gatekeeper says so.
        self._known[presented] = now + REMEMBERED_SECONDS
        return True
