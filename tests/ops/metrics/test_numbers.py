"""What is told of a house, held against the house itself."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import psycopg
import pytest

from domain.doctor import Configuration, ControlExamined, ControlStatus, Software
from domain.log.checkpoint import COSIGNATURE, Note, cosignature, parse_note
from domain.log.trust import PinnedKey, Trust
from domain.verification import ENDED, WHOLE
from ops import clock
from ops.bulk_verify import Tally
from ops.doctor.examine import Report, record
from ops.journal import Journal
from ops.log.signing import FileSigningKey
from ops.log.store import LogStore
from ops.metrics import journal as of_journal
from ops.metrics import looking, refusals
from ops.metrics.line import Connection
from ops.metrics.refusals import Refusals
from ops.projecting import catch_up
from ops.settings import Settings
from ops.verification_record import record as record_run
from projections.catalogue import PROJECTIONS
from replay.verdict import Status
from tests.ops.log.logged import ORIGIN, key_at, sequencer
from tests.ops.metrics.seen import look, numbers, text_of, troubles
from tests.ops.played import Owner


def test_a_house_at_rest_is_told_as_it_is(settings: Settings, url: str, journal: Journal) -> None:
    """Nothing waits anywhere."""
    found, head = numbers(settings, url), journal.head_position()

    assert found["dealproof_up"] == found["dealproof_database_migrated"] == 1
    assert found["dealproof_journal_position"] == found["dealproof_journal_events_total"] == head > 0
    assert found["dealproof_journal_holes"] == found["dealproof_open_rounds"] == 0
    for name in PROJECTIONS:
        assert found[f"dealproof_projection_position{{{name}}}"] == head
        waits = [found[f"dealproof_projection_{what}{{{name}}}"] for what in ("lag_events", "lag_seconds", "stopped")]
        assert waits == [0, 0, 0]
    assert not any(value for name, value in found.items() if name.startswith("dealproof_scrape_errors"))
    assert troubles(settings, url) == {}


def test_projections_that_were_never_run_lag_by_the_whole_journal(settings: Settings, bare_url: str) -> None:
    """And keep the house from being ready."""
    found = numbers(settings, bare_url)

    for name in PROJECTIONS:
        assert found[f"dealproof_projection_lag_events{{{name}}}"] == found["dealproof_journal_position"] > 0
        assert 0 < found[f"dealproof_projection_lag_seconds{{{name}}}"] < 3600
    assert troubles(settings, bare_url) == {f"projection {name}": "was never run" for name in PROJECTIONS}


def test_a_lag_is_as_old_as_the_oldest_event_that_waits(settings: Settings, url: str, owner: Owner) -> None:
    """Not as the newest."""
    [(position, body)] = owner.execute(
        "select notification_id, state from dealproof.events order by notification_id desc offset 5 limit 1"
    ).fetchall()
    owner.execute("update projections.state set position = %s where name = 'cash'", (position - 1,))
    seen = look(settings, url)

    assert seen.journal is not None
    [cash] = [each for each in seen.journal.projections if each.name == "cash"]
    at = bytes(body).partition(b'"at":"')[2][:24].decode()
    assert cash.reader == (position - 1, 6, clock.milliseconds(at))


def test_a_projection_that_stopped_is_told_without_anybodys_name(settings: Settings, url: str, owner: Owner) -> None:
    """What it stopped at may name a player."""
    owner.execute("update projections.state set error_position = 8, error = 'account:EUR:anna' where name = 'cash'")
    owner.execute("update projections.state set position = 7 where name = 'cash'")

    assert numbers(settings, url)["dealproof_projection_stopped{cash}"] == 1
    assert troubles(settings, url) == {"projection cash": "stopped behind position 7"}


def test_tables_of_another_definition_are_no_answer(settings: Settings, url: str, owner: Owner) -> None:
    """A program that was changed, and no rebuild."""
    owner.execute("update projections.state set version = version + 1 where name = 'cash'")

    assert "of definition" in troubles(settings, url)["projection cash"]


def test_a_hole_is_seen_where_somebody_waits_at_it(settings: Settings, url: str, owner: Owner) -> None:
    """The event behind it says how old it is."""
    [(head,)] = owner.execute("select max(notification_id) from dealproof.events").fetchall()
    owner.execute("delete from dealproof.events where notification_id = %s", (head - 3,))
    owner.execute("update projections.state set position = %s where name in ('cash', 'rounds')", (head - 4,))
    found = numbers(settings, url)

    assert found["dealproof_journal_holes"] == 1
    assert 0 <= found["dealproof_journal_hole_age_seconds"] < 3600
    assert str(head - 3) in troubles(settings, url)["journal"]


def test_open_rounds_are_as_old_as_their_names_say(settings: Settings, url: str, owner: Owner) -> None:
    """A round is named by its time."""
    for seconds in (90, 3600, 5):
        name = clock.round_id_at(clock.milliseconds(clock.now()) - 1000 * seconds, bytes(10)).hex()
        owner.execute("insert into dealproof.open_rounds (stream) values (%s)", (f"round:{name}",))
    found = numbers(settings, url)

    assert found["dealproof_open_rounds"] == 3
    assert 3600 <= found["dealproof_open_round_oldest_age_seconds"] < 3660


UNCLEAN = (
    b'{"round":"00","checks":[{"check":"chain","discrepancies":'
    b'[{"event":"","field":"prev","recorded":"a","recomputed":"b","seq":3}]}]}'
)
"""The verdict on a round with one discrepancy."""

# -- refusals


def refuse(superuser: Owner, code: str, *ages: int) -> None:
    """Refusals of one code, so many seconds ago."""
    for age in ages:
        superuser.execute(
            """insert into dealproof.refusals (command_id, request_hash, reply, recorded_at)
            values (gen_random_uuid()::text, sha256(''), convert_to(%s, 'UTF8'), now() - make_interval(secs => %s))""",
            (f'{{"code":"{code}","text":"Anna may not."}}', age),
        )


def test_refusals_are_counted_by_code(settings: Settings, url: str, journal: Journal) -> None:
    """As the journal keeps them."""
    for number, code in enumerate(("funds-too-low", "bets-closed", "funds-too-low")):
        journal.refuse(f"command {number}", b"{}", f'{{"code":"{code}","text":"No."}}'.encode())
    found = numbers(settings, url)

    assert found["dealproof_commands_refused_total{funds-too-low}"] == 2
    assert found["dealproof_commands_refused_total{bets-closed}"] == 1


def test_refusals_are_counted_on_and_none_is_lost_or_doubled(superuser: Owner, reader: Connection) -> None:
    """Old, settling and new ones; one that a clock put back dates before the newest, but not before the settled."""
    counted = Refusals()
    refuse(superuser, "a", 9000, 400, 310, 100, 0)
    assert counted.count(reader) == {"a": 5}
    refuse(superuser, "a", 250, 0)
    refuse(superuser, "b", 299)
    assert counted.count(reader) == {"a": 7, "b": 1}
    assert counted.count(reader) == {"a": 7, "b": 1}


def test_there_is_no_count_before_it_is_whole(
    superuser: Owner, reader: Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A counter that begins in the middle would look like a burst of refusals."""
    monkeypatch.setattr(refusals, "ROWS_AT_ONCE", 3)
    monkeypatch.setattr(refusals, "COUNT_SECONDS", 0)
    with superuser.transaction():  # in which now() stands still
        refuse(superuser, "a", 900, 800, 700, 700, 700, 700, 600)
    counted = Refusals()

    # The first batch ends at three, and takes all that are of the third one's time along.
    assert [counted.count(reader) for _ in range(2)] == [None, {"a": 7}]


