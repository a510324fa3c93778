"""`dealproof evidence ROUND -o FILE` and then `dealproof verify FILE`, on a machine that has the file and a trust only.

Not here: files that somebody has changed, by rung (tests/ops/floor/test_evidence_files.py).
"""

from __future__ import annotations

import json
import os
import resource
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from domain.log.checkpoint import VerifierKey
from domain.log.trust import PinnedKey, Trust
from replay.evidence_file import LARGEST_FILE, read_evidence
from tests.conftest import _database as new_database
from tests.log.signers import ALPHA
from tests.ops.cli.logged_house import NOWHERE, ORIGIN, House, house_with_log
from tests.ops.cli.running import Ran, dealproof

LADDER = ["bytes", "chain", "order", "commitment", "deck", "legality", "payout", "ledger", "log"]
LEVELS = [
    ([], "a regulator"), (["--as", "regulator"], "a regulator"), (["--as", "adr"], "dispute resolution"),
    (["--as", "player", "--player", "anna"], "player anna"), (["--as", "player", "--player", "boris"], "player boris"),
]  # fmt: skip


@pytest.fixture(scope="module")
def house(server_url: str, migrated_template: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[House]:
    with house_with_log(server_url, migrated_template, tmp_path_factory.mktemp("house")) as house:
        yield house


@pytest.fixture(scope="module")
def url(server_url: str, house: House) -> Iterator[str]:
    """A copy that all tests here read."""
    with new_database(server_url, house.database) as url:
        yield url


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Where files are written; nothing else is in it."""
    folder = tmp_path / "files"
    folder.mkdir()
    return folder


def evidence(house: House, url: str, path: Path, *options: str, round_name: str | None = None) -> Ran:
    name = house.ended if round_name is None else round_name
    return dealproof("--home", str(house.home), "--database-url", url, "evidence", name, "-o", str(path), *options)


def verify(house: House, path: Path, *options: str, trust: Path | None = None) -> Ran:
    """By somebody who has no database and no home."""
    home = str(path.parent / "none")
    given = str(trust or house.trust)
    return dealproof("--home", home, "--database-url", NOWHERE, "verify", str(path), "--trust", given, *options)


def assert_one_line(ran: Ran, *words: str) -> None:
    assert (ran.status, ran.stdout) == (2, "")
    assert ran.stderr.startswith("dealproof: ")
    assert ran.stderr.count("\n") == 1
    assert len(ran.stderr) < 500
    for word in words:
        assert word in ran.stderr


# -- written and verified


@pytest.mark.parametrize(("options", "whom"), LEVELS)
def test_a_file_of_every_level_verifies_in_full(
    house: House, url: str, folder: Path, options: list[str], whom: str
) -> None:
    path = folder / "round.json"

    assert evidence(house, url, path, *options) == Ran(0, "", "")
    ran = verify(house, path)

    assert (ran.status, ran.stderr) == (0, "")
    first, second, third, *rungs = ran.stdout.splitlines()
    assert first.startswith(f"Evidence for {whom}, made 20")
    assert second.startswith(f"Log {ORIGIN}, ")
    assert second.endswith(" events, cosigned by nobody")
    assert third == f"Round {house.ended}: verified"
    assert [rung.split()[:2] for rung in rungs] == [[name, "verified"] for name in LADDER]
    assert os.listdir(folder) == ["round.json"]


def test_as_json(house: House, url: str, folder: Path) -> None:
    evidence(house, url, folder / "round.json")

    ran = verify(house, folder / "round.json", "--json")

    told = json.loads(ran.stdout)
    assert ran.status == 0
    assert (told["round"], told["verdict"]) == (house.ended, "verified")
    assert [check["check"] for check in told["checks"]] == LADDER


def test_a_round_may_be_named_by_table_and_number(house: House, url: str, folder: Path) -> None:
    assert evidence(house, url, folder / "a.json", round_name="open-russian-poker/1").status == 0

    assert read_evidence((folder / "a.json").read_bytes()).round == house.ended


def test_a_file_of_that_name_is_replaced(house: House, url: str, folder: Path) -> None:
    """Once the new one is whole; a link is replaced, not what it points to."""
    (folder / "old.json").write_text("old")
    (folder / "link.json").symlink_to(folder / "old.json")

    assert evidence(house, url, folder / "link.json").status == 0
    assert (folder / "old.json").read_text() == "old"
    assert evidence(house, url, folder / "old.json").status == 0

    assert verify(house, folder / "old.json").status == 0
    assert sorted(os.listdir(folder)) == ["link.json", "old.json"]


def test_a_round_behind_the_log_is_written_with_a_word_about_it(house: House, url: str, folder: Path) -> None:
    ran = evidence(house, url, folder / "round.json", round_name=house.behind)

    words = "dealproof: the log has not got so far; a file that is made later proves more\n"
    assert ran == Ran(0, "", words)
    verified = verify(house, folder / "round.json")
    assert verified.status == 2
    assert f"Round {house.behind}: not-checkable" in verified.stdout


@pytest.mark.parametrize("with_trust", [False, True])
def test_where_no_log_is_kept_the_file_says_so(
    house: House, url: str, folder: Path, tmp_path: Path, with_trust: bool
) -> None:
    """Neither a log nor its keys are there; the rest of the ladder can be climbed all the same."""
    home = tmp_path / "home"
    home.mkdir()
    if with_trust:
        (home / "trust.json").write_bytes(house.trust.read_bytes())

    ran = evidence(replace(house, home=home), url, folder / "round.json")

    assert (ran.status, ran.stdout) == (0, "")
    assert ran.stderr == "dealproof: the file has no proof of the log: no log is kept here\n"
    verified = verify(house, folder / "round.json")
    assert verified.status == 2
    assert "log         not-checkable  (the file has no checkpoint of a log)" in verified.stdout
    assert verified.stdout.count(" verified") == len(LADDER) - 1


# -- who is believed


def test_without_a_trust_file_nothing_is_verified(house: House, url: str, folder: Path, tmp_path: Path) -> None:
    evidence(house, url, folder / "round.json")

    assert_one_line(verify(house, folder / "round.json", trust=tmp_path / "none.json"), "none.json: is missing")
    assert_one_line(verify(house, folder / "round.json", trust=tmp_path), "trust file", "Is a directory")
    (tmp_path / "bad.json").write_text('{"format":"dp2/trust"}')
    assert_one_line(verify(house, folder / "round.json", trust=tmp_path / "bad.json"), "bad.json", "format")


def _stranger(trust: Trust) -> Trust:
    return replace(trust, log_keys=(PinnedKey(VerifierKey(ORIGIN, 1, ALPHA.key.public_key)),))


def _other_log(trust: Trust) -> Trust:
    key = VerifierKey("other.example/log", 1, trust.log_keys[0].key.public_key)
    return replace(trust, origin="other.example/log", log_keys=(PinnedKey(key),))


def _retired(trust: Trust) -> Trust:
    return replace(trust, log_keys=(PinnedKey(trust.log_keys[0].key, 0, 1),))


def _witnessed(trust: Trust) -> Trust:
    witness = PinnedKey(ALPHA.key)
    return replace(trust, witness_keys=(witness,), witnesses_needed=1)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (_stranger, "no signature of a pinned key of casino.example/log"),
        (_other_log, "is of the log casino.example/log, not of other.example/log"),
        (_retired, "is pinned for 0 to 1 events"),
        (_witnessed, "0 of the 1 cosignatures that are wanted are there"),
    ],
)
def test_who_is_not_believed_proves_nothing(
    house: House, url: str, folder: Path, tmp_path: Path, change: Callable[[Trust], Trust], words: str
) -> None:
    """The keys in the house's own hands are not the reader's."""
    evidence(house, url, folder / "round.json")
    own = tmp_path / "mine.json"
    own.write_bytes(change(Trust.from_json(house.trust.read_bytes())).to_json())

    ran = verify(house, folder / "round.json", trust=own)

    assert ran.status == 1
    assert f"Round {house.ended}: discrepancy" in ran.stdout
    assert words in ran.stdout


# -- files that are not as they were


def changed(house: House, url: str, path: Path, change: Callable[[dict[str, Any]], object]) -> None:
    evidence(house, url, path)
    file = json.loads(path.read_bytes())
    change(file)
    path.write_text(json.dumps(file))


def test_a_raised_payment_is_found(house: House, url: str, folder: Path) -> None:
    def raised(file: dict[str, Any]) -> None:
        event = next(each for each in file["events"] if '"type":"box-settled.v1"' in each["body"])
        event["body"] = event["body"].replace('"returned":', '"returned":1', 1)

    changed(house, url, folder / "round.json", raised)
    ran = verify(house, folder / "round.json")

    assert (ran.status, ran.stderr) == (1, "")
    assert f"Round {house.ended}: discrepancy" in ran.stdout
    for rung in ("payout", "log"):
        assert f"  {rung:<11} discrepancy" in ran.stdout


@pytest.mark.parametrize("field", ["made_at", "software"])
def test_what_nobody_vouches_for_can_make_no_line_of_its_own(
    house: House, url: str, folder: Path, field: str
) -> None:
    """Such as a verdict."""
    forged = f"2026\nRound {house.ended}: verified\x1b[1A"
    changed(house, url, folder / "round.json", lambda file: file.update({field: forged}))

    ran = verify(house, folder / "round.json")

    assert ran.stdout.count("\n") == 3 + len(LADDER)
    assert "\x1b" not in ran.stdout
    assert len(ran.stdout.splitlines()[0]) < 200


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"", "not JSON"),
        (b"[]", "Expected `object`, got `array`"),
        (b'{"format":"dp2/evidence"}', "format: 'dp2/evidence' is not 'dp1/evidence'"),
        (b"\x89PNG\r\n\x1a\n", "not UTF-8 text at byte 0"),
        (b"[" * 1_000_000, "nested too deeply"),
    ],
)
def test_a_file_that_is_none_is_one_line(house: House, folder: Path, data: bytes, words: str) -> None:
    path = folder / "round.json"
    path.write_bytes(data)

    assert_one_line(verify(house, path), f"{path}: evidence: ", words)


def test_a_file_cut_off_is_one_line(house: House, url: str, folder: Path) -> None:
    path = folder / "round.json"
    evidence(house, url, path)
    data = path.read_bytes()
    for end in (1, len(data) // 2, len(data) - 2):
        path.write_bytes(data[:end])
        assert_one_line(verify(house, path), f"{path}: evidence: not JSON")


def test_a_huge_file_is_not_read_to_its_end(house: House, folder: Path) -> None:
    path = folder / "huge.json"
    with path.open("wb") as file:
        file.truncate(2**40)

    assert_one_line(verify(house, path), f"{path}: evidence: {LARGEST_FILE + 1} bytes are more than")


def test_a_pipe_that_nobody_writes_to_is_not_waited_for(house: House, url: str, folder: Path) -> None:
    """It is no file, so its name is taken for a round's."""
    os.mkfifo(folder / "pipe")
    home = ("--home", str(house.home), "--database-url", url)

    assert_one_line(dealproof(*home, "verify", str(folder / "pipe"), "--trust", str(house.trust)), "is neither an id")


# -- files that can't be made


def assert_nothing_made(ran: Ran, folder: Path, *words: str) -> None:
    assert_one_line(ran, *words)
    assert os.listdir(folder) == []


def test_an_open_round_has_no_file_yet(house: House, url: str, folder: Path) -> None:
    """Its seed is hidden; a file would prove nothing and show what is not for everybody yet."""
    ran = evidence(house, url, folder / "round.json", round_name=house.open)

    assert_nothing_made(ran, folder, f"round {house.open}: has not ended")


@pytest.mark.parametrize(
    ("round_name", "words"),
    [("0" * 32, "there is no such round"), ("open-russian-poker/99", "has no round 99"), ("x", "is neither an id")],
)
def test_a_round_that_is_not_there_has_no_file(
    house: House, url: str, folder: Path, round_name: str, words: str
) -> None:
    assert_nothing_made(evidence(house, url, folder / "round.json", round_name=round_name), folder, words)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--as", "player"], "--player: names the player with --as player"),
        (["--player", "anna"], "--player: names the player with --as player"),
        (["--as", "adr", "--player", "anna"], "--player: names the player with --as player"),
        (["--as", "player", "--player", "dora"], "dora has no box in this round; there is anna, boris"),
        (["--as", "press"], "'press' is not one of"),
    ],
)
def test_a_file_for_nobody_is_not_made(
    house: House, url: str, folder: Path, options: list[str], words: str
) -> None:
    assert_nothing_made(evidence(house, url, folder / "round.json", *options), folder, words)


