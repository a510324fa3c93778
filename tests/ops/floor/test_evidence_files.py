"""A round's evidence, made from a journal and its log, read by somebody who has only the file and his pinned keys."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from random import Random
from typing import Any

import msgspec
import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from domain.log.checkpoint import COSIGNATURE, LOG, Opened, VerifierKey, cosignature, parse_note
from domain.log.trust import PinnedKey, Trust
from domain.round.choices import Void
from ops.evidence_file import LevelError, best_checkpoint, gather, logged, make_file, newest_checkpoint
from ops.floor import Floor
from ops.log.ed25519 import check_signature
from ops.log.sequencer import Sequencer
from ops.log.store import LogStore
from ops.receipts import Receipts
from replay.evidence_file import EvidenceError, EvidenceFile, Level, read_evidence, verify_evidence
from replay.verdict import CheckName, Status, Verdict
from tests.ops.floor.casino import KEY, OPEN, Casino, box

ORIGIN = "casino.example/dealproof"
NAMES = ("log", "receipt", "witness")
PRIVATE = {name: Ed25519PrivateKey.from_private_bytes(name.encode().ljust(32)) for name in NAMES}


def public(name: str, called: str, kind: int = LOG) -> VerifierKey:
    return VerifierKey(called, kind, PRIVATE[name].public_key().public_bytes_raw())


LOG_KEY = public("log", ORIGIN)
RECEIPT_KEY = public("receipt", f"{ORIGIN}/receipts")
WITNESS_KEY = public("witness", "regulator.example/w1", COSIGNATURE)
TRUST = Trust(ORIGIN, (PinnedKey(LOG_KEY),), (PinnedKey(WITNESS_KEY),), (PinnedKey(RECEIPT_KEY),), 1)


class Key:
    """The log's key, in memory."""

    verifier = LOG_KEY

    def sign(self, message: bytes) -> bytes:
        return PRIVATE["log"].sign(message)


@dataclass
class Site:
    """A casino whose log is kept, with a witness."""

    casino: Casino
    store: LogStore
    sequencer: Sequencer

    def publish(self, *, cosigned: bool = True) -> None:
        """A checkpoint over all there is."""
        self.sequencer.catch_up()
        if cosigned:
            note = parse_note(self.store.checkpoint() or b"")
            line = cosignature(note.body, 1_790_000_000, WITNESS_KEY, PRIVATE["witness"].sign)
            self.store.add_cosigned(note._replace(signatures=(*note.signatures, line)))

    def file(self, stream: str, level: Level = Level.REGULATOR, player: str | None = None) -> EvidenceFile:
        """As the command makes it, and read again from its bytes."""
        gathered = gather(self.casino.journal, stream, level, player)
        log = logged(gathered, newest_checkpoint(self.store, TRUST), self.store.nodes)
        made = make_file(
            self.casino.journal, gathered, log, level, player, made_at="2026-12-01T00:00:00.000Z", software="test"
        )
        assert read_evidence(made.to_bytes()).to_bytes() == made.to_bytes()
        return read_evidence(made.to_bytes())


@pytest.fixture
def site(casino: Casino, tmp_path: Path) -> Any:
    store = LogStore(tmp_path / "log")
    with Sequencer(casino.journal, store, Key(), ORIGIN) as sequencer:
        site = Site(casino, store, sequencer)

        def newest() -> Any:
            sequencer.catch_up()
            opened = newest_checkpoint(store, replace(TRUST, witnesses_needed=0))
            return opened.checkpoint  # type: ignore[union-attr]

        casino.floor = Floor(casino.journal, KEY, receipts=Receipts(newest, RECEIPT_KEY, PRIVATE["receipt"].sign))
        yield site


