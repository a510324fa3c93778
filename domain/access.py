"""Who may come in and who has looked: API keys, the six roles, and every look at what is still hidden.

Streams: `key:<key id>` has a key's creation and revocation, `access:<…>` the looks at a round, who ended it from
outside, and the rotations of the data key.
A key's last event holds all there is to know of it, so that one read lets a caller in or turns him away.

Not here: secrets (only a hash of one is stored), signatures and who was turned away (`ops.api_keys`), which role may do
what (the API's table of routes).
"""

from __future__ import annotations

import unicodedata
from enum import StrEnum
from typing import ClassVar, Final

from domain.codec import Codec, Event
from domain.record import is_record_text


class Role(StrEnum):
    """What a key is for.  A key has one role; a person with two tasks has two keys."""

    GAME_SERVER = "game-server"
    CASHIER = "cashier"
    BACK_OFFICE = "back-office"
    DISPUTE_OFFICER = "dispute-officer"
    REGULATOR = "regulator"
    KEY_CUSTODIAN = "key-custodian"


class Hidden(StrEnum):
    """What is hidden while a round is open and was looked at all the same."""

    SEED = "seed"
    DECK = "deck"
    RECORD = "record"


class KeyCreated(Event, frozen=True, gc=False):
    """A person was given an API key.  `secret_sha256` is 64 hex digits; `label` may be empty."""

    NAME: ClassVar[str] = "key-created.v1"

    by: str
    label: str
    person: str
    role: Role
    secret_sha256: str


class KeyRevoked(Event, frozen=True, gc=False):
    """The key opens nothing from now on, for ever; all but `by` and `reason` stands as it was created."""

    NAME: ClassVar[str] = "key-revoked.v1"

    by: str
    label: str
    person: str
    reason: str
    role: Role
    secret_sha256: str


    @classmethod
    def of(cls, key: KeyCreated | KeyRevoked, *, by: str, reason: str) -> KeyRevoked:
        """The end of a key."""
        return cls(
            by=by, label=key.label, person=key.person, reason=reason, role=key.role, secret_sha256=key.secret_sha256
        )


class DataKeyRotated(Event, frozen=True, gc=False):
    """Rounds opened from now on are sealed under another data key; `data_key` is its id, 16 hex digits."""

    NAME: ClassVar[str] = "data-key-rotated.v1"

    by: str
    data_key: str
    reason: str


class HiddenRead(Event, frozen=True, gc=False):
    """Somebody looked at what the round still hid: with which key, in which role, and why."""

    NAME: ClassVar[str] = "hidden-information-read.v1"

    by: str
    key: str
    reason: str
    role: Role
    round: str
    what: Hidden


class Intervention(StrEnum):
    """How somebody ended a round from outside of the game."""

    VOID = "void"
    FINISH = "finish"


class RoundIntervened(Event, frozen=True, gc=False):
    """Somebody voided a round, or had it finished by its table's policy; stored in the append that ends the round."""

    NAME: ClassVar[str] = "round-intervened.v1"

    action: Intervention
    by: str
    reason: str
    round: str


KeyEvent = KeyCreated | KeyRevoked
AccessEvent = HiddenRead | DataKeyRotated | RoundIntervened

KEY_CODEC: Final[Codec[KeyEvent]] = Codec((KeyCreated, KeyRevoked))
ACCESS_CODEC: Final[Codec[AccessEvent]] = Codec((HiddenRead, DataKeyRotated, RoundIntervened))

KEY_STREAMS: Final = ("key:", "key;")
"""All streams of keys lie between these two: ';' follows ':' in the order of bytes."""

DATA_KEYS: Final = "access:data-keys"
"""The stream of rotations."""


LONGEST_PERSON: Final = 100
"""Characters of a person's name."""


def is_person(text: str) -> bool:
    """Whether a text names a person so that nobody else's name looks the same in a list.

    Text of a record, without control or formatting characters, without spaces at its ends or two in a row.
    """
    if not is_record_text(text) or len(text) > LONGEST_PERSON or text != " ".join(text.split()):
        return False
    return not any(unicodedata.category(character) in ("Cc", "Cf", "Cs", "Co") for character in text)


def same_person(one: str, other: str) -> bool:
    """Whether two names are one person's: capitals, look-alike forms and spaces make no difference."""
    return _plain_name(one) == _plain_name(other)


def _plain_name(text: str) -> str:
    return "".join(unicodedata.normalize("NFKC", text).casefold().split())


def access_stream(round_id: str) -> str:
    """The stream of looks at a round and of hands laid on it; `round_id` in hex."""
    return f"access:{round_id}"


def key_stream(key_id: str) -> str:
    """The stream of an API key."""
    return f"key:{key_id}"
