"""API keys: made, revoked and listed; how a request is signed with one, and who is let in.

    presented by the caller   Authorization: Dealproof dpk_<key id>_<secret>
    kept by us                the SHA-256 of the secret, in the event key-created.v1 of stream key:<key id>

A reader of the database can sign nothing, and a request that was overheard in part can't be changed or sent again.
Format: docs/formats/request-signing.md.

Not here: what a role may do (the API's table of routes), the SQL function that admits (`migrations/versions/0003`).
"""

from __future__ import annotations

import hashlib
import hmac
import re
import secrets
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final, Protocol, Self
from urllib.parse import quote

from domain.access import (
    KEY_CODEC,
    KEY_STREAMS,
    LONGEST_PERSON,
    KeyCreated,
    KeyRevoked,
    Role,
    is_person,
    key_stream,
)
from domain.record import is_record_text, leaf_hash
from ops import clock
from ops.journal import Journal, StreamConflict

WINDOW_SECONDS: Final = 300
"""How far a request's timestamp may lie from our clock, on either side."""

REQUEST_LABEL: Final = b"dp1/request\0"


class UnknownKey(LookupError):
    """There is no key of that id; one line."""


class DenialCode(StrEnum):
    """Every reason for which a caller is turned away; codes are stable, callers may store them."""

    SIGNATURE_MISSING = "signature-missing"
    KEY_MALFORMED = "key-malformed"
    TIMESTAMP_MALFORMED = "timestamp-malformed"
    TIMESTAMP_EXPIRED = "timestamp-expired"
    NONCE_MALFORMED = "nonce-malformed"
    SIGNATURE_WRONG = "signature-wrong"
    KEY_UNKNOWN = "key-unknown"
    KEY_REVOKED = "key-revoked"
    NONCE_USED = "nonce-used"
    TOO_MANY_REQUESTS = "too-many-requests"


@dataclass(frozen=True, slots=True)
class Denial:
    """A caller is turned away: why, in one sentence without anything he sent.  `retry_after` is in seconds."""

    code: DenialCode
    text: str
    retry_after: int | None = None


@dataclass(frozen=True, slots=True)
class Caller:
    """Who was let in."""

    key_id: str
    role: Role
    person: str
    label: str


class Headers(Protocol):
    """A request's headers: a dictionary of `sign`, or a web framework's that doesn't mind the case of names."""

    def get(self, key: str, /) -> str | None:
        """The value of a header, None if it was not sent."""
        ...


# -- keys


@dataclass(frozen=True, slots=True)
class ApiKey:
    """A key as its holder has it.  The 32 secret bytes never show in a repr."""

    id: str                 # 16 lower-case hex characters
    secret: bytes = field(repr=False)

    @property
    def text(self) -> str:
        """What the holder keeps, and presents: `dpk_<id>_<secret in hex>`."""
        return f"dpk_{self.id}_{self.secret.hex()}"

    @property
    def secret_sha256(self) -> str:
        """What we keep of the secret, in hex."""
        return hashlib.sha256(self.secret).hexdigest()

    @classmethod
    def fresh(cls) -> Self:
        """A key that nobody has, from the operating system's random source."""
        return cls(secrets.token_hex(8), secrets.token_bytes(32))

    @classmethod
    def parse(cls, text: str) -> Self:
        """The reverse of `text`.  Raises ValueError, which doesn't quote what was given."""
        found = _KEY.fullmatch(text)
        if found is None:
            raise ValueError("API key: not of the form dpk_<16 hex digits>_<64 hex digits>, in lower case")
        return cls(found[1], bytes.fromhex(found[2]))


_KEY: Final = re.compile("dpk_([0-9a-f]{16})_([0-9a-f]{64})")


@dataclass(frozen=True, slots=True)
class KeyEntry:
    """What the journal knows of a key.  The last three are None while it is good."""

    key_id: str
    role: Role
    person: str
    label: str
    created_at: str
    created_by: str
    revoked_at: str | None
    revoked_by: str | None
    reason: str | None


def create_key(journal: Journal, *, role: Role, person: str, label: str, by: str) -> ApiKey:
    """A fresh key from the operating system's random source; what is returned can't be had a second time.

    Raises ValueError for a text that a record can't hold, and JournalUnavailable.
    """
    _require_text(by=by, **({"label": label} if label else {}))
    if not is_person(person):
        raise ValueError(f"person: {PERSON_WORDS}")
    key = ApiKey.fresh()
    stream = key_stream(key.id)
    created = KeyCreated(by=by, label=label, person=person, role=role, secret_sha256=key.secret_sha256)
    records = KEY_CODEC.append_to(stream, None, [created], clock.now())
    # A crash right after this leaves a key that nobody holds: it stands in the list and can be revoked.
    journal.append(f"create {stream}", records[0].body, records)
    return key


