"""`dealproof receipt check`: offline, against a file, against a journal from which somebody has taken the round.

Not here: tokens that are none (tests/log/test_receipt.py), how they are issued (tests/ops/floor/test_receipts.py).
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec
import pytest

from domain.log.receipt import Receipt, open_receipt, receipt_token
from domain.log.trust import Trust
from ops.log.ed25519 import check_signature
from ops.log.signing import FileSigningKey
from tests.conftest import _database as new_database
from tests.ops.cli.logged_house import NOWHERE, ORIGIN, House, as_superuser, house_with_log
from tests.ops.cli.running import Ran, dealproof

THERE = "the wager is there, as the receipt says."
NOT_THERE = "this is not what the receipt says."
EITHER = "Either the record was changed afterwards, or the house has signed for a wager that it never took."


@pytest.fixture(scope="module")
def house(server_url: str, migrated_template: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[House]:
    with house_with_log(server_url, migrated_template, tmp_path_factory.mktemp("house")) as house:
        yield house


@pytest.fixture
def url(server_url: str, house: House) -> Iterator[str]:
    with new_database(server_url, house.database) as url:
        yield url


@pytest.fixture(scope="module")
def evidence(house: House, server_url: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The file about the round that has ended."""
    path = tmp_path_factory.mktemp("evidence") / "round.json"
    with new_database(server_url, house.database) as url:
        assert dealproof(*at(house, url), "evidence", house.ended, "-o", str(path)).status == 0
    return path


def at(house: House, url: str = NOWHERE) -> tuple[str, ...]:
    return "--home", str(house.home), "--database-url", url


def check(house: House, token: str, *options: str, url: str = NOWHERE) -> Ran:
    return dealproof(*at(house, url), "receipt", "check", token, *options)


def receipt_in(house: House, token: str) -> Receipt:
    return open_receipt(token, Trust.from_json(house.trust.read_bytes()), check_signature)


def changed_file(evidence: Path, folder: Path, kind: str, old: str, new: str) -> Path:
    """The file with something else in the body of one kind of event."""
    file: dict[str, Any] = json.loads(evidence.read_bytes())
    [event] = [each for each in file["events"] if f'"type":"{kind}"' in each["body"] and old in each["body"]][:1]
    event["body"] = event["body"].replace(old, new, 1)
    path = folder / "changed.json"
    path.write_text(json.dumps(file))
    return path


# -- good ones


def test_a_good_receipt_is_told_in_full(house: House) -> None:
    """From a machine that has no database: nothing is asked but the trust file."""
    ran = check(house, house.tokens[0])

    receipt = receipt_in(house, house.tokens[0])
    assert ran.status == 0
    assert ran.stderr == ""
    assert ran.stdout.splitlines() == [
        f"Receipt of {ORIGIN}: the house has signed that it took this wager",
        f"  round       {house.ended}",
        "  box         1",
        "  player      anna",
        "  stake       400 in minor units (cents) of the round's currency",
        f"  position    {receipt.position} in the house's journal",
        f"  commitment  {receipt.commitment}",
        f"  ruleset     {receipt.ruleset_digest}",
        f"  checkpoint  {receipt.checkpoint_size} events, root {receipt.checkpoint_root}",
    ]


def test_a_receipt_may_lie_in_a_file(house: House, tmp_path: Path) -> None:
    """As an editor leaves it, with an end to its line."""
    path = tmp_path / "slip.txt"
    for ending in ("", "\n", "\r\n"):
        path.write_bytes(house.tokens[1].encode() + ending.encode())

        assert check(house, str(path)) == check(house, house.tokens[1])
        assert check(house, str(path)).status == 0


def test_the_trust_may_be_the_players_own(house: House, tmp_path: Path) -> None:
    own = tmp_path / "mine.json"
    own.write_bytes(house.trust.read_bytes())

    ran = dealproof("--home", str(tmp_path / "none"), "receipt", "check", house.tokens[0], "--trust", str(own))

    assert ran == check(house, house.tokens[0])
    assert not (tmp_path / "none").exists()


def test_as_json(house: House) -> None:
    ran = check(house, house.tokens[0], "--json")

    told = json.loads(ran.stdout)
    assert ran.status == 0
    assert ran.stdout.count("\n") == 1
    assert told.pop("receipt") == msgspec.to_builtins(receipt_in(house, house.tokens[0]))
    assert told == {"against": None, "verdict": "good", "discrepancies": []}


# -- against an evidence file


