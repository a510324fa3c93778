"""`dealproof keys`: a secret is printed once, a revoked key is ended, a rotation lets open rounds be.

Not here: the door itself (`tests.ops.test_requests_admitted`).
"""

from __future__ import annotations

import getpass
import json
import re
import time
from collections.abc import Callable
from pathlib import Path
from random import Random

import psycopg
import pytest

from domain.access import ACCESS_CODEC, DATA_KEYS, DataKeyRotated, Role
from domain.round import choices as c
from domain.rulesets import released_rulesets
from ops.api_keys import ApiKey, Caller, Denial, Gatekeeper, new_nonce, sign
from ops.house import House, LiveRound
from ops.journal import Journal
from ops.settings import Settings
from ops.site import current_data_key, data_key
from replay.verdict import Status
from tests.ops.cli.running import Ran, dealproof, dealproof_process
from tests.ops.test_house import BY_DIGEST, OPEN, made, opened, place, played_out, status_of
from tests.ops.test_secrets import keys, seeds_of_open_rounds, where, whole_database

Run = Callable[..., Ran]


@pytest.fixture
def settings(migrated_database_url: str, tmp_path: Path) -> Settings:
    return Settings(tmp_path, migrated_database_url, tmp_path / "keys/dealproof.key")


@pytest.fixture
def run(settings: Settings) -> Run:
    """Runs `dealproof keys …` on this installation."""
    return lambda *arguments: dealproof(*options(settings), "keys", *arguments)


def options(settings: Settings) -> tuple[str, ...]:
    return "--home", str(settings.home), "--database-url", str(settings.database_url)


def created(run: Run, *more: str) -> ApiKey:
    ran = run("create", "--role", "cashier", "--person", "Bob", *more)
    assert ran.status == 0, ran.stderr
    return ApiKey.parse(ran.stdout.removesuffix("\n"))


def listed(run: Run) -> list[dict[str, str | None]]:
    ran = run("list", "--json")
    assert (ran.status, ran.stderr) == (0, "")
    return [json.loads(line) for line in ran.stdout.splitlines()]


def answer(url: str, key: ApiKey) -> Caller | Denial:
    """What the door says to a request with this key, now."""
    with Journal.open(url) as journal:
        headers = sign(key.text, "GET", "/", int(time.time()), new_nonce(), b"")
        return Gatekeeper(journal, per_minute=100).admit("GET", "/", headers, b"")


# -- create


@pytest.mark.parametrize("role", Role)
def test_a_key_is_printed_alone_on_stdout_and_opens_the_door(
    run: Run, migrated_database_url: str, role: Role
) -> None:
    ran = run("create", "--role", role.value, "--person", "Ilona Į.", "--label", "till 4", "--by", "ann")

    key = ApiKey.parse(ran.stdout.removesuffix("\n"))
    assert ran.status == 0
    assert ran.stderr == f"Key {key.id} for Ilona Į., role {role}.  It is shown this once:\n"
    assert answer(migrated_database_url, key) == Caller(key.id, role, "Ilona Į.", "till 4")
    [entry] = listed(run)
    assert (entry["created_by"], entry["role"], entry["revoked_at"]) == ("ann", role, None)


def test_the_first_key_of_an_empty_installation_can_be_made(database_url: str, tmp_path: Path) -> None:
    """Nobody has played there yet: the database is made ready."""
    settings = Settings(tmp_path, database_url, tmp_path / "key")
    ran = dealproof(*options(settings), "keys", "create", "--role", "regulator", "--person", "Bob")

    assert ran.status == 0, ran.stderr
    assert isinstance(answer(database_url, ApiKey.parse(ran.stdout.strip())), Caller)


def test_without_a_name_the_login_user_does_it(run: Run) -> None:
    created(run)

    assert listed(run)[0]["created_by"] == getpass.getuser()


def test_no_other_command_shows_the_secret(run: Run, settings: Settings) -> None:
    key = created(run, "--label", "x")
    said = [run("list"), run("list", "--json"), run("revoke", key.id, "--reason", "lost"), run("list")]
    talkative = dealproof_process(
        *options(settings), "keys", "revoke", key.id, "--reason", "again", environment={"DEALPROOF_LOG": "debug"})

    places = {f"{number} {stream}": text.encode() for number, ran in enumerate(said)
              for stream, text in (("out", ran.stdout), ("err", ran.stderr))}
    places |= {"process": talkative.stdout + talkative.stderr}
    assert where(key.secret, places | whole_database(str(settings.database_url))) == []


