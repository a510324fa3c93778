"""`dealproof verify --day` and `dealproof days`: what they print, whom they believe, and their exit status.

Not here: what is found (`tests.ops.test_day_proof`, `tests.replay.test_day`, `tests.ops.log.test_audit`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import msgspec
import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from domain.day import DAYS, DayClosed, day_after
from domain.log.checkpoint import COSIGNATURE, LOG, Note, VerifierKey, cosignature, signed_by_log
from domain.log.tiles import Tile
from domain.log.trust import PinnedKey, Trust
from ops.cli import main
from ops.day_close import closings
from ops.journal import Journal, Stored
from ops.log.audit import events_between
from ops.log.store import LogStore
from tests.conftest import _database as new_database
from tests.ops.cli.running import Ran, dealproof
from tests.ops.logged import ORIGIN, tiles_of
from tests.ops.played import Owner, close_ranks
from tests.ops.played_days import play_days
from tests.ops.test_day_close import closed_by

WITNESS = "witness.example/one"
SEEN = 1_796_300_000
"""Unix seconds: 2026-12-03T12:13:20Z"""


@pytest.fixture(scope="module")
def played_template(server_url: str, migrated_template: str) -> Iterator[str]:
    """A database with rounds of some days, of which all but the last are closed, to be copied."""
    with new_database(server_url, migrated_template) as url:
        with Journal.open(url) as journal:
            play_days(journal, 16)
            head = journal.head_position()
            [newest] = events_between(journal, head, head)
            closed_by(journal, newest.record.body[7:31].decode())
        yield urlsplit(url).path.removeprefix("/")


@pytest.fixture(autouse=True)
def registered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(main._COMMANDS, "days", "ops.cli.days:days")


@pytest.fixture
def options(url: str, tmp_path: Path) -> tuple[str, ...]:
    return "--home", str(tmp_path), "--database-url", url


@pytest.fixture
def keys() -> dict[str, Ed25519PrivateKey]:
    return {name: Ed25519PrivateKey.generate() for name in (ORIGIN, WITNESS, "stranger.example")}


def verifier(name: str, key: Ed25519PrivateKey, kind: int) -> VerifierKey:
    return VerifierKey(name, kind, key.public_key().public_bytes_raw())


class Site:
    """The log's folder and the trust file of one home, without a sequencer."""

    def __init__(self, home: Path, journal: Journal, keys: dict[str, Ed25519PrivateKey]) -> None:
        self.journal = journal
        self.keys = keys
        self.store = LogStore(home / "log")
        self.trust_file = home / "trust.json"
        self.trust(witnesses_needed=0)

    def trust(self, witnesses_needed: int, origin: str = ORIGIN) -> None:
        log = PinnedKey(verifier(origin, self.keys[ORIGIN], LOG))
        witness = PinnedKey(verifier(WITNESS, self.keys[WITNESS], COSIGNATURE))
        self.trust_file.write_bytes(Trust(origin, (log,), (witness,), (), witnesses_needed).to_json())

    def publish(self, size: int | None = None, signer: str = ORIGIN, *, cosigned: bool = False) -> None:
        """Tiles and a checkpoint of the first events of the journal."""
        tiles = tiles_of(self.journal, size)
        for path, hashes in tiles.files.items():
            self.store.write_tile(Tile.parse(path), hashes)
        self.store.sync()
        key = self.keys[signer]
        note = signed_by_log(tiles.checkpoint, verifier(ORIGIN, key, LOG), key.sign)
        if cosigned:
            witness = self.keys[WITNESS]
            line = cosignature(note.body, SEEN, verifier(WITNESS, witness, COSIGNATURE), witness.sign)
            self.store.add_cosigned(Note(note.body, (*note.signatures, line)))
        self.store.publish(note.to_bytes())


@pytest.fixture
def site(tmp_path: Path, journal: Journal, keys: dict[str, Ed25519PrivateKey]) -> Site:
    return Site(tmp_path, journal, keys)


@pytest.fixture
def days(journal: Journal) -> list[str]:
    """The closed days, oldest first."""
    return [closed.day for _, closed in closings(journal)][::-1]


@pytest.fixture
def busy(journal: Journal) -> tuple[Stored, DayClosed]:
    """A day, not the first, with many rounds, and its closing."""
    found = [(stored, closed) for stored, closed in closings(journal) if closed.events.first > 1]
    return max(found, key=lambda each: sum(row.closed for row in each[1].tables))