@pytest.fixture
def stream(site: Site) -> str:
    """A round of three players with bonuses, another one before and behind it."""
    site.casino.played(OPEN, Random(1))
    made = site.casino.dealt(OPEN, box(1, "anna", 300, 100), box(2, "boris", 300), box(3, "clara", 300, 50))
    site.casino.played_out(made, Random(5))
    site.casino.played(OPEN, Random(2))
    site.publish()
    return made.stream


def verdict(file: EvidenceFile, trust: Trust = TRUST) -> Verdict:
    return verify_evidence(file, trust, check_signature)


def statuses(found: Verdict) -> dict[CheckName, Status]:
    return {check.name: check.status for check in found.checks}


ALL = dict.fromkeys(CheckName, Status.VERIFIED)
LEVELS = [(Level.REGULATOR, None), (Level.ADR, None), (Level.PLAYER, "anna"), (Level.PLAYER, "boris")]


@pytest.mark.parametrize(("level", "player"), LEVELS)
def test_every_level_verifies_on_every_rung(site: Site, stream: str, level: Level, player: str | None) -> None:
    found = verdict(site.file(stream, level, player))

    assert statuses(found) == ALL
    assert found.status is Status.VERIFIED


def test_a_player_gets_nobody_elses_account(site: Site, stream: str) -> None:
    file = site.file(stream, Level.PLAYER, "anna")

    streams = {json.loads(event.body)["stream"].rpartition(":")[2] for event in file.events}
    assert "anna" in streams
    assert not {"boris", "clara"} & streams
    [books] = [check for check in verdict(file).checks if check.name is CheckName.LEDGER]
    assert books.reason == "the account of anna only"


def test_only_a_regulator_sees_who_intervened(site: Site) -> None:
    opened = site.casino.dealt(OPEN, box(1))
    site.casino.choose(opened.stream, Void("power failure"))
    site.publish()

    kinds = {
        level: {json.loads(event.body)["type"] for event in site.file(opened.stream, level).events}
        for level in (Level.REGULATOR, Level.ADR)
    }
    assert "round-intervened.v1" in kinds[Level.REGULATOR]
    assert "round-intervened.v1" not in kinds[Level.ADR]
    assert verdict(site.file(opened.stream)).status is Status.VERIFIED


def test_a_player_who_was_not_there_has_no_file(site: Site, stream: str) -> None:
    with pytest.raises(LevelError, match="dora has no box in this round; there is anna, boris, clara"):
        gather(site.casino.journal, stream, Level.PLAYER, "dora")


def test_a_round_behind_the_checkpoint_is_not_checkable(site: Site, stream: str) -> None:
    site.publish()
    made = site.casino.played_out(site.casino.dealt(OPEN, box(1)), Random(9))

    found = verdict(site.file(made.stream))

    assert found.status is Status.NOT_CHECKABLE
    assert statuses(found) == ALL | {CheckName.LOG: Status.NOT_CHECKABLE}


def test_a_cosigned_checkpoint_is_preferred_to_a_newer_one(site: Site, stream: str) -> None:
    """As long as it holds all of the round."""
    cosigned = newest_checkpoint(site.store, TRUST)
    site.casino.played(OPEN, Random(3))
    site.publish(cosigned=False)
    lenient = replace(TRUST, witnesses_needed=0)

    assert best_checkpoint(site.store, lenient, gather(site.casino.journal, stream)) == cosigned
    made = site.casino.played_out(site.casino.dealt(OPEN, box(1)), Random(9))
    site.publish(cosigned=False)
    opened = best_checkpoint(site.store, lenient, gather(site.casino.journal, made.stream))
    assert opened == newest_checkpoint(site.store, lenient) != cosigned


def test_who_has_cosigned_the_newest_checkpoint_is_said_unasked(site: Site, stream: str) -> None:
    """Also where the trust wants no witness."""
    opened = newest_checkpoint(site.store, replace(TRUST, witnesses_needed=0))

    assert isinstance(opened, Opened)
    assert [each.witness for each in opened.cosigned] == ["regulator.example/w1"]