@pytest.mark.parametrize(("arguments", "named"), [
    (("--person", "Bob"), "'--role'"),
    (("--role", "cashier"), "'--person'"),
    (("--role", "croupier", "--person", "Bob"), "'--role'"),
    (("--role", "CASHIER", "--person", "Bob"), "'--role'"),
    (("--role", "cashier", "--person", ""), "'--person'"),
    (("--role", "cashier", "--person", " "), "'--person'"),
    (("--role", "cashier", "--person", "e\u0301"), "'--person'"),
    (("--role", "cashier", "--person", "x" * 1001), "'--person'"),
    (("--role", "cashier", "--person", "Bob", "--label", "\t"), "'--label'"),
    (("--role", "cashier", "--person", "Bob", "--by", ""), "'--by'"),
])
def test_a_key_without_role_or_holder_is_refused_in_one_line(
    run: Run, arguments: tuple[str, ...], named: str
) -> None:
    ran = run("create", *arguments)

    assert (ran.status, ran.stdout) == (2, "")
    assert ran.stderr.count("\n") == 1
    assert named in ran.stderr
    assert listed(run) == []


# -- list


def test_an_empty_list_says_so(run: Run) -> None:
    assert run("list") == Ran(0, "No keys.\n", "")
    assert run("list", "--json") == Ran(0, "", "")


def test_the_list_shows_who_has_which_key_and_which_are_revoked(run: Run) -> None:
    first, second = created(run, "--label", "till 4"), created(run, "--label", "till 5")
    run("revoke", second.id, "--reason", "till is closed", "--by", "ann")

    ran = run("list")

    lines = {line.split()[0]: line for line in ran.stdout.splitlines()}
    assert list(lines) == ["key", *sorted([first.id, second.id])]
    assert "till 4" in lines[first.id]
    assert lines[second.id].endswith("ann  till is closed")


def test_a_text_that_could_steer_a_terminal_is_spelt_out(run: Run) -> None:
    created(run, "--label", "\x1b[2J")

    assert "\\x1b[2J" in run("list").stdout
    assert "\x1b" not in run("list").stdout


# -- revoke


def test_a_revoked_key_is_turned_away_and_the_list_says_why(run: Run, migrated_database_url: str) -> None:
    key, other = created(run), created(run)

    ran = run("revoke", key.id, "--reason", "laptop lost", "--by", "ann")

    [entry] = [entry for entry in listed(run) if entry["revoked_at"]]
    assert ran == Ran(0, f"Key {key.id} is revoked since {entry['revoked_at']} by ann: laptop lost\n", "")
    assert (entry["key_id"], entry["revoked_by"], entry["reason"]) == (key.id, "ann", "laptop lost")
    assert isinstance(answer(migrated_database_url, key), Denial)
    assert isinstance(answer(migrated_database_url, other), Caller)


def test_a_second_revocation_shows_the_first(run: Run) -> None:
    key = created(run)
    first = run("revoke", key.id, "--reason", "laptop lost", "--by", "ann")

    assert run("revoke", key.id, "--reason", "again", "--by", "bob") == first


def test_a_key_that_is_not_there_is_named(run: Run) -> None:
    assert run("revoke", "00ff00ff00ff00ff", "--reason", "lost") == Ran(
        2, "", "dealproof: key 00ff00ff00ff00ff: there is no such key\n")


def test_who_pastes_the_whole_key_does_not_see_it_repeated(run: Run) -> None:
    key = created(run)

    ran = run("revoke", key.text, "--reason", "lost")

    assert (ran.status, ran.stdout) == (2, "")
    assert key.secret.hex() not in ran.stderr
    assert "16 hex digits" in ran.stderr


@pytest.mark.parametrize("reason", [(), ("--reason", ""), ("--reason", "  ")])
def test_a_revocation_needs_a_reason(run: Run, reason: tuple[str, ...]) -> None:
    key = created(run)

    ran = run("revoke", key.id, *reason)

    assert ran.status == 2
    assert "'--reason'" in ran.stderr
    assert listed(run)[0]["revoked_at"] is None


# -- rotate


def house_of(journal: Journal, settings: Settings) -> House:
    """A house that begins now."""
    url = str(settings.database_url)
    return House(journal, current_data_key(url, settings), lambda key_id: data_key(url, settings, key_id))


def sealed_under(live: LiveRound) -> str:
    assert live.state.opened is not None
    return live.state.opened.sealed_seed.split(".")[1]


