"""What is wrong with each tampered evidence file: one function a forgery, named like its file.

Most change the bytes that a reader is given.  Those "by the house" were done by whoever keeps the journal and the log's
key: the tree is true to the forged records, and so is its signature.

Not here: what each of them is found by (the verdict beside the file says it, `test_samples` holds it).
"""

from __future__ import annotations

import json
from base64 import b64decode, b64encode
from collections.abc import Callable, Sequence
from typing import Any, Final

from domain.log.checkpoint import Checkpoint, Note, cosignature, parse_note, signed_by_log
from domain.log.merkle import root_of
from domain.record import Record
from replay.evidence_file import Level
from tests.golden.files import canonical, leaf
from tests.handover.sample_house import (
    FREQUENT,
    GAME,
    LOG,
    ORIGIN,
    REGULATOR,
    SampleLog,
    Signer,
    evening,
    evidence_file,
    winner_and_other,
)
from tests.replay.casino import forged, rehashed

Plain = dict[str, Any]

STRANGER: Final = Signer.named(ORIGIN, 1, salt=" stolen name")


def players() -> tuple[str, str]:
    """Whose file most forgeries begin with: who was paid; and another player of that round."""
    house, kinds = evening()
    found = winner_and_other(house, kinds.settled)
    assert found is not None
    return found


def settled() -> Plain:
    """The file that most forgeries begin with, as plain values."""
    house, kinds = evening()
    return plain(evidence_file(SampleLog(house.records), kinds.settled, GAME, Level.PLAYER, players()[0]).to_bytes())


def voided() -> Plain:
    """A smaller file, where it makes no difference which."""
    house, kinds = evening()
    return plain(evidence_file(SampleLog(house.records), kinds.voided, GAME, Level.ADR).to_bytes())


def plain(data: bytes) -> Plain:
    value: Plain = json.loads(data)
    return value


def written(value: Plain) -> bytes:
    """As the house writes a file."""
    return canonical(value) + b"\n"


# -- of the bytes


def body_bit() -> bytes:
    """One bit of a stored body is another: a card that was shown."""
    file = settled()
    event = _event(file, "hand-shown.v1")
    at = event["body"].index('"cards":["') + len('"cards":["')
    event["body"] = event["body"][:at] + chr(ord(event["body"][at]) ^ 1) + event["body"][at + 1 :]
    return written(file)


def body_bit_of_an_account() -> bytes:
    """One bit of a balance is another."""
    file = settled()
    event = _event(file, "funds-staked.v1")
    at = event["body"].index('"balance":') + len('"balance":')
    event["body"] = event["body"][:at] + chr(ord(event["body"][at]) ^ 1) + event["body"][at + 1 :]
    return written(file)


def times_moved() -> bytes:
    """Every event of the file is an hour later and all hashes are made anew: true to itself, and not in the log."""
    file = settled()
    heads: dict[str, str] = {}
    for event in file["events"]:
        body = json.loads(event["body"])
        body["at"] = body["at"].replace("T09:", "T10:")
        body["prev"] = heads.get(body["stream"], body["prev"])
        heads[body["stream"]] = leaf(canonical(body))
        event["body"] = canonical(body).decode()
    return written(file)


def other_player() -> bytes:
    """The file of one player says that it is another's, who has a box in the round too."""
    return written({**settled(), "player": players()[1]})


def player_without_a_box() -> bytes:
    """The file of one player says that it is somebody's who didn't play."""
    return written({**settled(), "player": "player-9"})


def proof_missing() -> bytes:
    """An event has no proof."""
    file = voided()
    _event(file, "box-placed.v1")["proof"] = None
    return written(file)


def proof_dropped() -> bytes:
    """A proof lacks its last hash."""
    file = voided()
    _event(file, "box-placed.v1")["proof"].pop()
    return written(file)


def proof_swapped() -> bytes:
    """Two hashes of a proof have changed places."""
    file = voided()
    proof = _event(file, "box-placed.v1")["proof"]
    proof[0], proof[1] = proof[1], proof[0]
    return written(file)