def test_without_the_wanted_witness_there_is_no_checkpoint(site: Site) -> None:
    made = site.casino.played_out(site.casino.dealt(OPEN, box(1)), Random(9))
    site.publish(cosigned=False)

    file = site.file(made.stream)

    assert file.checkpoint is None
    assert verdict(file).status is Status.NOT_CHECKABLE


# -- files that somebody has changed

Edit = Callable[[dict[str, Any]], None]


def _set(field: str, value: Any) -> Edit:
    return lambda file: file.__setitem__(field, value)


def _body(kind: str, old: str, new: str) -> Edit:
    def edit(file: dict[str, Any]) -> None:
        event = next(event for event in file["events"] if f'"type":"{kind}"' in event["body"])
        assert old in event["body"], event["body"]
        event["body"] = event["body"].replace(old, new, 1)

    return edit


def _drop(kind: str) -> Edit:
    def edit(file: dict[str, Any]) -> None:
        file["events"] = [event for event in file["events"] if f'"type":"{kind}"' not in event["body"]]

    return edit


def _note(old: str, new: str) -> Edit:
    def edit(file: dict[str, Any]) -> None:
        assert old in file["checkpoint"]
        file["checkpoint"] = file["checkpoint"].replace(old, new, 1)

    return edit


def _first(**fields: Any) -> Edit:
    return lambda file: file["events"][3].update(fields)


FOUND: list[tuple[str, Edit, CheckName]] = [
    ("a payment raised", _body("box-settled.v1", '"returned":', '"returned":1'), CheckName.PAYOUT),
    ("a posting raised", _body("funds-staked.v1", '"amount":', '"amount":1'), CheckName.LEDGER),
    ("a receipt's checkpoint moved", _body("wagers-accepted.v1", '"checkpoint_size":', '"checkpoint_size":1'),
     CheckName.LOG),
    ("the accepted wagers left out", _drop("wagers-accepted.v1"), CheckName.LOG),
    ("a posting left out", _drop("funds-staked.v1"), CheckName.LEDGER),
    ("the table's number left out", _drop("round-numbered.v1"), CheckName.LEDGER),
    ("an event left out", _drop("cards-dealt.v1"), CheckName.CHAIN),
    ("a position moved", _first(position=7), CheckName.LOG),
    ("a proof emptied", _first(proof=[]), CheckName.LOG),
    ("a proof left out", _first(proof=None), CheckName.LOG),
    ("another size", _note(f"{ORIGIN}\n", f"{ORIGIN}\n1"), CheckName.LOG),
    ("another origin", _note(f"{ORIGIN}\n", "other.example\n"), CheckName.LOG),
    ("line ends of another system", _note("\n", "\r\n"), CheckName.LOG),
    ("no witness", lambda file: file.update(checkpoint=file["checkpoint"].rpartition("— ")[0]), CheckName.LOG),
    ("a note cut off", lambda file: file.update(checkpoint=file["checkpoint"][:-5]), CheckName.LOG),
]  # fmt: skip


@pytest.mark.parametrize(("edit", "rung"), [row[1:] for row in FOUND], ids=[row[0] for row in FOUND])
def test_a_changed_file_is_found_out(site: Site, stream: str, edit: Edit, rung: CheckName) -> None:
    file = json.loads(site.file(stream).to_bytes())
    edit(file)

    found = verdict(read_evidence(json.dumps(file).encode()))

    assert statuses(found)[rung] is Status.DISCREPANCY, found.as_json()


def test_a_file_without_the_accepted_wagers_says_nothing_of_their_order(site: Site, stream: str) -> None:
    """As of a time when no log was kept: whoever has a receipt asks why."""
    file = json.loads(site.file(stream).to_bytes())
    _drop("wagers-accepted.v1")(file)
    file["earlier"] = []

    [log] = [each for each in verdict(read_evidence(json.dumps(file).encode())).checks if each.name is CheckName.LOG]

    assert log.reason == "no event names a checkpoint for the wagers, as where no log was kept when they were taken"