def test_a_rotation_leaves_an_open_round_sealed_and_it_ends_as_it_would_have(
    run: Run, settings: Settings, migrated_database_url: str
) -> None:
    """Has gone wrong elsewhere: the seed of an open round revealed by a rotation."""
    ruleset = released_rulesets()[OPEN]
    with Journal.open(migrated_database_url) as journal:
        house = house_of(journal, settings)
        live = opened(house, ruleset)
        made(house, live, place(1), c.Deal())
        [seed] = seeds_of_open_rounds(migrated_database_url, settings)
        old = current_data_key(migrated_database_url, settings)
        before = [stored.record.body for stored in journal.read_stream(live.stream)]

        ran = run("rotate", "--reason", "yearly rotation", "--by", "kim")

        assert ran.status == 0
        assert re.fullmatch("[0-9a-f]{16}\n", ran.stdout)
        new = current_data_key(migrated_database_url, settings)
        assert (new.id, new.id != old.id) == (ran.stdout.strip(), True)
        said = {"out": ran.stdout.encode(), "err": ran.stderr.encode()} | whole_database(migrated_database_url)
        for secret in (seed, old.secret, new.secret, *keys(migrated_database_url, settings)):
            assert where(secret, said) == []
        assert [stored.record.body for stored in journal.read_stream(live.stream)] == before

        restarted = house_of(journal, settings)
        later = opened(restarted, ruleset, number=2)
        assert (sealed_under(live), sealed_under(later)) == (old.id, new.id)
        for one in (restarted.load(live.stream, BY_DIGEST), later):
            played_out(restarted, one, Random(5))
            assert status_of(journal, one.stream) is Status.VERIFIED


def test_a_house_at_work_plays_rounds_that_another_sealed_under_the_new_key(
    run: Run, settings: Settings, migrated_database_url: str
) -> None:
    with Journal.open(migrated_database_url) as journal:
        at_work = house_of(journal, settings)
        run("rotate", "--reason", "yearly rotation")
        live = opened(house_of(journal, settings), released_rulesets()[OPEN])

        played_out(at_work, at_work.load(live.stream, BY_DIGEST), Random(3))

        assert status_of(journal, live.stream) is Status.VERIFIED


def test_a_rotation_says_nothing_but_the_id_however_talkative_the_log(
    settings: Settings, migrated_database_url: str
) -> None:
    with Journal.open(migrated_database_url) as journal:
        opened(house_of(journal, settings), released_rulesets()[OPEN])

    ran = dealproof_process(
        *options(settings), "keys", "rotate", "--reason", "test", environment={"DEALPROOF_LOG": "debug"})

    assert ran.returncode == 0
    assert re.fullmatch(b"[0-9a-f]{16}\n", ran.stdout)
    said = {"out": ran.stdout, "err": ran.stderr}
    for secret in (*seeds_of_open_rounds(migrated_database_url, settings), *keys(migrated_database_url, settings)):
        assert where(secret, said) == []


def test_who_rotated_and_why_stands_in_the_journal(run: Run, migrated_database_url: str) -> None:
    ids = [run("rotate", "--reason", f"reason {number}", "--by", "kim").stdout.strip() for number in range(2)]

    with Journal.open(migrated_database_url) as journal:
        events = [ACCESS_CODEC.decode(stored.record.body).data for stored in journal.read_stream(DATA_KEYS)]
    assert events == [
        DataKeyRotated(by="kim", data_key=key_id, reason=f"reason {number}") for number, key_id in enumerate(ids)]


def test_the_newest_key_is_the_current_one_whatever_the_clock_says(
    run: Run, settings: Settings, migrated_database_url: str
) -> None:
    """The server's clock was an hour ahead when the last key was made."""
    old = current_data_key(migrated_database_url, settings)
    with psycopg.connect(migrated_database_url, autocommit=True) as owner:
        owner.execute("alter table dealproof.data_key disable trigger user")
        owner.execute("update dealproof.data_key set created_at = now() + interval '1 hour'")

    ids = [run("rotate", "--reason", "test").stdout.strip() for _ in range(3)]

    assert current_data_key(migrated_database_url, settings).id == ids[-1]
    assert len({old.id, *ids}) == 4


@pytest.mark.parametrize("damage", ["lost", "another"])
def test_with_a_lost_or_wrong_key_file_nothing_is_rotated(
    run: Run, settings: Settings, migrated_database_url: str, damage: str
) -> None:
    old = current_data_key(migrated_database_url, settings)
    kept = settings.key_file.read_bytes()
    settings.key_file.unlink()
    if damage == "another":
        settings.key_file.write_bytes(b"k" * 32)
        settings.key_file.chmod(0o600)

    ran = run("rotate", "--reason", "test")

    assert (ran.status, ran.stdout) == (2, "")
    assert str(settings.key_file) in ran.stderr
    settings.key_file.unlink(missing_ok=True)
    settings.key_file.write_bytes(kept)
    settings.key_file.chmod(0o600)
    assert current_data_key(migrated_database_url, settings) == old
    with Journal.open(migrated_database_url) as journal:
        assert journal.read_stream(DATA_KEYS) == []


def test_a_rotation_needs_a_reason(run: Run) -> None:
    ran = run("rotate")

    assert (ran.status, ran.stdout) == (2, "")
    assert "'--reason'" in ran.stderr
