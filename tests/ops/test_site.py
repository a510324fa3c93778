"""An installation: the database made ready once, the key made once and never in the place of a lost one.

Not here: the key file itself (`tests.deal.test_key_file`), the server (`test_postgres_server`).
"""

from __future__ import annotations

import shutil
import stat
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import psycopg
import pytest

from domain.rulesets import released_rulesets
from ops.database import DatabaseUnavailable
from ops.house import House
from ops.journal import Journal
from ops.keys import DataKey, FileKeyStore, KeyFileError, SealError, WrappedKeyError, new_data_key
from ops.postgres_server import status
from ops.rulesets import known_rulesets
from ops.settings import Settings
from ops.site import current_data_key, data_key, open_journal, read_journal
from replay.evidence import by_digest
from tests.conftest import open_folder
from tests.ops.test_house import BY_DIGEST, OPEN, everything, made, opened, place

RULESETS = released_rulesets()


@pytest.fixture
def settings(migrated_database_url: str, tmp_path: Path) -> Settings:
    return Settings(tmp_path / "home", migrated_database_url, tmp_path / "home/keys/dealproof.key")


@pytest.fixture
def url(migrated_database_url: str) -> str:
    return migrated_database_url


# -- the journal


def test_a_journal_to_play_in_is_made_ready_from_an_empty_database(database_url: str, tmp_path: Path) -> None:
    settings = Settings(tmp_path, database_url, tmp_path / "key")
    for _ in range(2):
        with open_journal(settings) as (used, journal):
            assert used == database_url
            assert [stream for stream, _ in journal.published_rulesets()] == [f"ruleset:{name}" for name in RULESETS]
            assert journal.head_position() == len(RULESETS)
            assert by_digest(known_rulesets(journal)) == BY_DIGEST


def test_two_who_begin_at_once_publish_each_ruleset_once(settings: Settings) -> None:
    def begin(_: int) -> int:
        with open_journal(settings) as (_url, journal):
            return journal.head_position()

    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(begin, range(4))) == [len(RULESETS)] * 4


def test_a_given_database_is_never_migrated_by_a_reader(database_url: str, tmp_path: Path) -> None:
    with (
        pytest.raises(DatabaseUnavailable, match="migrate it first"),
        read_journal(Settings(tmp_path, database_url, tmp_path / "key")),
    ):
        pass
    with psycopg.connect(database_url) as connection:
        assert connection.execute("select from pg_namespace where nspname = 'dealproof'").fetchall() == []


def test_a_reader_writes_nothing(settings: Settings) -> None:
    with read_journal(settings) as (_, journal):
        assert journal.head_position() == 0
    assert not settings.home.exists()


@pytest.fixture
def embedded_home() -> Iterator[Path]:
    """A home with a space in its name, for a server of its own."""
    folder = open_folder("dealproof site-")
    yield folder / "my home"
    shutil.rmtree(folder)


def test_without_a_url_the_embedded_server_runs_while_it_is_used(embedded_home: Path) -> None:
    """Read first, then played: an empty home is a journal without rounds."""
    settings = Settings(embedded_home, None, embedded_home / "keys/dealproof.key")

    with read_journal(settings) as (_, journal):
        assert journal.count_rounds() == 0
        assert status(settings.server_folder).in_use
    with open_journal(settings) as (url, journal):
        opened(House(journal, current_data_key(url, settings)), RULESETS[OPEN])
    with read_journal(settings) as (_, journal):
        assert journal.count_rounds() == 1

    assert not status(settings.server_folder).in_use


def test_the_servers_user_goes_when_a_command_fails(embedded_home: Path) -> None:
    settings = Settings(embedded_home, None, embedded_home / "key")

    with pytest.raises(ZeroDivisionError), read_journal(settings):
        raise ZeroDivisionError

    assert status(settings.server_folder).pid is None


# -- keys


def keys_in(url: str) -> list[tuple[str, bytes]]:
    with psycopg.connect(url) as connection:
        return connection.execute("select key_id, wrapped from dealproof.data_key order by 1").fetchall()


def test_the_first_use_makes_a_key_that_the_next_ones_find(url: str, settings: Settings) -> None:
    first = current_data_key(url, settings)
    kept = settings.key_file.read_bytes()

    assert current_data_key(url, settings) == data_key(url, settings, first.id) == first
    assert [key_id for key_id, _ in keys_in(url)] == [first.id]
    assert settings.key_file.read_bytes() == kept