def proof_of_another_size() -> bytes:
    """A proof is good, but for an earlier tree."""
    file = voided()
    house, _ = evening()
    event = _event(file, "box-placed.v1")
    event["proof"] = SampleLog(house.records).inclusion(event["position"], event["position"] + 2)
    return written(file)


def proof_of_twelve_bytes() -> bytes:
    """A hash of a proof has 12 bytes."""
    file = voided()
    _event(file, "box-placed.v1")["proof"][0] = b64encode(b"twelve bytes").decode()
    return written(file)


def proof_not_base64() -> bytes:
    """A hash of a proof is no base64."""
    file = voided()
    _event(file, "box-placed.v1")["proof"][0] = "not base64"
    return written(file)


def position_moved() -> bytes:
    """An event says that it lies one further."""
    file = voided()
    file["events"][-1]["position"] += 1
    return written(file)


def position_doubled() -> bytes:
    """An event stands in the file twice."""
    file = voided()
    file["events"].append(file["events"][-1])
    return written(file)


def event_missing() -> bytes:
    """A payment of the account is left out."""
    file = settled()
    file["events"].remove(_event(file, "funds-returned.v1"))
    return written(file)


def wagers_missing() -> bytes:
    """What says which checkpoint the wagers name is given to another round."""
    file = settled()
    event = _event(file, "wagers-accepted.v1")
    event["body"] = event["body"].replace("receipt:01", "receipt:02")
    return written(file)


def earlier_missing() -> bytes:
    """The proof from the checkpoint that the wagers name is left out."""
    return written({**settled(), "earlier": []})


def end_missing() -> bytes:
    """The round's last events are left out, as if it were still open."""
    file = settled()
    own = [event for event in file["events"] if f'"stream":"round:{file["round"]}"' in event["body"]]
    for event in own[-3:]:
        file["events"].remove(event)
    return written(file)


def behind_the_checkpoint() -> bytes:
    """Nothing is wrong: the checkpoint was signed before the round had ended."""
    house, kinds = evening()
    last = max(at for at, record in enumerate(house.records) if record.stream == kinds.settled) + 1
    log = SampleLog(house.records, size=last - 4)
    return evidence_file(log, kinds.settled, GAME, Level.PLAYER, players()[0]).to_bytes()


def without_a_log() -> bytes:
    """Nothing is wrong, and nothing proved: the file has no checkpoint."""
    file = {**voided(), "checkpoint": None, "earlier": []}
    for event in file["events"]:
        event["proof"] = None
    return written(file)


def ruleset_changed() -> bytes:
    """The file brings another document than the round pins, of a ruleset that is not released."""
    house, kinds = evening()
    file = plain(evidence_file(SampleLog(house.records), kinds.jackpot, FREQUENT).to_bytes())
    file["ruleset"]["parameters"]["bet_antes"]["value"] += 1
    return written(file)


# -- of the checkpoint


def root_forged() -> bytes:
    """The checkpoint's root is another, under the old signature."""
    file = voided()
    lines = file["checkpoint"].split("\n")
    lines[2] = b64encode(b"\0" + b64decode(lines[2])[1:]).decode()
    return written({**file, "checkpoint": "\n".join(lines)})


def size_forged() -> bytes:
    """The checkpoint's size is another, under the old signature."""
    file = voided()
    lines = file["checkpoint"].split("\n")
    lines[1] = str(int(lines[1]) + 1)
    return written({**file, "checkpoint": "\n".join(lines)})


def other_key() -> bytes:
    """The whole file is good, but for a key of the same name that nobody has pinned."""
    house, kinds = evening()
    log = SampleLog(house.records, STRANGER)
    return evidence_file(log, kinds.voided, GAME, Level.ADR).to_bytes()


def key_id_claimed() -> bytes:
    """A key that nobody has pinned signs under the id of one that is."""
    file = voided()
    note = parse_note(file["checkpoint"].encode())
    signature = note.signatures[0]._replace(value=STRANGER.sign(note.body))
    return written(_with_note(file, Note(note.body, (signature, *note.signatures[1:]))))


