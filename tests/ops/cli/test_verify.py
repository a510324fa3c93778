"""`dealproof verify`: by every name of a round, one or all, as text and as JSON; the status says what was found.

Not here: what is found (`tests.golden`, `tests.ops.test_bulk_verify`), bad input (`test_bad_input`).
"""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from random import Random
from typing import Any
from uuid import UUID

import msgspec
import psycopg
import pytest

from domain.round.choices import Deal
from domain.rulesets import released_rulesets
from ops import bulk_verify
from ops.bulk_verify import Filters, Manifest, RangeDone, verify_all
from ops.clock import round_id_at
from ops.house import House
from ops.journal import Journal, RoundIdentity
from tests.ops.cli.running import REPOSITORY, Ran, command, dealproof, dealproof_process
from tests.ops.played import played_database
from tests.ops.test_house import KEY, OPEN, made, opened, place, played_out

RULESETS = released_rulesets()
ROUNDS = 12
LADDER = ["bytes", "chain", "order", "commitment", "deck", "legality", "payout", "ledger", "log"]


@pytest.fixture(scope="module")
def played_template(server_url: str, migrated_template: str) -> Iterator[str]:
    """A database with twelve true rounds at eight tables, to be copied."""
    with played_database(server_url, migrated_template, ROUNDS) as name:
        yield name


@pytest.fixture
def options(url: str, tmp_path: Path) -> tuple[str, ...]:
    return "--home", str(tmp_path), "--database-url", url


@pytest.fixture
def one(journal: Journal) -> RoundIdentity:
    """Some round."""
    return journal.last_rounds(5)[-1]


def tampered(url: str, stream: str, seq: int = 1, old: bytes = b'"ante":', new: bytes = b'"ante":1') -> None:
    where = (stream, seq)
    with psycopg.connect(url, autocommit=True) as owner:
        owner.execute("alter table dealproof.events disable trigger user")
        read = "select state from dealproof.events where originator_id = %s and originator_version = %s"
        [(body,)] = owner.execute(read, where).fetchall()
        assert old in body
        write = "update dealproof.events set state = %s where originator_id = %s and originator_version = %s"
        owner.execute(write, (body.replace(old, new, 1), *where))


def lines(ran: Ran) -> list[dict[str, Any]]:
    """The JSON objects of a run, one a line."""
    return [msgspec.json.decode(line, type=dict[str, Any]) for line in ran.stdout.splitlines()]


# -- one round


def test_a_round_is_found_by_each_of_its_names(options: tuple[str, ...], one: RoundIdentity) -> None:
    hexadecimal = one.stream.removeprefix("round:")
    names = (
        hexadecimal, hexadecimal.upper(), str(UUID(hexadecimal)), one.stream, f"{one.table_id}/{one.number}",
    )  # fmt: skip
    ran = [dealproof(*options, "verify", name) for name in names]

    assert len(set(ran)) == 1
    assert ran[0].status == 0
    assert ran[0].stderr == ""
    assert ran[0].stdout.splitlines()[0] == f"Round {hexadecimal}: verified"
    assert [line.split()[0] for line in ran[0].stdout.splitlines()[1:]] == LADDER


def test_a_table_may_have_a_slash_in_its_name(options: tuple[str, ...], journal: Journal) -> None:
    house = House(journal, KEY)
    played_out(house, opened(house, RULESETS[OPEN], 3, table="hall/1"), Random(1))

    assert dealproof(*options, "verify", "hall/1/3").status == 0


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("0" * 32, "round 00000000000000000000000000000000: there is no such round"),
        ("russian-poker-1/999", "round russian-poker-1/999: table 'russian-poker-1' has no round 999"),
        ("nowhere/1", "round nowhere/1: table 'nowhere' has no round 1"),
        ("russian-poker-1/0", "is neither an id of 32 hex digits nor TABLE/NUMBER"),
        ("russian-poker-1/-1", "is neither an id"),
        ("russian-poker-1/1e3", "is neither an id"),
        ("russian-poker-1/" + "9" * 40, "is neither an id"),
        ("russian-poker-1/999999999999999", "has no round 999999999999999"),
        ("0" * 31, "is neither an id"),
        ("garbage", "round 'garbage': is neither an id"),
        ("", "round '': is neither an id"),
        ("ruleset:russian-poker@1", "is neither an id"),
    ],
)
@pytest.mark.parametrize("verb", ["verify", "show"])
def test_a_round_that_is_not_there_is_named(options: tuple[str, ...], verb: str, name: str, reason: str) -> None:
    ran = dealproof(*options, verb, name)

    assert (ran.status, ran.stdout) == (2, "")
    assert ran.stderr.startswith("dealproof: round ")
    assert ran.stderr.count("\n") == 1
    assert reason in ran.stderr