def test_the_key_file_is_for_its_owner_alone(url: str, settings: Settings) -> None:
    current_data_key(url, settings)

    assert stat.S_IMODE(settings.key_file.stat().st_mode) == 0o600
    assert stat.S_IMODE(settings.key_file.parent.stat().st_mode) == 0o700
    assert [path.name for path in settings.key_file.parent.iterdir()] == ["dealproof.key"]


def test_the_database_has_no_key_in_clear(url: str, settings: Settings) -> None:
    key = current_data_key(url, settings)

    for _, wrapped in keys_in(url):
        for secret in (key.secret, settings.key_file.read_bytes()):
            assert secret not in wrapped
            assert secret.hex() not in wrapped.decode().lower()


def test_those_who_begin_at_once_can_all_open_what_the_others_seal(url: str, settings: Settings) -> None:
    with ThreadPoolExecutor(4) as pool:
        keys = list(pool.map(lambda _: current_data_key(url, settings), range(4)))

    for key in keys:
        assert data_key(url, settings, key.id) == key
    assert len(list(settings.key_file.parent.iterdir())) == 1


def test_a_key_file_that_a_crash_left_alone_is_used(url: str, settings: Settings) -> None:
    """The file was made, the data key not stored yet."""
    key_file = settings.key_file
    key_file.parent.mkdir(parents=True)
    key_file.write_bytes(bytes(range(32)))
    key_file.chmod(0o600)

    key = current_data_key(url, settings)

    assert key_file.read_bytes() == bytes(range(32))
    assert data_key(url, settings, key.id) == key


def test_a_lost_key_file_is_not_made_anew(url: str, settings: Settings) -> None:
    key = current_data_key(url, settings)
    settings.key_file.unlink()

    with pytest.raises(KeyFileError, match="is missing, but seeds are sealed under it"):
        current_data_key(url, settings)
    with pytest.raises(KeyFileError, match="is missing, but seeds are sealed under it"):
        data_key(url, settings, key.id)
    assert not settings.key_file.exists()
    assert len(keys_in(url)) == 1


def test_another_key_file_is_refused_by_name(url: str, settings: Settings, tmp_path: Path) -> None:
    key = current_data_key(url, settings)
    other = replace(settings, key_file=tmp_path / "other.key")
    other.key_file.write_bytes(b"k" * 32)
    other.key_file.chmod(0o600)

    reason = f"data key {key.id}: doesn't open with key file {other.key_file}: "
    with pytest.raises(WrappedKeyError, match=reason):
        current_data_key(url, other)
    with pytest.raises(WrappedKeyError, match=reason):
        data_key(url, other, key.id)


def test_a_key_that_is_not_in_the_database_is_named(url: str, settings: Settings) -> None:
    current_data_key(url, settings)

    with pytest.raises(KeyFileError, match="data key 00ff00ff00ff00ff: not in this database"):
        data_key(url, settings, "00ff00ff00ff00ff")


def test_a_garbled_data_key_is_refused(url: str, settings: Settings) -> None:
    key = current_data_key(url, settings)
    with psycopg.connect(url, autocommit=True) as owner:
        owner.execute("alter table dealproof.data_key disable trigger user")
        for garbled in (b"dp1-key", b"\xff\xfe", b""):
            owner.execute("update dealproof.data_key set wrapped = %s", (garbled,))
            with pytest.raises(SealError):
                data_key(url, settings, key.id)


def test_after_a_new_data_key_older_rounds_still_open(url: str, settings: Settings) -> None:
    old = current_data_key(url, settings)
    with Journal.open(url) as journal:
        live = opened(House(journal, old), RULESETS[OPEN])
        made(House(journal, old), live, place(1))
        # A newer key, as a rotation adds one.
        with psycopg.connect(url, autocommit=True) as owner:
            owner.execute("alter table dealproof.data_key disable trigger user")
            owner.execute("update dealproof.data_key set created_at = now() - interval '1 day'")
        newer = _rotated(url, settings)
        house = House(journal, newer, lambda key_id: data_key(url, settings, key_id))

        taken_up = house.load(live.stream, BY_DIGEST)

        assert newer.id != old.id
        assert everything(taken_up) == everything(live)


def _rotated(url: str, settings: Settings) -> DataKey:
    key = new_data_key()
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(
            "insert into dealproof.data_key (key_id, wrapped) values (%s, %s)",
            (key.id, FileKeyStore(settings.key_file).wrap_data_key(key).to_text().encode()),
        )
    assert current_data_key(url, settings) == key
    return key