def lines(ran: Ran) -> list[dict[str, Any]]:
    return [msgspec.json.decode(line, type=dict[str, Any]) for line in ran.stdout.splitlines()]


# -- a day


def test_a_true_day_is_printed_with_all_that_it_had(
    options: tuple[str, ...], site: Site, journal: Journal, busy: tuple[Stored, DayClosed]
) -> None:
    site.publish()
    stored, closed = busy

    ran = dealproof(*options, "verify", "--day", closed.day)

    assert (ran.status, ran.stderr) == (0, "")
    text = ran.stdout
    assert text.splitlines()[0] == f"Day {closed.day}: verified"
    assert f"{journal.head_position():,} events of {ORIGIN}, cosigned by nobody" in text
    assert f"closed      by event {stored.position:,}, which is in the log" in text
    assert f"{closed.events.count:,} at positions {closed.events.first:,} to {closed.events.last:,} (" in text
    for row in closed.tables:
        numbers = "none" if row.first_number is None else f"{row.first_number} to {row.last_number}"
        [line] = [line for line in text.splitlines() if line.startswith(row.table)]
        assert line.split()[1:3] == ["EUR", numbers.split()[0]]
    for each in closed.pending:
        [line] = [line for line in text.splitlines() if each.round in line]
        assert f"{each.table}/{each.number}" in line
        assert "open for" in line
    assert "0 with a discrepancy" in text


def test_a_day_as_json_is_its_rounds_and_then_the_day(
    options: tuple[str, ...], site: Site, journal: Journal, busy: tuple[Stored, DayClosed]
) -> None:
    site.publish()
    stored, closed = busy

    ran = dealproof(*options, "verify", "--day", closed.day, "--json")

    assert ran.status == 0
    *rounds, day = lines(ran)
    assert {each["verdict"] for each in rounds} <= {"verified", "not-checkable"}
    assert list(day) == [
        "day", "table", "verdict", "closed", "closing", "closing_logged", "checkpoint", "checked", "events", "rounds",
        "tables", "cash", "aborted", "pending", "found", "discrepancies",
    ]  # fmt: skip
    assert (day["day"], day["verdict"], day["closing"]) == (closed.day, "verified", stored.position)
    assert (day["closed"], day["closing_logged"]) == (True, True)
    assert day["tables"] == msgspec.to_builtins(closed.tables)
    assert day["checkpoint"]["size"] == journal.head_position()
    assert sum(day["rounds"].values()) == len(rounds) > 0
    assert (day["found"], day["discrepancies"]) == (0, [])
    assert [each["round"] for each in day["pending"]] == [each.round for each in closed.pending]
    assert all(each["age_seconds"] > 0 for each in day["pending"])


def test_several_workers_say_the_same(
    options: tuple[str, ...], site: Site, busy: tuple[Stored, DayClosed]
) -> None:
    site.publish()
    command = (*options, "verify", "--day", busy[1].day, "--json")

    one, two = dealproof(*command), dealproof(*command, "--workers", "2")

    assert one.status == 0
    assert lines(two)[-1] == lines(one)[-1]
    assert sorted(two.stdout.splitlines()) == sorted(one.stdout.splitlines())


def test_one_table_is_shown_alone_but_the_whole_day_is_audited(
    options: tuple[str, ...], site: Site, owner: Owner, busy: tuple[Stored, DayClosed]
) -> None:
    """Who takes a round away takes it from some table; from which, the events that are left no longer say."""
    site.publish()
    _, closed = busy
    row = next(row for row in closed.tables if row.closed)
    other = next(other for other in closed.tables if other.table != row.table and other.opened)
    command = (*options, "verify", "--day", closed.day, "--table", row.table)

    *rounds, day = lines(dealproof(*command, "--json"))
    assert [each["table"] for each in day["tables"]] == [row.table]
    assert 0 < len(rounds) < sum(max(each.opened, each.closed) for each in closed.tables)

    owner.execute(
        "delete from dealproof.events where notification_id between %s and %s and topic = 'round-opened.v1'"
        " and position(convert_to('\"table\":\"' || %s || '\"', 'UTF8') in state) > 0",
        (closed.events.first, closed.events.last, other.table),
    )
    ran = dealproof(*command)

    assert ran.status == 1
    assert "event: recorded missing" in ran.stdout