def other_origin() -> bytes:
    """The checkpoint is of another log, signed by its own key."""
    house, kinds = evening()
    other = Signer.named("casino.example/other", 1)
    log = SampleLog(house.records, other, "casino.example/other")
    return evidence_file(log, kinds.voided, GAME, Level.ADR).to_bytes()


def cosignature_missing() -> bytes:
    """No witness has signed the checkpoint."""
    house, kinds = evening()
    log = SampleLog(house.records, witnesses=())
    return evidence_file(log, kinds.voided, GAME, Level.ADR).to_bytes()


def cosignature_of_a_stranger() -> bytes:
    """A witness has signed whom nobody has pinned."""
    house, kinds = evening()
    log = SampleLog(house.records, witnesses=(Signer.named("friend.example/w1", 4),))
    return evidence_file(log, kinds.voided, GAME, Level.ADR).to_bytes()


def cosignature_of_another_time() -> bytes:
    """The time of the cosignature is another, under the old signature."""
    file = voided()
    note = parse_note(file["checkpoint"].encode())
    signature = note.signatures[1]
    later = (int.from_bytes(signature.value[:8], "big") + 1).to_bytes(8, "big")
    return written(
        _with_note(file, Note(note.body, (note.signatures[0], signature._replace(value=later + signature.value[8:]))))
    )


def note_with_carriage_returns() -> bytes:
    """The note's lines end with CR LF."""
    file = voided()
    return written({**file, "checkpoint": file["checkpoint"].replace("\n", "\r\n")})


def note_with_101_signatures() -> bytes:
    """The note has more signatures than a note may have."""
    file = voided()
    note = parse_note(file["checkpoint"].encode())
    strangers = [Signer.named(f"w{number}.example", 4) for number in range(99)]
    lines = tuple(each_signed(note.body, each) for each in strangers)
    return written(_with_note(file, Note(note.body, (*note.signatures, *lines))))


def root_of_twelve_bytes() -> bytes:
    """The log's own key has signed a root of 12 bytes."""
    file = voided()
    checkpoint = Checkpoint(ORIGIN, len(evening()[0].records), b"twelve bytes")
    note = signed_by_log(checkpoint, LOG.verifier, LOG.sign)
    return written(_with_note(file, Note(note.body, (*note.signatures, each_signed(note.body, REGULATOR)))))


def each_signed(body: bytes, signer: Signer) -> Any:
    """A cosignature."""
    return cosignature(body, 1_796_119_300, signer.verifier, signer.sign)


# -- by the house


def receipt_before_commitment() -> bytes:
    """The house logged a round whose wagers name a checkpoint from before its commitment."""
    house, kinds = evening()
    opening = next(at for at, record in enumerate(house.records) if record.stream == kinds.settled)
    return _as_logged(_with_wagers(house.records, kinds.settled, opening))


def wager_before_its_checkpoint() -> bytes:
    """The house logged a round whose wagers name a checkpoint that they are in themselves."""
    house, kinds = evening()
    last = max(at for at, r in enumerate(house.records) if r.stream == kinds.settled and r.type == "box-placed.v1")
    return _as_logged(_with_wagers(house.records, kinds.settled, last + 1))


def checkpoint_of_a_fork() -> bytes:
    """The wagers name a root that the log never had: the house showed the players another history."""
    house, kinds = evening()

    def change(data: Plain) -> None:
        data["checkpoint_root"] = leaf(data["checkpoint_root"].encode())

    return _as_logged(forged(house.records, _receipt_stream(kinds.settled), 0, change))


def stake_of_another_amount() -> bytes:
    """The house logged another stake than the receipt is for."""
    house, kinds = evening()

    def change(data: Plain) -> None:
        data["wagers"][0]["stake"] += 50

    return _as_logged(forged(house.records, _receipt_stream(kinds.settled), 0, change))


def payout_raised() -> bytes:
    """The house paid a box too much, with the totals, the accounts and every hash to match, and logged it."""
    _, kinds = evening()
    return _as_logged(evening(kinds.settled)[0].records)