def test_a_verdict_as_json_has_the_rungs_in_the_order_of_the_ladder(
    options: tuple[str, ...], one: RoundIdentity
) -> None:
    ran = dealproof(*options, "verify", one.stream, "--json")

    assert ran.status == 0
    [verdict] = lines(ran)
    assert set(verdict) == {"round", "verdict", "checks"}
    assert (verdict["round"], verdict["verdict"]) == (one.stream.removeprefix("round:"), "verified")
    assert [check["check"] for check in verdict["checks"]] == LADDER
    assert [check["status"] for check in verdict["checks"]] == ["verified"] * 8 + ["not-checkable"]
    assert "reason" in verdict["checks"][8]


def test_a_discrepancy_is_status_1_with_its_rung_and_event(
    options: tuple[str, ...], url: str, one: RoundIdentity
) -> None:
    tampered(url, one.stream)
    text, json = dealproof(*options, "verify", one.stream), dealproof(*options, "verify", one.stream, "--json")

    assert (text.status, json.status) == (1, 1)
    assert text.stdout.splitlines()[0].endswith(": discrepancy")
    assert "  chain       discrepancy\n" in text.stdout
    assert "event 2 " in text.stdout
    assert "prev: recorded " in text.stdout
    [verdict] = lines(json)
    chain = verdict["checks"][1]
    assert verdict["verdict"] == chain["status"] == "discrepancy"
    assert (chain["check"], chain["seq"], chain["field"]) == ("chain", 2, "prev")
    assert len(chain["recorded"]) == len(chain["recomputed"]) == 64
    assert chain["discrepancies"][0] == {
        name: chain[name] for name in ("seq", "event", "field", "recorded", "recomputed")
    }
    assert len(lines(json)) == 1


def test_a_wrong_payout_is_named_with_both_amounts(
    options: tuple[str, ...], journal: Journal, url: str, one: RoundIdentity
) -> None:
    last = len(journal.read_stream(one.stream)) - 2  # round-closed, before the seed
    tampered(url, one.stream, last, b'"returned":', b'"returned":9')

    ran = dealproof(*options, "verify", one.stream)

    assert ran.status == 1
    payout = ran.stdout[ran.stdout.index("  payout") :]
    assert f"event {last} round-closed.v1, returned: recorded 9" in payout


def test_an_open_round_is_status_2_and_says_why(options: tuple[str, ...], journal: Journal) -> None:
    live = opened(House(journal, KEY), RULESETS[OPEN])
    made(House(journal, KEY), live, place(1), Deal())

    text, json = dealproof(*options, "verify", live.stream), dealproof(*options, "verify", live.stream, "--json")

    assert (text.status, json.status) == (2, 2)
    assert text.stderr == json.stderr == ""
    assert text.stdout.splitlines()[0].endswith(": not-checkable")
    assert "the round is still open" in text.stdout
    [verdict] = lines(json)
    assert verdict["verdict"] == "not-checkable"
    assert verdict["checks"][0]["status"] == verdict["checks"][1]["status"] == "verified"


def test_a_round_whose_events_are_gone_is_a_discrepancy(
    options: tuple[str, ...], url: str, one: RoundIdentity
) -> None:
    with psycopg.connect(url, autocommit=True) as owner:
        owner.execute("alter table dealproof.events disable trigger user")
        owner.execute("delete from dealproof.events where originator_id = %s", (one.stream,))

    ran = dealproof(*options, "verify", f"{one.table_id}/{one.number}")

    assert (ran.status, ran.stderr) == (1, "")
    assert "events: recorded none, is at least one" in ran.stdout


# -- all


def test_all_rounds_are_counted(options: tuple[str, ...]) -> None:
    ran = dealproof(*options, "verify", "--all")

    assert ran.status == 0
    assert ran.stdout == "12 rounds: 12 verified, 0 with a discrepancy, 0 not checkable\n"
    assert ran.stderr == ""


def test_one_bad_round_among_all_is_status_1_and_named(
    options: tuple[str, ...], url: str, journal: Journal, one: RoundIdentity
) -> None:
    tampered(url, one.stream)
    still_open = opened(House(journal, KEY), RULESETS[OPEN])

    ran = dealproof(*options, "verify", "--all")

    assert ran.status == 1
    first, *others = ran.stdout.splitlines()
    assert first == "13 rounds: 11 verified, 1 with a discrepancy, 1 not checkable"
    assert [line.split()[0] for line in others] == [
        one.stream.removeprefix("round:"), still_open.stream.removeprefix("round:"),
    ]  # fmt: skip
    assert "discrepancy at chain: event 2 " in others[0]
    assert "not-checkable at order: " in others[1]


def test_open_rounds_alone_are_no_failure(options: tuple[str, ...], journal: Journal) -> None:
    opened(House(journal, KEY), RULESETS[OPEN])

    assert dealproof(*options, "verify", "--all").status == 0


@pytest.mark.parametrize("workers", ["1", "2"])
def test_all_as_json_is_one_object_a_line(
    options: tuple[str, ...], url: str, journal: Journal, one: RoundIdentity, workers: str
) -> None:
    tampered(url, one.stream)

    ran = dealproof_process(*options, "verify", "--all", "--json", "--workers", workers)

    assert (ran.returncode, ran.stderr) == (1, b"")
    verdicts = [msgspec.json.decode(line, type=dict[str, Any]) for line in ran.stdout.splitlines()]
    assert sorted(f"round:{verdict['round']}" for verdict in verdicts) == [s for s, _ in journal.read_rounds()]
    assert [f"round:{v['round']}" for v in verdicts if v["verdict"] == "discrepancy"] == [one.stream]
    for verdict in verdicts:
        assert [check["check"] for check in verdict["checks"]] == LADDER