def test_a_day_that_goes_on_is_verified_up_to_the_checkpoint(
    options: tuple[str, ...], site: Site, days: list[str], journal: Journal
) -> None:
    site.publish()

    text = dealproof(*options, "verify", "--day", day_after(days[-1]))
    json = dealproof(*options, "verify", "--day", day_after(days[-1]), "--json")

    assert (text.status, json.status) == (0, 0)
    assert f"not closed yet: verified up to event {journal.head_position():,}, where the checkpoint ends" in text.stdout
    assert (lines(json)[-1]["closed"], lines(json)[-1]["closing"]) == (False, None)


def test_a_discrepancy_is_status_1_with_where_it_is(
    options: tuple[str, ...], site: Site, owner: Owner, busy: tuple[Stored, DayClosed]
) -> None:
    site.publish()
    _, closed = busy
    owner.execute("delete from dealproof.events where notification_id = %s", (closed.events.first + 2,))

    text = dealproof(*options, "verify", "--day", closed.day)
    json = dealproof(*options, "verify", "--day", closed.day, "--json")

    assert (text.status, json.status) == (1, 1)
    assert text.stdout.splitlines()[0] == f"Day {closed.day}: discrepancy"
    assert f"finding     dealproof.events position {closed.events.first + 2}, event: recorded missing" in text.stdout
    day = lines(json)[-1]
    assert day["verdict"] == "discrepancy"
    assert day["found"] == len(day["discrepancies"]) > 0


def test_a_round_that_is_wrong_makes_the_day_wrong(
    options: tuple[str, ...], site: Site, days: list[str], owner: Owner, journal: Journal,
    busy: tuple[Stored, DayClosed],
) -> None:  # fmt: skip
    """The house logs what it likes, and counts it as it likes: the cards must still pay what they pay."""
    _, closed = busy
    owner.execute(
        "update dealproof.events set state = convert_to(regexp_replace(convert_from(state, 'UTF8'),"
        " '\"server_seed\":\"[0-9a-f]', '\"server_seed\":\"0'), 'UTF8')"
        " where topic = 'seed-revealed.v1' and notification_id between %s and %s",
        (closed.events.first, closed.events.last),
    )
    owner.execute("delete from dealproof.events where originator_id = %s", (DAYS,))
    owner.execute("alter table dealproof.commands disable trigger user")
    owner.execute("delete from dealproof.commands where command_id like '% day:%'")
    close_ranks(owner)
    closed_by(journal, f"{day_after(days[-1])}T00:00:00.000Z")
    site.publish()

    ran = dealproof(*options, "verify", "--day", closed.day)

    assert ran.status == 1
    assert "discrepancy at commitment" in ran.stdout
    assert "finding" not in ran.stdout


# -- whom to believe


def test_a_trust_that_wants_a_witness_gets_the_newest_cosigned_checkpoint(
    options: tuple[str, ...], site: Site, days: list[str], journal: Journal
) -> None:
    """The log may be ahead of it; what is behind the cosignature is not proved yet."""
    stored, closed = list(closings(journal))[-2]
    site.trust(witnesses_needed=1)
    site.publish(stored.position, cosigned=True)
    site.publish()

    ran = dealproof(*options, "verify", "--day", closed.day)
    early = dealproof(*options, "verify", "--day", days[-1])

    assert ran.status == 0
    assert f"{stored.position:,} events of {ORIGIN}, cosigned by {WITNESS} at 2026-12-03T12:13:20" in ran.stdout
    assert early.status == 2
    assert f"but the checkpoint has {stored.position}" in early.stderr


def _no_cosignature(site: Site) -> None:
    site.trust(witnesses_needed=1)
    site.publish()


def _no_checkpoint(site: Site) -> None:
    site.trust(witnesses_needed=0)


def _strange_signer(site: Site) -> None:
    site.publish(signer="stranger.example")


def _other_origin(site: Site) -> None:
    site.publish()
    site.trust(0, "other.example/log")


def _cut_note(site: Site) -> None:
    site.publish()
    path = site.store.folder / "checkpoint"
    path.write_bytes(path.read_bytes()[:-9])


def _no_trust(site: Site) -> None:
    site.publish()
    site.trust_file.unlink()


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        (_no_cosignature, "no checkpoint with the cosignatures"),
        (_no_checkpoint, "no checkpoint yet"),
        (_strange_signer, "no signature of a pinned key"),
        (_other_origin, "is of the log casino.example/log, not of other.example/log"),
        (_cut_note, "note: "),
        (_no_trust, "is missing; --trust names one"),
    ],
)
def test_without_a_checkpoint_that_is_believed_there_is_no_verdict(
    options: tuple[str, ...], site: Site, days: list[str], wrong: Callable[[Site], None], words: str
) -> None:
    """Not a day is taken for verified because the server says so."""
    wrong(site)

    ran = dealproof(*options, "verify", "--day", days[0])

    assert (ran.status, ran.stdout) == (2, "")
    assert words in ran.stderr
    assert ran.stderr.count("\n") == 1


