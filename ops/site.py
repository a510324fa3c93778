"""One installation at work: database, journal, keys and rulesets, opened for a command and closed after it.

Not here: where they are (`ops.settings`), what is done with them (`ops.house`, `ops.bulk_verify`).
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache

from domain.access import ACCESS_CODEC, DATA_KEYS, DataKeyRotated
from domain.rulesets import released_rulesets
from ops import database
from ops.commands import Command, carry_out_one
from ops.floor import Floor
from ops.journal import Journal
from ops.keys import DataKey, FileKeyStore, KeyFileError, WrappedDataKey, make_key_folder, new_data_key
from ops.postgres_server import EmbeddedPostgres
from ops.receipts import Receipts
from ops.rulesets import publish
from ops.settings import Settings


@contextmanager
def open_database(settings: Settings) -> Iterator[str]:
    """The URL of a running database: the given one, or the embedded server's while it is in use."""
    if settings.database_url is not None:
        yield settings.database_url
        return
    with EmbeddedPostgres(settings.server_folder) as server:
        yield server.url


@contextmanager
def open_journal(settings: Settings) -> Iterator[tuple[str, Journal]]:
    """URL and journal for a command that plays: the database is migrated, every released ruleset published in it."""
    with open_database(settings) as url:
        database.migrate(url)
        with Journal.open(url) as journal:
            for ruleset in released_rulesets().values():
                publish(journal, ruleset)
            yield url, journal


@contextmanager
def read_journal(settings: Settings) -> Iterator[tuple[str, Journal]]:
    """URL and journal for a command that only reads: an empty embedded database is made ready, a given one never."""
    with open_database(settings) as url:
        if settings.database_url is None:
            database.migrate(url)
        with Journal.open(url) as journal:
            yield url, journal


@contextmanager
def open_floor(settings: Settings, *, make_ready: bool = True) -> Iterator[tuple[str, Floor]]:
    """URL and casino floor, for a command that plays or ends rounds.

    `make_ready` as `open_journal` does; without it a given database must be ready.
    """
    with (open_journal if make_ready else read_journal)(settings) as (url, journal):
        yield url, floor_at(url, journal, settings)


def floor_at(url: str, journal: Journal, settings: Settings, receipts: Receipts | None = None) -> Floor:
    """The casino floor over an open journal, with the keys of this installation; `receipts` where its log is kept.

    A data key never changes, and every round that ends asks for its own, so they are remembered.  Which one is the
    newest is asked twice a minute: that soon after a rotation, rounds are sealed with the new key.
    """
    data_keys = lru_cache(maxsize=64)(lambda key_id: data_key(url, settings, key_id))
    newest_of = lru_cache(maxsize=1)(lambda half_minute: current_data_key(url, settings))
    newest_of(_half_minute())  # a key file that is lost or in the wrong hands is told at the start
    return Floor(journal, lambda: newest_of(_half_minute()), data_keys, receipts)


def _half_minute() -> int:
    return int(time.monotonic() // 30)


def current_data_key(url: str, settings: Settings) -> DataKey:
    """The newest data key, made on first use.  Raises KeyFileError, WrappedKeyError, DatabaseUnavailable."""
    with database.connect(url) as connection:
        row = connection.execute(_NEWEST_KEY).fetchone()
        if row is None:
            make_key_folder(settings.key_file)
            key, store = new_data_key(), FileKeyStore(settings.key_file)
            # A crash right after this leaves a key that nothing is sealed with yet; the next start uses it.
            connection.execute(_ADD_KEY, (key.id, store.wrap_data_key(key).to_text().encode()))
            return current_data_key(url, settings)
    return _unwrapped(settings, row[0])


def add_data_key(url: str, settings: Settings) -> DataKey:
    """A new data key, the newest one from now on.  Raises as `current_data_key` does."""
    current_data_key(url, settings)  # the right key file, or the new key would be wrapped under a wrong one
    key = new_data_key()
    wrapped = FileKeyStore(settings.key_file).wrap_data_key(key).to_text().encode()
    with database.connect(url) as connection:
        connection.execute(_ADD_NEWEST_KEY, (key.id, wrapped))
    return key


def rotate_data_key(url: str, settings: Settings, journal: Journal, *, by: str, reason: str) -> str:
    """Add a data key for rounds opened from now on and return its id.

    An open round stays sealed under the key that it was opened with; nothing is opened or sealed anew.  A program that
    is at work takes the new key when it next asks for the current one.  Raises as `current_data_key` does.
    """
    # A crash right after this leaves a new key in use whose reason is not recorded; rotate again.
    key = add_data_key(url, settings)
    event = DataKeyRotated(by=by, data_key=key.id, reason=reason)
    command = Command(f"rotate {key.id}", key.id.encode(), by)
    carry_out_one(journal, command, ACCESS_CODEC, DATA_KEYS, lambda _: event)
    return key.id


def data_key(url: str, settings: Settings, key_id: str) -> DataKey:
    """The data key that a seed was sealed with."""
    with database.connect(url) as connection:
        row = connection.execute(_ONE_KEY, (key_id,)).fetchone()
    if row is None:
        raise KeyFileError(f"data key {key_id}: not in this database; was the round sealed somewhere else?")
    return _unwrapped(settings, row[0])


def _unwrapped(settings: Settings, wrapped: bytes) -> DataKey:
    # Bytes that are no text are no wrapped key either; from_text says so.
    return _key_store(settings).unwrap_data_key(WrappedDataKey.from_text(bytes(wrapped).decode("ascii", "replace")))


def _key_store(settings: Settings) -> FileKeyStore:
    """The key file that must be there already: making a new one now would lock every sealed seed away."""
    if not settings.key_file.exists():
        raise KeyFileError(
            f"key file {settings.key_file}: is missing, but seeds are sealed under it; restore it from its backup "
            "or name it with --key-file"
        )
    return FileKeyStore(settings.key_file)


_NEWEST_KEY = "select wrapped from dealproof.data_key order by created_at desc, key_id limit 1"
_ONE_KEY = "select wrapped from dealproof.data_key where key_id = %s"
_ADD_KEY = "insert into dealproof.data_key (key_id, wrapped, created_at) values (%s, %s, now())"
# The newest, whatever the server's clock has done since the last one.
_ADD_NEWEST_KEY = """
insert into dealproof.data_key (key_id, wrapped, created_at)
select %s, %s, greatest(now(), max(created_at) + interval '1 microsecond') from dealproof.data_key
"""