def revoke_key(journal: Journal, key_id: str, *, by: str, reason: str) -> KeyEntry:
    """End a key for good, before this returns.  A key that was revoked before stays as it is.

    Whoever comes second gets the first one's entry back.  Raises UnknownKey, ValueError, JournalUnavailable.
    """
    _require_text(reason=reason, by=by)
    stream = key_stream(key_id)
    stored = journal.read_stream(stream)
    if not stored:
        raise UnknownKey(f"key {key_id}: there is no such key")
    created = KEY_CODEC.decode(stored[0].record.body).data
    if len(stored) == 1 and isinstance(created, KeyCreated):
        revoked = KeyRevoked.of(created, by=by, reason=reason)
        head = (0, leaf_hash(stored[0].record.body))
        records = KEY_CODEC.append_to(stream, head, [revoked], clock.now())
        # A conflict: somebody else has revoked it at the same moment, for a key's stream has no third event.
        with suppress(StreamConflict):
            journal.append(f"revoke {stream} {secrets.token_hex(8)}", records[0].body, records)
    return key_entry([stored.record.body for stored in journal.read_stream(stream)])


def list_keys(journal: Journal) -> list[KeyEntry]:
    """Every key there ever was, by its id."""
    return [key_entry(bodies) for _, bodies in journal.read_rounds(*KEY_STREAMS)]


def key_entry(bodies: Sequence[bytes]) -> KeyEntry:
    """What the events of a key, of which the first and the last count, say of it."""
    first, last = KEY_CODEC.decode(bodies[0]), KEY_CODEC.decode(bodies[-1])
    revoked = last.data if isinstance(last.data, KeyRevoked) else None
    return KeyEntry(
        key_id=first.stream.removeprefix("key:"),
        role=first.data.role,
        person=first.data.person,
        label=first.data.label,
        created_at=first.at,
        created_by=first.data.by,
        revoked_at=last.at if revoked else None,
        revoked_by=revoked.by if revoked else None,
        reason=revoked.reason if revoked else None,
    )


PERSON_WORDS: Final = (
    f"must be a name of 1 to {LONGEST_PERSON} characters in Unicode form NFC, with single spaces between its words and "
    "no invisible characters"
)


def may_approve(journal: Journal, person: str) -> bool:
    """Whether somebody of this name has a key of the cashier's or the back office's that is good."""
    staff = (Role.CASHIER, Role.BACK_OFFICE)
    return any(
        entry.person == person and entry.role in staff and entry.revoked_at is None for entry in list_keys(journal)
    )


def _require_text(**texts: str) -> None:
    for name, text in texts.items():
        if not is_record_text(text):
            raise ValueError(f"{name}: must be text in Unicode form NFC, not blank, of at most 1,000 characters")


# -- signing


def sign(key_text: str, method: str, target: str, timestamp: int, nonce: str, body: bytes) -> dict[str, str]:
    """The headers that let a request in.

    `target`: as `request_target` spells it.  `timestamp`: Unix seconds.  `nonce`: 16 to 64 of `A-Z a-z 0-9 _ -`, never
    used before with this key.  Raises ValueError.
    """
    if not _NONCE.fullmatch(nonce):
        raise ValueError("nonce: must be 16 to 64 characters of A-Z a-z 0-9 _ -")
    key = ApiKey.parse(key_text)
    return {
        "Authorization": f"Dealproof {key_text}",
        "Dealproof-Timestamp": str(timestamp),
        "Dealproof-Nonce": nonce,
        "Dealproof-Signature": _signature(key, method, target, str(timestamp), nonce, body),
    }


def request_target(path: bytes, query: str) -> str:
    """The target of a request in the one spelling that is signed, from its path without percent signs and its query.

    A WSGI server hands on the decoded path: `request_target(environ["PATH_INFO"].encode("latin-1"), query)`.
    """
    spelt = quote(path, safe="/:@!$&'()*+,;=")
    return f"{spelt}?{query}" if query else spelt


def new_nonce() -> str:
    """A nonce for `sign`."""
    return secrets.token_urlsafe(16)


def _signature(key: ApiKey, method: str, target: str, timestamp: str, nonce: str, body: bytes) -> str:
    # Of all fields only the target could hold a line feed, so where each one begins is certain all the same.
    lines = (method, target, timestamp, nonce, hashlib.sha256(body).hexdigest())
    message = REQUEST_LABEL + "\n".join(lines).encode("utf-8", "surrogatepass")
    return hmac.digest(key.secret, message, "sha256").hex()


# -- the door