def test_a_damaged_tile_is_a_discrepancy(options: tuple[str, ...], site: Site, days: list[str]) -> None:
    site.publish()
    path = site.store.folder / "tile/0/000"
    path.write_bytes(b"x" + path.read_bytes()[1:])

    ran = dealproof(*options, "verify", "--day", days[0])

    assert ran.status == 1
    assert "tile/0/000: is not in the tree of the checkpoint" in ran.stdout


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--day", "2026-11-30"), "the journal begins on 2026-12-01"),
        (("--day", "yesterday"), "is no day as 2026-12-01"),
        (("--day", "2026-12-01", "--table", "nowhere"), "--table: no round was ever opened at a table 'nowhere'"),
        (("--day", "2026-12-01", "--all"), "name one ROUND"),
        (("--day", "2026-12-01", "--accounts"), "name one ROUND"),
        (("--day", "2026-12-01", "--since", "2026-12-01"), "go with --all"),
        (("--day", "2026-12-01", "--ruleset", "russian-poker@1"), "go with --all"),
    ],
)
def test_a_wrong_use_is_told(options: tuple[str, ...], site: Site, arguments: tuple[str, ...], words: str) -> None:
    site.publish()

    ran = dealproof(*options, "verify", *arguments)

    assert (ran.status, ran.stdout) == (2, "")
    assert words in ran.stderr
    assert ran.stderr.count("\n") == 1


# -- days


def test_days_are_listed_oldest_first(options: tuple[str, ...], days: list[str], journal: Journal) -> None:
    text, json = dealproof(*options, "days", "list"), dealproof(*options, "days", "list", "--json")

    assert (text.status, json.status) == (0, 0)
    assert [line.split()[0] for line in text.stdout.splitlines()] == ["day", *days]
    assert [each["day"] for each in lines(json)] == days
    found = list(closings(journal))[::-1]
    assert lines(json) == [{"position": stored.position, **msgspec.to_builtins(closed)} for stored, closed in found]


def test_days_that_are_over_are_closed(
    options: tuple[str, ...], site: Site, days: list[str], journal: Journal, monkeypatch: pytest.MonkeyPatch
) -> None:
    site.publish()
    monkeypatch.setattr("ops.clock.now", lambda: "2026-12-21T00:05:00.000Z")

    one = dealproof(*options, "days", "close", "--day", day_after(days[-1]))
    rest, again = dealproof(*options, "days", "close", "--by", "ann"), dealproof(*options, "days", "close")

    assert [ran.status for ran in (one, rest, again)] == [0, 0, 0]
    assert one.stdout.startswith(f"Closed {day_after(days[-1])}: ")
    assert rest.stdout.count("Closed ") > 5
    assert "Closed 2026-12-20: 0 events up to " in rest.stdout
    assert again.stdout == "Nothing to close.\n"
    assert next(closings(journal))[1].by == "ann"


def test_a_day_that_the_log_has_not_reached_is_status_2(
    options: tuple[str, ...], site: Site, days: list[str], journal: Journal, monkeypatch: pytest.MonkeyPatch
) -> None:
    site.publish(journal.head_position() - 5)
    monkeypatch.setattr("ops.clock.now", lambda: "2026-12-21T00:05:00.000Z")

    ran = dealproof(*options, "days", "close")

    assert (ran.status, ran.stdout) == (2, "")
    assert f"day {day_after(days[-1])}: goes on behind event {journal.head_position() - 6}, where the log" in ran.stderr


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--day", "2026-12-32"), "is no day"),
        (("--day", "9998-12-01"), "is not over"),
        (("--by", " "), "--by: must be text"),
    ],
)
def test_what_can_t_be_closed_is_told(
    options: tuple[str, ...], site: Site, arguments: tuple[str, ...], words: str
) -> None:
    site.publish()

    ran = dealproof(*options, "days", "close", *arguments)

    assert (ran.status, ran.stdout) == (2, "")
    assert words in ran.stderr


def test_a_house_without_a_closed_day_says_so(migrated_database_url: str, tmp_path: Path) -> None:
    ran = dealproof("--home", str(tmp_path), "--database-url", migrated_database_url, "days", "list")

    assert (ran.status, ran.stdout) == (0, "No day is closed yet.\n")