def events_out_of_order() -> bytes:
    """The house logged two events of a round the other way round."""
    house, kinds = evening()
    records = list(house.records)
    bets = [at for at, r in enumerate(records) if r.stream == kinds.settled and r.type == "box-placed.v1"]
    records[bets[0]], records[bets[1]] = records[bets[1]], records[bets[0]]
    return _as_logged(records)


def _as_logged(records: Sequence[Record]) -> bytes:
    """The file of the settled round out of a log that is true to these records."""
    _, kinds = evening()
    return evidence_file(SampleLog(records), kinds.settled, GAME, Level.PLAYER, players()[0]).to_bytes()


def _with_wagers(records: Sequence[Record], stream: str, size: int) -> list[Record]:
    """The wagers of the round name a checkpoint of this size, with its true root."""

    def change(data: Plain) -> None:
        data["checkpoint_size"] = size
        data["checkpoint_root"] = root_of([bytes.fromhex(leaf(record.body)) for record in records[:size]]).hex()

    return rehashed(forged(records, _receipt_stream(stream), 0, change))


def _receipt_stream(stream: str) -> str:
    return stream.replace("round:", "receipt:")


# -- of the file as a whole


def cut_off() -> bytes:
    """The second half is missing."""
    data = written(voided())
    return data[: len(data) // 2]


def newer_format() -> bytes:
    """A format that nobody here knows."""
    return written({**voided(), "format": "dp2/evidence"})


def unknown_field() -> bytes:
    """A field that the format doesn't have."""
    return written({**voided(), "note": "nothing to see here"})


def doubled_key() -> bytes:
    """The round stands in the file twice, each time another."""
    data = written(voided())
    return data.replace(b'"round":"', b'"round":"00000000000000000000000000000000","round":"', 1)


def level_unknown() -> bytes:
    """A level that there is not."""
    return written({**voided(), "level": "owner"})


def _event(file: Plain, kind: str) -> Plain:
    """The file's first event of this type."""
    event: Plain = next(each for each in file["events"] if f'"type":"{kind}"' in each["body"])
    return event


def _with_note(file: Plain, note: Note) -> Plain:
    return {**file, "checkpoint": note.to_bytes().decode()}


FORGERIES: Final[tuple[Callable[[], bytes], ...]] = (
    body_bit, body_bit_of_an_account, times_moved, other_player, player_without_a_box,
    proof_missing, proof_dropped, proof_swapped, proof_of_another_size, proof_of_twelve_bytes, proof_not_base64,
    position_moved, position_doubled, event_missing, wagers_missing, earlier_missing, end_missing,
    behind_the_checkpoint, without_a_log, ruleset_changed,
    root_forged, size_forged, other_key, key_id_claimed, other_origin,
    cosignature_missing, cosignature_of_a_stranger, cosignature_of_another_time,
    note_with_carriage_returns, note_with_101_signatures, root_of_twelve_bytes,
    receipt_before_commitment, wager_before_its_checkpoint, checkpoint_of_a_fork, stake_of_another_amount,
    payout_raised, events_out_of_order,
    cut_off, newer_format, unknown_field, doubled_key, level_unknown,
)  # fmt: skip


def tampered_receipts(token: str, strange: str) -> dict[str, tuple[str, str]]:
    """Name -> what is wrong, and the token.  `strange` is signed by a key that nobody has pinned."""
    tag, body, signature = token.split(".")
    raised = b64decode(body + "==", altchars=b"-_").replace(b'"stake":', b'"stake":9')
    changed = b64encode(raised, altchars=b"-_").rstrip(b"=").decode()
    last = signature[:-3] + ("B" if signature[-3] == "A" else "A") + signature[-2:]
    return {
        "stake-raised": ("the stake is another, under the old signature", f"{tag}.{changed}.{signature}"),
        "signature-bit": ("a bit of the signature is another", f"{tag}.{body}.{last}"),
        "other-key": ("signed by a key that nobody has pinned", strange),
        "cut-off": ("its end is missing", token[:-20]),
        "newer-format": ("a tag that nobody here knows", f"dpr2.{body}.{signature}"),
        "padded": ("base64 with padding", f"{tag}.{body}=.{signature}"),
    }