@pytest.mark.parametrize("number", [0, 1])
def test_an_evidence_file_has_the_wager(house: House, evidence: Path, number: int) -> None:
    ran = check(house, house.tokens[number], "--evidence", str(evidence))

    assert ran.status == 0
    *_, compared, hint = ran.stdout.splitlines()
    assert compared == f"Held against {evidence}: {THERE}"
    assert hint == f"Is the file itself true?  dealproof verify {evidence} says that."


def test_an_evidence_file_with_another_stake_contradicts(house: House, evidence: Path, tmp_path: Path) -> None:
    path = changed_file(evidence, tmp_path, "box-placed.v1", '"bonus":100,"box":1', '"bonus":0,"box":1')

    ran = check(house, house.tokens[0], "--evidence", str(path))

    assert ran.status == 1
    assert ran.stdout.splitlines()[9:12] == [
        f"Held against {path}: {NOT_THERE}",
        "  stake: the record says 300, the receipt says 400",
        EITHER,
    ]
    told = json.loads(check(house, house.tokens[0], "--evidence", str(path), "--json").stdout)
    assert (told["verdict"], told["against"]) == ("contradicted", str(path))
    [finding] = told["discrepancies"]
    assert (finding["field"], finding["recorded"], finding["recomputed"]) == ("stake", 300, 400)
    assert check(house, house.tokens[1], "--evidence", str(path)).status == 0, "the other box is as it was"


CHANGES = [
    ("round-opened.v1", '"commitment":"', '"commitment":"0', "commitment: the record says 0"),
    ("round-opened.v1", '"type":"round-opened.v1"', '"type":"round-begun.v1"', "the record has no round"),
    ("box-placed.v1", '"player":"anna"', '"player":"dora"', "player: the record says dora, the receipt says anna"),
    ("box-placed.v1", '"type":"box-placed.v1"', '"type":"box-folded.v1"', "does not have the wager on box 1"),
    ("wagers-accepted.v1", '"checkpoint_size":', '"checkpoint_size":1', "checkpoint size: the record says 1"),
    ("wagers-accepted.v1", '"box":1', '"box":3', "does not say which checkpoint was named for the wager on box 1"),
]


@pytest.mark.parametrize(("kind", "old", "new", "words"), CHANGES)
def test_what_a_file_says_otherwise_is_told_in_words(
    house: House, evidence: Path, tmp_path: Path, kind: str, old: str, new: str, words: str
) -> None:
    ran = check(house, house.tokens[0], "--evidence", str(changed_file(evidence, tmp_path, kind, old, new)))

    assert ran.status == 1
    assert words in ran.stdout
    assert EITHER in ran.stdout


def test_a_file_about_another_round_says_nothing_of_this_one(house: House, evidence: Path) -> None:
    """It is no contradiction: the wrong file was taken."""
    ran = check(house, house.open_token, "--evidence", str(evidence))

    assert ran == Ran(2, "", f"dealproof: {evidence}: is about round {house.ended}, the receipt about {house.open}\n")


# -- against the journal


@pytest.mark.parametrize("number", [0, 1])
def test_the_journal_has_the_wager(house: House, url: str, number: int) -> None:
    ran = check(house, house.tokens[number], "--journal", url=url)

    assert ran.status == 0
    assert ran.stdout.splitlines()[-1] == f"Held against the journal: {THERE}"


def test_the_journal_has_the_wager_of_a_round_that_is_still_open(house: House, url: str) -> None:
    assert check(house, house.open_token, "--journal", url=url).status == 0


def test_a_round_that_somebody_has_deleted_is_shown_to_be_missing(house: House, url: str) -> None:
    """By a superuser, with all that stood beside it."""
    delete = "delete from dealproof.events where originator_id = %s"
    as_superuser(url, *((delete, (f"{kind}:{house.ended}",)) for kind in ("round", "receipt")))

    ran = check(house, house.tokens[0], "--journal", url=url)

    assert ran.status == 1
    assert ran.stdout.splitlines()[-3:] == [
        f"Held against the journal: {NOT_THERE}",
        f"  the record has no round {house.ended}, or none that can be read",
        EITHER,
    ]
    assert json.loads(check(house, house.tokens[0], "--journal", "--json", url=url).stdout)["verdict"] == "contradicted"


def test_a_wager_that_somebody_has_deleted_is_shown_to_be_missing(house: House, url: str) -> None:
    position = receipt_in(house, house.tokens[1]).position
    as_superuser(url, ("delete from dealproof.events where notification_id = %s", (position,)))

    ran = check(house, house.tokens[1], "--journal", url=url)

    assert ran.status == 1
    assert f"  the record does not have the wager on box 2 at position {position}\n" in ran.stdout