# -- the log, the examination


def with_log(journal: Journal, folder: Path) -> Settings:
    """An installation with a log of the whole journal, that a witness has signed a minute ago."""
    with sequencer(journal, folder) as built:
        built.catch_up()
    witness = FileSigningKey(folder / "witness.key", "regulator.example/w1", COSIGNATURE)
    note = parse_note(LogStore(folder / "log").checkpoint() or b"")
    signed = cosignature(note.body, clock.milliseconds(clock.now()) // 1000 - 60, witness.verifier, witness.sign)
    LogStore(folder / "log").add_cosigned(Note(note.body, (*note.signatures, signed)))
    pinned = Trust(ORIGIN, (PinnedKey(key_at(folder).verifier),), (PinnedKey(witness.verifier),), ())
    (folder / "trust.json").write_bytes(pinned.to_json())
    return Settings(folder, None, folder / "keys" / "dealproof.key")


def test_the_log_is_told_from_its_files(journal: Journal, url: str, tmp_path: Path) -> None:
    """Its size, its age, its witness."""
    found, head = numbers(with_log(journal, tmp_path), url), journal.head_position()

    assert found["dealproof_log_size"] == found["dealproof_log_cosigned_size"] == head
    assert found["dealproof_log_lag_events"] == found["dealproof_log_lag_seconds"] == 0
    assert 0 <= found["dealproof_log_checkpoint_age_seconds"] < 60
    assert 60 <= found["dealproof_log_cosignature_age_seconds"] < 120


def test_a_log_is_ready_while_its_sequencer_runs(journal: Journal, url: str, tmp_path: Path) -> None:
    """Looking neither keeps it from its work nor ends it."""
    settings = with_log(journal, tmp_path)
    assert troubles(settings, url) == {"log": "no sequencer runs: dealproof log run"}

    with sequencer(journal, tmp_path):
        assert numbers(settings, url)["dealproof_log_sequencer_running"] == 1
        assert troubles(settings, url) == {}


def test_a_log_that_can_not_be_read_spoils_nothing_else(journal: Journal, url: str, tmp_path: Path) -> None:
    """It is counted, and it is not ready."""
    settings = with_log(journal, tmp_path)
    (tmp_path / "log" / "checkpoint").write_bytes(b"rubbish\n")
    found = numbers(settings, url)

    assert found["dealproof_scrape_errors_total{log}"] == found["dealproof_up"] == 1
    assert found["dealproof_journal_position"] == journal.head_position()
    assert "dealproof_log_size" not in found
    assert list(troubles(settings, url)) == ["log"]


def test_the_newest_examination_is_told(settings: Settings, url: str, journal: Journal) -> None:
    """Each of its controls under its status."""
    assert "dealproof_examination_age_seconds" not in numbers(settings, url)
    statuses = ("finding", "finding", "ok")
    checks = [ControlExamined(findings=[], name="roles", notes=[], status=ControlStatus(each)) for each in statuses]
    configuration = Configuration(digest="", rulesets="", settings="", tables="")
    software = Software(dependencies=[], digest="", files="", python="", version="")
    record(journal, Report(clock.now(), tuple(checks), configuration, software))
    found = numbers(settings, url)

    assert 0 <= found["dealproof_examination_age_seconds"] < 60
    assert {name: value for name, value in found.items() if "controls" in name and value} == {
        "dealproof_examination_controls{finding}": 2, "dealproof_examination_controls{ok}": 1,
    }  # fmt: skip


def test_verdicts_are_those_of_the_newest_whole_run_and_of_all_daily_ones_since(
    settings: Settings, url: str, journal: Journal
) -> None:
    """A run with a filter says nothing of the others; its findings count all the same."""
    assert "dealproof_verification_age_seconds" not in numbers(settings, url)
    runs = [
        (WHOLE, 5, 2), (ENDED, 40, 0), ("rounds of table a", 7, 1),   # of before the newest whole run
        (WHOLE, 100, 0), (ENDED, 20, 1), ("rounds of table a", 3, 1), (ENDED, 30, 0),
    ]  # fmt: skip
    for scope, verified, wrong in runs:
        unclean = [UNCLEAN] * wrong
        tally = Tally(Counter({Status.VERIFIED: verified, Status.DISCREPANCY: wrong}), unclean)
        record_run(journal, tally, scope=scope, to_position=1, by="Ann")
    catch_up(url)
    found = numbers(settings, url)

    assert found["dealproof_verifications_total"] == len(runs)
    assert found["dealproof_verification_rounds{verified}"] == 150
    assert found["dealproof_verification_rounds{discrepancy}"] == 1
    assert found["dealproof_verification_findings"] == 2
    assert 0 <= found["dealproof_verification_age_seconds"] < 60


# -- what is never told, and what it costs


def test_no_player_and_no_seed_is_told(settings: Settings, url: str, owner: Owner) -> None:
    """Nor a round, nor an amount by name."""
    text = text_of(settings, url)
    streams = [stream for (stream,) in owner.execute("select distinct originator_id from dealproof.events")]
    told = [stream for stream in streams for part in stream.split(":")[1:] if f'"{part}"' in text]

    assert any(stream.startswith("account:") for stream in streams)
    assert told == []
    assert "seed" not in text and "EUR" not in text


STATEMENTS = {
    "journal states": (of_journal._STATES, ()),
    "journal head": (of_journal._HEAD, ()),
    "journal next": (of_journal._NEXT, ([0, 5, 100],)),
    "examination": (looking._NEWEST_OF, ("doctor:site",)),
    "refusals settling": (refusals._SETTLING, ("2026-01-01", 300, 50_000)),
    "refusals recent": (refusals._RECENT, ("2026-01-01",)),
}


@pytest.mark.parametrize("name", STATEMENTS)
def test_no_look_reads_a_long_table_from_end_to_end(url: str, name: str) -> None:
    """The plan on a table that is long: what grows with the journal is only ever asked through an index."""
    statement, parameters = STATEMENTS[name]
    with psycopg.connect(url, autocommit=True) as superuser:
        superuser.execute("set enable_seqscan = off")  # what is read from end to end now has no other way
        plan = "\n".join(line for (line,) in superuser.execute("explain " + statement, parameters))

    assert "Seq Scan on events" not in plan and "Seq Scan on refusals" not in plan, plan
