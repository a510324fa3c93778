"""The runbook's backup and restore, by the runbook's own commands (docs/runbooks/backup.md).

A small house with a log plays, is backed up while its server runs, plays on, and is copied cold.  Each backup is
restored onto a server that knew nothing of it.

Not here: how a log finds out that a journal was changed (tests/ops/log), what each check looks at (their own tests).
"""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import date, timedelta
from pathlib import Path
from random import Random

import psycopg
import pytest

from domain.day import day_of
from domain.log.checkpoint import Checkpoint, parse_note
from ops import clock
from ops.floor import Floor
from ops.journal import Journal
from ops.log.keys import make_keys
from ops.log.public import PublicLog
from ops.log.sequencer import Sequencer, Step, open_sequencer
from ops.log.store import LogDamaged, LogStore
from ops.postgres_server import EmbeddedPostgres
from ops.receipts import NewestCheckpoint, Receipts
from ops.settings import Settings
from ops.site import current_data_key, open_journal, read_journal
from projections.catalogue import PROJECTIONS
from tests.conftest import open_folder
from tests.http import free_port
from tests.ops.cli.running import REPOSITORY, Ran, dealproof
from tests.ops.floor.casino import GAMES, OPEN, RUSSIAN, Casino, box

RUNBOOK = (REPOSITORY / "docs/runbooks/backup.md").read_text()
ORIGIN = "casino.example/log"
REPORTS = [
    (name, form) for name in ("gaming-revenue", "ledger", "game-history") for form in ("text", "csv", "json")
]


def block(name: str) -> str:
    """The commands that stand in the runbook under this name."""
    found = re.search(rf"<!-- tested: {re.escape(name)} -->\n```\n(.*?)^```$", RUNBOOK, re.DOTALL | re.MULTILINE)
    assert found is not None, name
    return found[1]


def shell(name: str, **variables: object) -> subprocess.CompletedProcess[str]:
    """Run a block of the runbook."""
    return bash(block(name), **variables)