def test_a_journal_that_cannot_be_read_says_nothing(house: House) -> None:
    ran = check(house, house.tokens[0], "--journal")

    assert (ran.status, ran.stdout) == (2, "")
    assert ran.stderr.startswith("dealproof: database 127.0.0.1:1/nothing: ")


# -- no receipts


def assert_one_line(ran: Ran, words: str) -> None:
    assert (ran.status, ran.stdout) == (2, "")
    assert ran.stderr.startswith("dealproof: ")
    assert ran.stderr.count("\n") == 1
    assert words in ran.stderr
    assert len(ran.stderr) < 500


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda token: token[:-1], "its signature has 63 bytes|is not base64url"),
        (lambda token: token[:40], "is not dpr1.<body>.<signature>"),
        (lambda token: token.replace("dpr1.", "dpr1.A", 1), "receipt: "),
        (lambda token: token + token, "is not dpr1.<body>.<signature>"),
        (lambda token: "dpr1." + "A" * 5000, "characters are more than 4096"),
        (lambda token: "dpr1.é.x", "its body is not base64url"),
        (lambda token: "dpr2." + token, "is no token, and no file: "),
        (lambda token: "x" * 5000, "is no token, and no file: "),
        (lambda token: "", "is no token, and no file: "),
    ],
)
def test_a_text_that_is_no_receipt_is_one_line(house: House, change: Any, words: str) -> None:
    ran = check(house, change(house.tokens[0]))

    assert_one_line(ran, "receipt: ")
    assert any(word in ran.stderr for word in words.split("|")), ran.stderr


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"", "is not dpr1.<body>.<signature>"),
        (b"\xff\xfe\0", "is not dpr1.<body>.<signature>"),
        (b"dpr1." * 100_000, "receipt: "),
        (b"two\nlines", "is not dpr1.<body>.<signature>"),
    ],
)
def test_a_file_that_holds_none_is_one_line(house: House, tmp_path: Path, data: bytes, words: str) -> None:
    path = tmp_path / "slip.txt"
    path.write_bytes(data)

    assert_one_line(check(house, str(path)), words)


def test_a_folder_holds_none(house: House, tmp_path: Path) -> None:
    assert_one_line(check(house, str(tmp_path)), "is no token, and no file: Is a directory")


def test_a_receipt_of_a_house_that_is_not_trusted_is_none(house: House, tmp_path: Path) -> None:
    trust = Trust.from_json(house.trust.read_bytes())
    path = tmp_path / "trust.json"
    path.write_bytes(replace(trust, receipt_keys=()).to_json())

    assert_one_line(check(house, house.tokens[0], "--trust", str(path)), "which is not pinned")


def test_without_a_trust_file_nothing_is_believed(house: House, tmp_path: Path) -> None:
    missing = str(tmp_path / "none.json")

    assert_one_line(check(house, house.tokens[0], "--trust", missing), f"trust file {missing}: is missing")


@pytest.mark.parametrize("data", [b"", b"{}", b'{"format":"dp2/evidence"}', b"\xff", b"[" * 100_000])
def test_an_evidence_file_that_is_none_is_one_line(house: House, tmp_path: Path, data: bytes) -> None:
    path = tmp_path / "round.json"
    path.write_bytes(data)

    assert_one_line(check(house, house.tokens[0], "--evidence", str(path)), f"{path}: evidence: ")


def test_a_record_is_a_file_or_the_journal(house: House, evidence: Path) -> None:
    ran = check(house, house.tokens[0], "--journal", "--evidence", str(evidence))

    assert_one_line(ran, "receipt: --evidence or --journal, not both")


def test_a_players_name_can_make_no_line_of_its_own(house: House) -> None:
    """Though the house has signed it: a name is text, and text can hold anything."""
    key = FileSigningKey(house.home / "keys" / "receipt.key", f"{ORIGIN}/receipts")
    named = msgspec.structs.replace(receipt_in(house, house.tokens[0]), player=f"x\nHeld against it: {THERE}\x1b[2J")

    ran = check(house, receipt_token(named, key.verifier, key.sign))

    assert ran.status == 0
    assert len(ran.stdout.splitlines()) == 9
    assert "\x1b" not in ran.stdout
    assert f"  player      x\\nHeld against it: {THERE}\\x1b[2J\n" in ran.stdout