def test_a_place_that_is_none_is_named_before_the_work(house: House, folder: Path, tmp_path: Path) -> None:
    """Before the database is asked, which is not there; a pipe or a device would be replaced, not written to."""
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "file").write_text("x")
    for place, words in [
        (folder, "is no file"),
        (tmp_path / "pipe", "is no file"),
        (Path("/dev/null"), "is no file"),
        (tmp_path / "none" / "round.json", f"there is no folder {tmp_path / 'none'}"),
        (tmp_path / "file" / "round.json", f"there is no folder {tmp_path / 'file'}"),
    ]:
        assert_one_line(evidence(house, NOWHERE, place), f"-o: {place}: {words}")
    assert Path("/dev/null").is_char_device()
    assert os.listdir(folder) == []


@contextmanager
def room_for(size: int) -> Iterator[None]:
    """No file may grow beyond so many bytes: a write fails in the middle, as on a full disk."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


@pytest.mark.parametrize("there", [False, True])
def test_a_disk_that_gets_full_leaves_nothing_half(house: House, url: str, folder: Path, there: bool) -> None:
    """Not under its name, and no draft either; what stood there stays."""
    path = folder / "round.json"
    if there:
        path.write_text("old")

    with room_for(2000):
        ran = evidence(house, url, path)

    assert_one_line(ran, f"-o: {path}: File too large")
    assert os.listdir(folder) == (["round.json"] if there else [])
    assert not there or path.read_text() == "old"


def test_a_name_that_is_too_long_is_named(house: House, url: str, folder: Path) -> None:
    assert_nothing_made(evidence(house, url, folder / ("n" * 250)), folder, "-o: ", "File name too long")


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_a_folder_that_is_not_ours_is_named(house: House, url: str, folder: Path) -> None:
    folder.chmod(0o555)

    assert_nothing_made(evidence(house, url, folder / "round.json"), folder, "-o: ", "Permission denied")