class Gatekeeper:
    """Lets signed requests in, once each.  Safe to share among threads.

    `per_minute`: how many requests of one key are admitted in a minute of the clock, over all processes together.
    `seconds`: the clock, in Unix seconds.
    """

    def __init__(self, journal: Journal, per_minute: int, seconds: Callable[[], int] | None = None) -> None:
        self._datastore = journal.application.recorder.datastore
        self._per_minute = per_minute
        self._seconds = seconds or _unix_seconds

    def admit(self, method: str, target: str, headers: Headers, body: bytes) -> Caller | Denial:
        """Who sends this request, or why he is turned away.

        `target`: as `request_target` spells it.  The signature is held against the key presented before the database is
        asked.  Raises JournalUnavailable.
        """
        now = self._seconds()
        signed = _signed(method, target, headers, body, now)
        if isinstance(signed, Denial):
            return signed
        key, nonce = signed
        ticket = secrets.randbits(63)  # by it the function knows a call again that was sent twice
        parameters = (key.id, key.secret_sha256, nonce, ticket, now, self._per_minute)
        # A crash right after this leaves a used nonce: the caller signs anew, and keeps his idempotency key.
        [(verdict, role, person, label)] = self._datastore.rows(_ADMIT, parameters)
        if verdict == "admitted":
            return Caller(key.id, Role(role), person, label)
        code = DenialCode(verdict)
        return Denial(code, _DATABASE_TEXTS[code], 60 - now % 60 if code is DenialCode.TOO_MANY_REQUESTS else None)


def _unix_seconds() -> int:
    return int(time.time())


_ADMIT: Final = "select verdict, role, person, label from dealproof.admit_request(%b, %b, %b, %b, %b, %b)"

_DATABASE_TEXTS: Final = {
    # One sentence for an id that is not there and a secret that is not its own: nobody finds out which ids there are.
    DenialCode.KEY_UNKNOWN: "Authorization: there is no such key.",
    DenialCode.KEY_REVOKED: "Authorization: this key has been revoked.",
    DenialCode.NONCE_USED: "Dealproof-Nonce: was used before with this key; sign the request anew.",
    DenialCode.TOO_MANY_REQUESTS: "This key has sent all the requests it may send in this minute.",
}

HEADERS: Final = ("Authorization", "Dealproof-Timestamp", "Dealproof-Nonce", "Dealproof-Signature")

_AUTHORIZATION: Final = re.compile("(?i:Dealproof) (.*)")
_TIMESTAMP: Final = re.compile("[1-9][0-9]{0,11}")
_NONCE: Final = re.compile("[A-Za-z0-9_-]{16,64}")
_SIGNATURE: Final = re.compile("[0-9a-f]{64}")


def _signed(method: str, target: str, headers: Headers, body: bytes, now: int) -> tuple[ApiKey, str] | Denial:
    """The key that signed the request, which may still be anybody's, and its nonce."""
    values = [headers.get(name) for name in HEADERS]
    for name, value in zip(HEADERS, values, strict=True):
        if value is None:
            return Denial(DenialCode.SIGNATURE_MISSING, f"{name}: is missing; every request must be signed.")
    authorization, timestamp, nonce, signature = (value or "" for value in values)
    key = _presented_key(authorization)
    if key is None:
        text = "Authorization: must be Dealproof dpk_<16 hex digits>_<64 hex digits>."
        return Denial(DenialCode.KEY_MALFORMED, text)
    if not _TIMESTAMP.fullmatch(timestamp):
        return Denial(DenialCode.TIMESTAMP_MALFORMED, "Dealproof-Timestamp: must be whole Unix seconds.")
    if abs(now - int(timestamp)) > WINDOW_SECONDS:
        text = f"Dealproof-Timestamp: is more than {WINDOW_SECONDS} seconds from our clock."
        return Denial(DenialCode.TIMESTAMP_EXPIRED, text)
    if not _NONCE.fullmatch(nonce):
        return Denial(DenialCode.NONCE_MALFORMED, "Dealproof-Nonce: must be 16 to 64 characters of A-Z a-z 0-9 _ -.")
    expected = _signature(key, method, target, timestamp, nonce, body)
    # compare_digest takes no text beyond ASCII.
    if not _SIGNATURE.fullmatch(signature) or not hmac.compare_digest(expected, signature):
        text = "Dealproof-Signature: is not that of this method, path, query, timestamp, nonce and body."
        return Denial(DenialCode.SIGNATURE_WRONG, text)
    return key, nonce


def _presented_key(authorization: str) -> ApiKey | None:
    scheme = _AUTHORIZATION.fullmatch(authorization)
    try:
        return ApiKey.parse(scheme[1]) if scheme else None
    except ValueError:
        return None