def bash(script: str, **variables: object) -> subprocess.CompletedProcess[str]:
    """Run commands with the programs of the server's package first, as the runbook has it."""
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    environment = {**os.environ, "PATH": path, **{name: str(value) for name, value in variables.items()}}
    return subprocess.run(
        ["bash", "-euo", "pipefail", "-c", block("tools") + script], env=environment, cwd="/",
        capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip


def done(ran: subprocess.CompletedProcess[str]) -> str:
    """What a block that went through said."""
    assert ran.returncode == 0, ran.stderr
    return ran.stdout + ran.stderr


@dataclass(frozen=True)
class Site:
    """A home and its database, under the login of the house and that of its server's superuser."""

    home: Path
    url: str
    admin_url: str

    @property
    def settings(self) -> Settings:
        return Settings(self.home, self.url, self.home / "keys" / "dealproof.key")

    def run(self, *arguments: str) -> Ran:
        return dealproof("--home", str(self.home), "--database-url", self.url, *arguments)

    def good(self, *arguments: str) -> str:
        ran = self.run(*arguments)
        assert ran.status == 0, (arguments, ran)
        return ran.stdout

    def catch_up(self) -> Step:
        """What the sequencer does at its start."""
        with read_journal(self.settings) as (_, journal), open_sequencer(self.settings, journal, "test") as sequencer:
            return sequencer.catch_up()

    def events(self) -> int:
        with psycopg.connect(self.admin_url) as connection:
            [(count,)] = connection.execute("select count(*) from dealproof.events").fetchall()
        return int(count)

    def log_files(self) -> dict[str, bytes]:
        """Tiles and checkpoint."""
        folder = self.home / "log"
        files = [path for path in folder.rglob("*") if path.is_file() and path.name != "lock"]
        return {str(path.relative_to(folder)): path.read_bytes() for path in files}


def url_of(server: EmbeddedPostgres, database: str) -> str:
    """The address of a database, as superuser."""
    return server.url.replace("/dealproof?", f"/{database}?")


def site(home: Path, server: EmbeddedPostgres, database: str = "dealproof") -> Site:
    admin_url = url_of(server, database)
    return Site(home, admin_url.replace("dealproof@", "house@"), admin_url)


@dataclass(frozen=True)
class Backup:
    """Folders as the runbook made them, and what the house said of itself at that moment."""

    folder: Path
    events: int
    checkpoint: dict[str, object]
    log_files: dict[str, bytes]
    days: tuple[str, str]
    reports: dict[tuple[str, str], str]
    open_round: str


def reports_of(house: Site, events: int, days: Sequence[str]) -> dict[tuple[str, str], str]:
    """Every report as it was when the journal had so many events."""
    frame = ["--from", days[0], "--to", days[1], "--as-of", str(events), "--generated-at", "2026-12-01T12:00:00.000Z"]
    return {(name, form): house.good("report", name, *frame, "--format", form) for name, form in REPORTS}


# -- the house that is backed up


@dataclass(frozen=True)
class Old:
    """The old machine, stopped; two backups of it; the receipt of a wager that only the second one has."""

    site: Site
    dump: Backup
    cold: Backup
    lost_receipt: str
    refused: subprocess.CompletedProcess[str]
    """The cold copy, tried while the server ran."""


@pytest.fixture(scope="module")
def machines() -> Iterator[Path]:
    """A folder for the homes and backups of all machines."""
    folder = open_folder("dealproof-backup-")
    yield folder
    shutil.rmtree(folder)


@pytest.fixture(scope="module")
def old(machines: Path) -> Old:
    home, backups = machines / "old", machines / "backups"
    backups.mkdir()
    with EmbeddedPostgres(home / "postgresql") as server:
        house = site(home, server)
        with playing(house) as (casino, sequencer):
            open_round = play_some(house, casino, sequencer)
            house.good("project", "run", "--once")
            done(shell("keys", DEALPROOF_HOME=home, KEYS=backups / "keys"))
            reader = house.url.replace("house@", "keeper@")
            done(shell("server", DEALPROOF_HOME=home, BACKUP=backups / "dump", READ_URL=reader))
            dump = backup_of(house, backups / "dump", open_round)
            lost = play_on(casino, sequencer)
        house.good("project", "run", "--once")
        cold = backup_of(house, backups / "cold", open_round)
        refused = shell("embedded", DEALPROOF_HOME=home, BACKUP=backups / "too-early")
    done(shell("embedded", DEALPROOF_HOME=home, BACKUP=backups / "cold"))
    return Old(house, dump, cold, lost, refused)


@contextmanager
def playing(house: Site) -> Iterator[tuple[Casino, Sequencer]]:
    """The casino of a house that gives receipts, with logins that are no superuser's."""
    owner = replace(house.settings, database_url=house.admin_url)
    key = make_keys(owner, ORIGIN).receipt
    with open_journal(owner) as (url, journal), psycopg.connect(url, autocommit=True) as connection:
        connection.execute("create role house login in role dealproof_app, dealproof_reader, dealproof_projector")
        connection.execute("create role keeper login in role pg_read_all_data")
        with open_sequencer(owner, journal, by="test") as sequencer:
            newest = NewestCheckpoint(PublicLog(LogStore(owner.log_folder), owner.trust_file))

            def covering() -> Checkpoint | None:
                sequencer.catch_up()
                return newest()

            casino, receipts = Casino(url, journal), Receipts(covering, key.verifier, key.sign)
            casino.floor = Floor(journal, current_data_key(url, owner), receipts=receipts)
            yield casino, sequencer


def play_some(house: Site, casino: Casino, sequencer: Sequencer) -> str:
    """A round of each game, and one that stays open with a stake in it, whose id this gives; the log has it all.

    The checkpoint is kept as one that a witness has signed would be.
    """
    casino.furnish()
    for seed, game in enumerate(GAMES):
        casino.played(game, Random(seed))
    still = casino.open(RUSSIAN)
    casino.place(still.stream, box(1, "clara", 200))
    sequencer.catch_up()
    store = LogStore(house.settings.log_folder)
    store.add_cosigned(parse_note(store.checkpoint() or b""))
    return still.round_id


def play_on(casino: Casino, sequencer: Sequencer) -> str:
    """One more round, and the receipt of its wager."""
    opened = casino.open(OPEN)
    placed = casino.place(opened.stream, box(1, "anna", 300))
    casino.played_out(casino.deal(opened.stream), Random(9))
    sequencer.catch_up()
    return placed.receipts[0].token


def backup_of(house: Site, folder: Path, open_round: str) -> Backup:
    """What the house says of itself, to be compared."""
    status = json.loads(house.good("log", "status", "--json"))
    day = day_of(clock.now())
    days = (str(date.fromisoformat(day) - timedelta(days=1)), day)  # the suite may run at midnight
    events = house.events()
    assert status["size"] == events
    reports = reports_of(house, events, days)
    return Backup(folder, events, status["checkpoint"], house.log_files(), days, reports, open_round)


# -- restored


@pytest.fixture(scope="module")
def server(machines: Path, old: Old) -> Iterator[EmbeddedPostgres]:
    """The server of the new machine.  It stands for any: its superuser is all that it has."""
    with EmbeddedPostgres(machines / "server") as server:
        with psycopg.connect(url_of(server, "postgres"), autocommit=True) as connection:
            connection.execute("drop database dealproof")
        yield server


@pytest.fixture(scope="module")
def restored(machines: Path, old: Old, server: EmbeddedPostgres) -> Site:
    """The house on the new machine, as the dump has it; tests that change anything take `damaged`."""
    home = machines / "restored"
    urls = {"ADMIN_URL": url_of(server, "postgres"), "RESTORE_URL": url_of(server, "dealproof")}
    keys = machines / "backups" / "keys"
    said = done(shell("restore-server", DEALPROOF_HOME=home, BACKUP=old.dump.folder, KEYS=keys, **urls))
    assert [line for line in said.splitlines() if "ERROR" in line and "already exists" not in line] == []
    return site(home, server)


@pytest.fixture
def damaged(restored: Site, server: EmbeddedPostgres, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """A copy of the restored house, to be spoilt."""
    home = tmp_path_factory.mktemp("damaged") / "home"
    shutil.copytree(restored.home, home)
    with psycopg.connect(url_of(server, "postgres"), autocommit=True) as connection:
        connection.execute("create database damaged template dealproof")
        yield site(home, server, "damaged")
        connection.execute("drop database damaged with (force)")


SAID = {
    "dealproof database migrate": "The database is at revision",
    "dealproof log status": ", 0 behind.",
    "dealproof verify --all": ", 0 with a discrepancy,",
    "dealproof verify --accounts": "sum                                          0.00",
    "dealproof project rebuild --all --compare": "; not one row differs",
    "dealproof reconcile": "Everything agrees up to event",
    "dealproof doctor --no-record": "revision       ok",
}


def test_a_restored_house_passes_every_check_of_the_runbook(old: Old, restored: Site) -> None:
    """Each command of the block, under the login of the house."""
    lines = block("check").splitlines()
    assert lines == list(SAID)
    for line in lines:
        assert SAID[line] in restored.good(*shlex.split(line)[1:]), line
    assert restored.events() == old.dump.events


def test_its_log_has_the_same_root_and_goes_on_from_there(old: Old, damaged: Site) -> None:
    """File by file; the sequencer, which reads it back at its start, finds nothing to do."""
    assert json.loads(damaged.good("log", "status", "--json"))["checkpoint"] == old.dump.checkpoint
    assert damaged.log_files() == old.dump.log_files
    assert damaged.catch_up() == Step(old.dump.events, 0, None, None)


def test_its_reports_are_the_same_to_the_last_byte(old: Old, restored: Site) -> None:
    """With the root of the log in their frames."""
    assert reports_of(restored, old.dump.events, old.dump.days) == old.dump.reports
    assert str(old.dump.checkpoint["root"]) in old.dump.reports["ledger", "text"]


def test_a_log_that_is_lost_comes_out_of_the_journal_byte_for_byte(old: Old, damaged: Site) -> None:
    """Tiles and checkpoint; not the notes with signatures of others."""
    shutil.rmtree(damaged.home / "log")
    assert damaged.catch_up().published == old.dump.events
    own = {path: data for path, data in old.dump.log_files.items() if not path.startswith("cosigned/")}
    assert damaged.log_files() == own


def test_a_backup_without_projections_gives_the_same_reports(
    old: Old, restored: Site, server: EmbeddedPostgres, tmp_path: Path
) -> None:
    """They are made again."""
    done(shell("without-projections", READ_URL=restored.admin_url, BACKUP=tmp_path))
    bare = site(restored.home, server, "bare")
    with psycopg.connect(url_of(server, "postgres"), autocommit=True) as connection:
        connection.execute("create database bare template template0")
    done(bash('pg_restore --exit-on-error --dbname="$URL" "$BACKUP/journal.dump"', URL=bare.admin_url, BACKUP=tmp_path))
    assert bare.run("project", "status").status == 1
    bare.good("project", "rebuild", "--all")
    assert bare.good("project", "status").count("caught up") == len(PROJECTIONS)
    assert reports_of(bare, old.dump.events, old.dump.days) == old.dump.reports


def test_the_log_is_copied_before_the_database_and_its_notes_before_its_tiles() -> None:
    """Or a backup of a house that plays would look like one that lost events."""
    order = ["log/cosigned", "log/checkpoint", "log/tile", "pg_dump --format"]
    places = [block("server").index(words) for words in order]
    assert places == sorted(places)


# -- the end is missing


@pytest.fixture
def behind(old: Old, damaged: Site) -> Site:
    """The dump beside the log that the old machine had at last."""
    shutil.rmtree(damaged.home / "log")
    shutil.copytree(old.site.home / "log", damaged.home / "log")
    return damaged


def test_a_journal_that_lost_its_end_is_noticed_against_the_log(old: Old, behind: Site) -> None:
    """By what reads the log; what is left of the journal is consistent, so nobody else can know."""
    events, size = old.dump.events, old.cold.events
    assert json.loads(behind.run("log", "status", "--json").stdout)["behind"] == events - size
    words = rf"journal: has no event at position {size}, where the log is, and ends at {events}; is this another"
    with pytest.raises(LogDamaged, match=words):
        behind.catch_up()
    day = behind.run("verify", "--day", old.cold.days[1])
    assert (day.status, f"position {events + 1}, event: recorded missing" in day.stdout) == (1, True)
    said = behind.run("log", "status")
    assert (said.status, f"the journal has lost the last {size - events} of them" in said.stdout) == (1, True)
    examined = behind.run("doctor", "--no-record")
    assert (examined.status, f": its last {size - events} are gone" in examined.stdout) == (1, True)
    served = behind.run("serve", "--port", str(free_port()))
    assert (served.status, served.stderr.count("\n")) == (2, 1) and "are gone: docs/runbooks/backup.md" in served.stderr
    for blind in ("verify --all", "verify --accounts", "reconcile"):
        behind.good(*blind.split())


def test_a_journal_that_lost_its_end_and_played_on_is_noticed(old: Old, behind: Site) -> None:
    """There is an event at each position, but not the one that the log has."""
    with Journal.open(behind.admin_url) as journal:
        casino = Casino(behind.admin_url, journal)
        while behind.events() <= old.cold.events:
            casino.deposit("anna", 100)
    with pytest.raises(LogDamaged, match=f"journal: the event at position {old.cold.events} is not the one that tile/"):
        behind.catch_up()


def test_a_receipt_shows_that_its_wager_was_lost(old: Old, restored: Site) -> None:
    """The signature is good, and the journal has nothing of it."""
    assert restored.run("receipt", "check", old.lost_receipt).status == 0
    assert restored.run("receipt", "check", old.lost_receipt, "--journal").status == 1


def test_a_house_that_lost_events_goes_on_under_a_new_name(
    old: Old, behind: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its open round is voided with the key file of the backup; the old keys end where the journal does."""
    behind.good("void", old.dump.open_round, "--reason", "played on after the backup")
    keys = [line.split()[1] for line in behind.good("log", "key").splitlines()[:2]]
    for name, value in {
        "NEW_NAME": "casino.example/log-2", "REASON": "events lost", "RESTORED_SIZE": str(old.dump.events),
        "OLD_LOG_KEY": keys[0], "OLD_RECEIPT_KEY": keys[1],
    }.items():  # fmt: skip
        monkeypatch.setenv(name, value)
    for line in block("new-log").splitlines():
        words = shlex.split(os.path.expandvars(line))
        if words[0] == "dealproof":
            behind.good(*words[1:])
        else:
            subprocess.run(["bash", "-euc", line], cwd=behind.home, check=True, env={"DEALPROOF_HOME": behind.home})
    assert behind.catch_up().published == behind.events()
    listed = behind.good("log", "keys", "list")
    assert [line.split()[0] for line in listed.splitlines()] == ["added"] * 4 + ["retired"] * 2
    assert behind.good("log", "status").startswith("Log casino.example/log-2: ")


# -- something was changed


def test_one_byte_of_a_restored_event_is_noticed(damaged: Site) -> None:
    """A millisecond of a time: by the replay of the round, and by the day against the log."""
    with psycopg.connect(damaged.admin_url, autocommit=True) as owner:
        owner.execute("alter table dealproof.events disable trigger user")
        [(position, stream, body)] = owner.execute(
            "select notification_id, originator_id, state from dealproof.events where topic = 'cards-dealt.v1' "
            "order by notification_id limit 1"
        ).fetchall()
        at = body.index(b'Z"') - 1
        flipped = body[:at] + bytes([body[at] ^ 1]) + body[at + 1 :]
        owner.execute("update dealproof.events set state = %s where notification_id = %s", (flipped, position))
    assert damaged.run("verify", "--all").status == 1
    assert damaged.run("verify", stream.removeprefix("round:")).status == 1
    day = damaged.run("verify", "--day", json.loads(body)["at"][:10])
    assert (day.status, f"position {position}, leaf" in day.stdout) == (1, True)


@pytest.mark.parametrize("name", ["log.tar", "roles.sql", "journal.dump"])
def test_one_byte_of_a_backup_is_noticed_before_anything_is_restored(old: Old, tmp_path: Path, name: str) -> None:
    """By its sum."""
    spoilt = tmp_path / "dump"
    shutil.copytree(old.dump.folder, spoilt)
    data = bytearray((spoilt / name).read_bytes())
    data[len(data) // 2] ^= 1
    (spoilt / name).write_bytes(data)
    ran = shell("restore-server", DEALPROOF_HOME=tmp_path / "home", BACKUP=spoilt)
    assert (ran.returncode, f"{name}: FAILED" in ran.stdout) == (1, True)
    assert not (tmp_path / "home").exists()


def test_nothing_is_restored_over_a_home_or_a_database(
    old: Old, machines: Path, restored: Site, tmp_path: Path
) -> None:
    """The first step that would refuses."""
    here = {"BACKUP": old.dump.folder, "KEYS": machines / "backups" / "keys"}
    ran = shell("restore-server", DEALPROOF_HOME=restored.home, **here)
    assert ran.returncode == 1 and "File exists" in ran.stderr
    admin_url = restored.admin_url.replace("/dealproof?", "/postgres?")
    ran = shell("restore-server", DEALPROOF_HOME=tmp_path / "home", **here, ADMIN_URL=admin_url)
    assert ran.returncode == 1 and 'database "dealproof" already exists' in ran.stderr


# -- the cold copy


@pytest.fixture(scope="module")
def thawed(machines: Path, old: Old) -> Iterator[Site]:
    """The embedded server and its home, copied while it stood still."""
    home = machines / "thawed"
    keys = machines / "backups" / "keys"
    done(shell("restore-embedded", DEALPROOF_HOME=home, BACKUP=old.cold.folder, KEYS=keys))
    with EmbeddedPostgres(home / "postgresql") as server:
        yield site(home, server)


def test_a_running_server_is_not_copied(old: Old) -> None:
    """The lock says no."""
    assert (old.refused.returncode, old.refused.stderr) == (1, "")


def test_a_cold_copy_is_the_same_house(old: Old, thawed: Site) -> None:
    """Root, tiles, reports, and what the checks say."""
    assert json.loads(thawed.good("log", "status", "--json"))["checkpoint"] == old.cold.checkpoint
    assert reports_of(thawed, old.cold.events, old.cold.days) == old.cold.reports
    thawed.good("verify", "--all")
    rebuilt = thawed.good("project", "rebuild", "--all", "--compare").splitlines()
    assert [line for line in rebuilt if not line.endswith("; not one row differs")] == []
    assert thawed.log_files() == old.cold.log_files


def test_a_log_behind_the_journal_catches_up_to_the_same_root(old: Old, thawed: Site, tmp_path: Path) -> None:
    """The order of the backup: the log first, the database after it."""
    home = tmp_path / "home"
    shutil.copytree(thawed.home, home, ignore=shutil.ignore_patterns("postgresql", "log"))
    subprocess.run(["tar", "-C", home, "-xpf", old.dump.folder / "log.tar"], check=True)
    early = replace(thawed, home=home)
    missing = old.cold.events - old.dump.events
    assert f"log: {old.dump.events:,}, {missing} behind." in early.good("log", "status")
    assert early.catch_up().published == old.cold.events
    assert json.loads(early.good("log", "status", "--json"))["checkpoint"] == old.cold.checkpoint


# -- to the last second


def test_an_archive_of_wal_loses_nothing(machines: Path) -> None:
    """A base backup, and what was written after it, up to the last event; the log says that nothing is missing."""
    home, again, wal = machines / "archived", machines / "recovered", machines / "wal"
    wal.mkdir()
    with EmbeddedPostgres(home / "postgresql") as server:
        give_as(server, wal)
        with psycopg.connect(server.url, autocommit=True) as connection:
            connection.execute("alter system set archive_mode = on")
            connection.execute(f"alter system set archive_command = 'test ! -f {wal}/%f && cp %p {wal}/%f'".encode())
    with EmbeddedPostgres(home / "postgresql") as server:
        house = site(home, server)
        with playing(house) as (casino, sequencer):
            play_some(house, casino, sequencer)
            base = again / "postgresql" / "cluster"
            base.parent.mkdir(parents=True)
            done(shell("base", ADMIN_URL=url_of(server, "postgres"), BASE=base))
            play_on(casino, sequencer)
        events, status = house.events(), house.good("log", "status")
    done(shell("recover", BASE=base, WAL=wal))
    for path in (base, *base.rglob("*")):
        give_as(server, path)
    for name in ("keys", "log"):
        shutil.copytree(home / name, again / name)
    shutil.copy(home / "trust.json", again)
    with EmbeddedPostgres(again / "postgresql") as server:
        recovered = site(again, server)
        wait_for_the_end_of_recovery(server)
        assert (recovered.events(), recovered.good("log", "status")) == (events, status)
        assert recovered.catch_up() == Step(events, 0, None, None)
        recovered.good("verify", "--all")


def give_as(server: EmbeddedPostgres, path: Path) -> None:
    """To the user that the server runs as, where root runs the tests."""
    owner = server.cluster.stat()
    os.chown(path, owner.st_uid, owner.st_gid)


def wait_for_the_end_of_recovery(server: EmbeddedPostgres) -> None:
    with psycopg.connect(server.url, autocommit=True) as connection:
        until = time.monotonic() + 60
        while connection.execute("select pg_is_in_recovery()").fetchone() != (False,):
            assert time.monotonic() < until
            time.sleep(0.1)