REFUSED: list[tuple[str, Edit, str]] = [
    ("a newer format", _set("format", "dp2/evidence"), "format: 'dp2/evidence' is not 'dp1/evidence'"),
    ("a field nobody knows", _set("notes", "x"), "unknown field `notes`"),
    ("a field missing", lambda file: file.pop("level"), "missing required field `level`"),
    ("another level", _set("level", "press"), "Invalid enum value 'press'"),
    ("a player at another level", _set("player", "anna"), "player: is named at the level player"),
    ("a round that is none", _set("round", "XYZ"), "round: 'XYZ' is not 32 lower-case hex digits"),
    ("a position of a float", _first(position=7.5), "Expected `int`, got `float`"),
    ("a position below one", _first(position=0), "a position counts from 1"),
    ("a proof that is no base64", _first(proof=["@@@@"]), r"events\[3\].proof: not base64"),
    ("base64 in another spelling", _first(proof=["YWJjZB=="]), "not base64"),
    ("sizes that fall", _set("earlier", [{"proof": [], "size": 2}, {"proof": [], "size": 1}]), "earlier: sizes"),
    ("a ruleset that is none", _set("ruleset", {"id": 1}), "ruleset: "),
]  # fmt: skip


@pytest.mark.parametrize(("edit", "words"), [row[1:] for row in REFUSED], ids=[row[0] for row in REFUSED])
def test_a_file_that_is_none_says_why(site: Site, stream: str, edit: Edit, words: str) -> None:
    file = json.loads(site.file(stream).to_bytes())
    edit(file)

    with pytest.raises(EvidenceError, match=rf"^evidence: .*{words}"):
        verdict(read_evidence(json.dumps(file).encode()))


def test_a_file_cut_off_anywhere_is_none(site: Site, stream: str) -> None:
    data = site.file(stream).to_bytes()
    for end in range(0, len(data) - 1, len(data) // 50):
        with pytest.raises(EvidenceError, match=r"^evidence: "):
            read_evidence(data[:end])


def test_a_key_that_stands_twice_is_refused(site: Site, stream: str) -> None:
    data = site.file(stream).to_bytes().replace(b'{"checkpoint"', b'{"level":"adr","checkpoint"', 1)

    with pytest.raises(EvidenceError, match="'level' stands twice"):
        read_evidence(data)


def test_another_house_cant_sign_for_this_one(site: Site, stream: str) -> None:
    other = replace(TRUST, log_keys=(PinnedKey(replace(LOG_KEY, public_key=WITNESS_KEY.public_key)),))

    found = verdict(site.file(stream), other)

    assert statuses(found) == ALL | {CheckName.LOG: Status.DISCREPANCY}


def test_any_bit_of_a_body_or_proof_counts(site: Site, stream: str) -> None:
    """A quarter of a thousand places at random, each changed by itself."""
    file, random = site.file(stream, Level.PLAYER, "anna"), Random(4)
    for _ in range(250):
        place = random.randrange(len(file.events))
        event = file.events[place]
        if random.random() < 0.5 and event.proof:
            number = random.randrange(len(event.proof))
            texts = list(event.proof)
            texts[number] = ("A" if texts[number][0] != "A" else "B") + texts[number][1:]
            changed = msgspec.structs.replace(event, proof=texts)
        else:
            at = random.randrange(len(event.body))
            letter = chr(33 + (ord(event.body[at]) - 33 + random.randrange(1, 90)) % 90)
            changed = msgspec.structs.replace(event, body=event.body[:at] + letter + event.body[at + 1 :])
        events = [*file.events[:place], changed, *file.events[place + 1 :]]
        try:
            found = verdict(msgspec.structs.replace(file, events=events))
        except EvidenceError:
            continue
        assert statuses(found)[CheckName.LOG] is Status.DISCREPANCY, (event, changed)
