"""Notes that others have signed, with programs of others (tests/vectors/notes): read, believed, written back.

Not here: notes of our own (`test_checkpoint`).
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from domain.log.checkpoint import Checkpoint, NoteError, VerifierKey, open_checkpoint, parse_note
from domain.log.trust import PinnedKey, Trust
from ops.log.ed25519 import check_signature

FOLDER = Path(__file__).parents[1] / "vectors" / "notes"
LOG = "arche2025h1.staging.ct.transparency.dev+ba2f06c0+AU0vHmlGCS/PdN8b2OaGmKprLI8HKM+dJ472xgFYh15f"
WITNESSES = [
    "transparency.dev/DEV:witness-little-garden+d8042a87+BCtusOxINQNUTN5Oj8HObRkh2yHf/MwYaGX4CPdiVEPM",
    "witness1.smartit.nu/witness1+a48c820f+BPSFWg9G6KPiO7QPryYO5Xq4oYJJ+kAvLKLSimDhoxMO",
    "remora.n621.de+da77ade7+BOvN63jn/bLvkieywe8R6UYAtVtNbZpXh34x7onlmtw2",
    "witness.stagemole.eu+67f7aea0+BEqSG3yu9YrmcM3BHvQYTxwFj3uSWakQepafafpUqklv",
]
NAME, *_ = LOG.split("+")
TRUST = Trust(
    NAME,
    (PinnedKey(VerifierKey.from_text(LOG)),),
    tuple(PinnedKey(VerifierKey.from_text(text)) for text in WITNESSES),
    (),
    len(WITNESSES),
)
COSIGNED = (FOLDER / "arche2025h1-cosigned.txt").read_bytes()


def test_the_note_of_go() -> None:
    peter = VerifierKey.from_text("PeterNeumann+c74f20a3+ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW")
    data = (FOLDER / "go-sumdb-note.txt").read_bytes()
    note = parse_note(data)

    [line] = note.signatures
    assert (line.name, line.key_id) == (peter.name, peter.key_id)
    assert check_signature(peter.public_key, note.body, line.value)
    assert note.to_bytes() == data
    with pytest.raises(NoteError, match="has 2 lines, not the three"):
        Checkpoint.from_body(note.body)


def test_the_example_of_c2sp() -> None:
    """Its keys are not published: only the shape is known."""
    data = (FOLDER / "c2sp-tlog-cosignature.txt").read_bytes()
    note = parse_note(data)

    assert note.to_bytes() == data
    assert Checkpoint.from_body(note.body)[:2] == ("example.com/behind-the-sofa", 20_852_163)
    log, witness = note.signatures
    assert (len(log.value), len(witness.value)) == (64, 72)
    assert int.from_bytes(witness.value[:8], "big") == 1_679_315_147


def test_a_public_logs_checkpoint_with_four_witnesses_is_believed() -> None:
    """Its note has a sixth line, under the log's name, of a type that we don't know: left aside."""
    found = open_checkpoint(COSIGNED, TRUST, check_signature)

    assert found.checkpoint[:2] == (NAME, 1_432_088_532)
    assert [each.witness for each in found.cosigned] == [text.split("+")[0] for text in WITNESSES]
    assert {each.time for each in found.cosigned} == {1_779_573_024}
    assert len(found.note.signatures) == 6
    assert found.note.to_bytes() == COSIGNED


@pytest.mark.parametrize(("old", "new"), [(b"1432088532", b"1432088533"), (b"U7WM", b"U7WN")])
def test_another_size_or_root_of_it_is_not(old: bytes, new: bytes) -> None:
    with pytest.raises(NoteError, match=f"^note: the signature of {NAME} is not good$"):
        open_checkpoint(COSIGNED.replace(old, new), TRUST, check_signature)


@pytest.mark.parametrize("number", range(4))
def test_each_witness_has_signed_by_itself(number: int) -> None:
    """With a time moved by a second in one line, that witness is named."""
    note = parse_note(COSIGNED)
    name = WITNESSES[number].split("+")[0]
    lines = [
        line._replace(value=(int.from_bytes(line.value[:8], "big") + 1).to_bytes(8, "big") + line.value[8:])
        if line.name == name else line
        for line in note.signatures
    ]  # fmt: skip
    alone = replace(TRUST, witness_keys=TRUST.witness_keys[number : number + 1], witnesses_needed=1)

    assert open_checkpoint(COSIGNED, alone, check_signature).cosigned[0].witness == name
    with pytest.raises(NoteError, match=f"^note: the cosignature of {name} is not good$"):
        open_checkpoint(note._replace(signatures=tuple(lines)).to_bytes(), alone, check_signature)