def test_a_reader_may_close_the_pipe_early(options: tuple[str, ...]) -> None:
    process = subprocess.Popen(
        command(*options, "verify", "--all", "--json"), cwd=REPOSITORY, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    assert process.stdout is not None
    process.stdout.close()
    assert process.stderr is not None
    with process.stderr as stderr:
        assert stderr.read() == b""
    process.wait(timeout=30)


def test_filters_are_given_as_a_person_writes_them(
    url: str, tmp_path: Path, journal: Journal, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rounds at midnight, a minute before and a minute after, far from the others."""
    house, midnight = House(journal, KEY), int(datetime(2030, 5, 1, tzinfo=UTC).timestamp()) * 1000
    for number, offset in enumerate((-60_000, -1, 0, 60_000), start=1):
        round_id = round_id_at(midnight + offset, bytes([number] * 10))
        monkeypatch.setattr("ops.clock.new_round_id", lambda round_id=round_id: round_id)
        played_out(house, opened(house, RULESETS[OPEN], number), Random(number))

    def counted(*filters: str) -> str:
        ran = dealproof("--home", str(tmp_path), "--database-url", url, "verify", "--all", *filters)
        assert ran.status == 0
        return ran.stdout.split()[0]

    assert counted("--since", "2030-05-01") == "2"
    assert counted("--since", "2030-05-01T00:00:00Z", "--until", "2030-05-01T00:01") == "1"
    assert counted("--since", "2030-05-01T02:00:00+02:00") == "2"
    assert counted("--since", "2030-04-30T23:59:00", "--until", "2030-05-01") == "2"
    assert counted("--since", "2030-04-30T23:59:59.999", "--until", "2030-05-01") == "1"
    assert counted("--until", "2030-05-01", "--table", "vip-1") == "2"
    assert counted("--since", "2030-01-01", "--ruleset", OPEN) == "4"
    assert counted("--until", "1970-01-01") == "0"


def test_no_round_at_all_is_said(options: tuple[str, ...]) -> None:
    ran = dealproof(*options, "verify", "--all", "--since", "2999-01-01")

    assert ran.status == 0
    assert ran.stdout.startswith("0 rounds: ")
    assert ran.stderr == "dealproof: no round matches\n"


@pytest.mark.parametrize(("option", "value"), [("--table", "nowhere"), ("--ruleset", "nowhere@1")])
def test_a_filter_with_a_typo_is_no_clean_result(options: tuple[str, ...], option: str, value: str) -> None:
    ran = dealproof(*options, "verify", "--all", option, value)

    assert (ran.status, ran.stdout) == (2, "")
    assert ran.stderr.startswith(f"dealproof: {option}: ")


# -- interrupted


def interrupted(journal: Journal, url: str, home: Path) -> None:
    """A run of `verify --all` that is left off after two of its four ranges."""
    manifest = Manifest.open(home / "verify", journal, Filters(), version("dealproof"), afresh=False)
    heard = list[RangeDone]()

    def stop(done: RangeDone) -> None:
        heard.append(done)
        if len(heard) == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        verify_all(journal, url, Filters(), workers=1, every_verdict=False, manifest=manifest, done=stop)


@pytest.fixture
def left_off(journal: Journal, url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bulk_verify, "ROUNDS_A_RANGE", 3)
    interrupted(journal, url, tmp_path)


@pytest.mark.usefixtures("left_off")
def test_a_run_goes_on_and_says_so(options: tuple[str, ...], tmp_path: Path) -> None:
    ran = dealproof(*options, "verify", "--all")

    assert "Going on with an interrupted run: 6 rounds were verified before" in ran.stderr
    assert ran.stdout == "12 rounds: 12 verified, 0 with a discrepancy, 0 not checkable\n"
    assert list((tmp_path / "verify").iterdir()) == []


@pytest.mark.usefixtures("left_off")
def test_a_run_begins_again_when_told_to(options: tuple[str, ...], tmp_path: Path) -> None:
    ran = dealproof(*options, "verify", "--all", "--afresh")

    assert ran.stderr == ""
    assert ran.stdout.startswith("12 rounds: 12 verified")
    assert list((tmp_path / "verify").iterdir()) == []


@pytest.mark.usefixtures("left_off")
def test_json_has_every_round_also_after_a_run_without_it_was_left_off(
    options: tuple[str, ...], journal: Journal
) -> None:
    """One object a round (docs/formats/verdict.md): the run before printed none of them."""
    ran = dealproof(*options, "verify", "--all", "--json")

    assert sorted(f"round:{verdict['round']}" for verdict in lines(ran)) == [s for s, _ in journal.read_rounds()]
