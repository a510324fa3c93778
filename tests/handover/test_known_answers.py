"""The reference decoder decides every known answer as it says, and reads the examples of its pages."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from domain.record import BodyError, canonical_json
from ops.handover.reference import check_answers
from ops.handover.reference import dealproof_reference as reference

ROOT = Path(__file__).parents[2]
PAGES = ROOT / "docs" / "formats"
VECTORS = ROOT / "tests" / "vectors"
RULESETS = ROOT / "domain" / "rulesets"
NUMBERS = {"merkle": 196, "ed25519": 151, "drbg": 240, "jcs": 6, "golden": 943, "tampered": 47, "evidence": 59}


def test_every_set_of_answers_is_decided_as_it_says(capsys: pytest.CaptureFixture[str]) -> None:
    """All of them, none left out: merkle, golden rounds and forgeries, evidence files, and the rest."""
    status = check_answers.main(str(VECTORS), str(RULESETS))

    assert capsys.readouterr().out.splitlines() == [
        f"{name:9} {number} of {number} as they say" for name, number in NUMBERS.items()
    ]
    assert status == 0


def test_a_wrong_answer_is_told_by_its_name(tmp_path: Path) -> None:
    """So that the test above can fail: a proof whose file says the opposite of what is true."""
    case = json.loads(next((VECTORS / "merkle").rglob("*.json")).read_text())
    (tmp_path / "merkle").mkdir()
    (tmp_path / "merkle" / "lie.json").write_text(json.dumps({**case, "wantErr": not case["wantErr"]}))

    assert list(check_answers.merkle(tmp_path)) == [("lie.json", False)]


@pytest.mark.parametrize("path", sorted((VECTORS / "jcs" / "input").glob("*.json")), ids=lambda path: path.stem)
def test_the_product_writes_canonical_json_likewise(path: Path) -> None:
    value = json.loads(path.read_bytes())

    if path.stem in check_answers.IN_PROFILE:
        assert canonical_json(value) == (VECTORS / "jcs" / "output" / path.name).read_bytes()
    else:
        with pytest.raises(BodyError):
            canonical_json(value)


# -- the examples of the pages


def example(page: str, name: str) -> list[str]:
    """The lines of a marked example."""
    text = (PAGES / page).read_text(encoding="utf-8")
    found = re.search(rf"<!-- example: {name} -->\n```\w*\n(.*?)```\n<!-- end -->", text, re.DOTALL)
    assert found is not None
    return found[1].splitlines()


def test_the_deck_of_the_example(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """docs/formats/deal.md, through the command line."""
    page = (PAGES / "deal.md").read_text(encoding="utf-8")
    fields = dict(re.findall(r"^(S|R|rules|box1|box4|G|C|X) +(\S+)$", page, re.MULTILINE))
    wanted = re.search(r"^deck  (.*\n      .*)$", page, re.MULTILINE)
    assert wanted is not None
    document = tmp_path / "example.json"
    document.write_text(fields["rules"])

    status = reference.main(
        ["deck", fields["S"], fields["R"], str(document), f"1:{fields['box1']}", "2:", f"4:{fields['box4']}"]
    )

    told = capsys.readouterr().out
    assert status == 0
    assert [told.split()[at] for at in (1, 3, 5)] == [fields["G"], fields["C"], fields["X"]]
    assert told.split("deck")[1].split() == wanted[1].split()


def test_the_example_of_the_event_record() -> None:
    bodies = [line.encode() for line in example("event-record.md", "record")]
    stream = reference.read_body(bodies[0]).stream
    documents = [json.loads(path.read_bytes()) for path in RULESETS.glob("*.json")]

    assert {each.verdict for each in reference.check_round(stream, bodies, documents)} == {"good"}
    leaves = [line.split()[1] for line in example("event-record.md", "leaves")]
    assert [reference.leaf_hash(body).hex() for body in bodies] == leaves


@pytest.mark.parametrize("name", ["account", "jackpot", "table"])
def test_the_examples_of_accounts(name: str) -> None:
    events = [reference.read_body(line.encode()) for line in example("accounts.md", name)]

    assert list(reference.chain_problems(events)) == []
    assert list(reference.beside_problems(events)) == []


def test_the_example_of_a_tree_and_its_proofs() -> None:
    hashes = {
        name: bytes.fromhex(value)
        for line in example("log.md", "tree") if line
        for name, value in [line.rsplit(maxsplit=1)]
    }  # fmt: skip
    for line in example("log.md", "proofs"):
        match = re.fullmatch(r"(inclusion|consistency) (\d) (?:of|to) (\d) +(.*)", line)
        assert match is not None
        first, second = int(match[2]), int(match[3])
        proof = [] if match[4] == "none" else [hashes[name] for name in match[4].split(", ")]
        if match[1] == "inclusion":
            reference.check_inclusion(first, second, hashes[f"leaf {first}"], proof, hashes[f"root {second}"])
        else:
            roots = hashes[f"root {first}"], hashes[f"root {second}"]
            reference.check_consistency(first, second, *roots, proof)


def test_the_example_of_a_checkpoint() -> None:
    log, witness = (line.split()[1] for line in example("checkpoint.md", "keys"))
    note = "\n".join(example("checkpoint.md", "note")) + "\n"
    trust = {
        "format": "dp1/trust", "origin": log.partition("+")[0], "log_keys": [{"key": log}],
        "witness_keys": [{"key": witness}], "receipt_keys": [], "witnesses_needed": 1,
    }  # fmt: skip

    found = reference.open_checkpoint(note, reference.read_trust(json.dumps(trust).encode()))

    assert (found.size, found.witnesses) == (7, [(witness.partition("+")[0], 1_796_300_000)])
    with pytest.raises(reference.Wrong, match="not of"):
        changed = note.replace("casino.example/log\n7", "casino.example/lag\n7")
        reference.open_checkpoint(changed, reference.read_trust(json.dumps(trust).encode()))


def test_the_examples_of_a_trust_file_and_a_receipt() -> None:
    trust = reference.read_trust("\n".join(example("trust.md", "trust")).encode())
    [token] = example("receipt.md", "token")
    [text] = example("receipt.md", "json")

    assert (trust.witnesses_needed, [key.last_size for key in trust.log_keys]) == (2, [1274, reference.LARGEST_TREE])
    assert reference.canonical(reference.open_receipt(token, trust)) == text.encode()


# -- the program


def test_a_body_is_read_from_text_and_from_a_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    body = example("event-record.md", "record")[0]
    (tmp_path / "body").write_text(f"{body}\n", encoding="utf-8")

    assert [reference.main(["leaf", body]), reference.main(["leaf", str(tmp_path / "body")])] == [0, 0]
    assert reference.main(["leaf", body.replace(",", ", ", 1)]) == 1
    first = example("event-record.md", "leaves")[0].split()[1]
    assert capsys.readouterr().out.count(first) == 2


@pytest.mark.parametrize(
    ("name", "status"),
    [("settled.adr", 0), ("tampered/root-forged", 1), ("tampered/without-a-log", 2), ("tampered/cut-off", 2)],
)
def test_the_status_says_what_was_found(name: str, status: int, capsys: pytest.CaptureFixture[str]) -> None:
    folder = VECTORS / "evidence"

    assert reference.main(["evidence", str(folder / f"{name}.json"), str(folder / "trust.json")]) == status
    assert "Traceback" not in capsys.readouterr().err


def test_rounds_are_read_one_a_line_and_alone(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    documents = [str(path) for path in sorted(RULESETS.glob("*.json"))]
    forged = VECTORS / "golden" / "tampered" / "other-card.json"

    assert reference.main(["round", str(forged), *documents]) == 1
    assert "WRONG  cards" in capsys.readouterr().out
    golden = (VECTORS / "golden" / "russian-poker@1.jsonl").read_text(encoding="utf-8").splitlines()
    (tmp_path / "some.jsonl").write_text("\n".join(golden[:20]), encoding="utf-8")
    assert reference.main(["round", str(tmp_path / "some.jsonl"), *documents]) == 0
    assert capsys.readouterr().out.count("good   cards") == 20


@pytest.mark.parametrize(
    "arguments",
    [[], ["prove"], ["evidence"], ["evidence", "no-such-file", "no-such-trust"], ["deck", "xx", "yy", "zz"], ["leaf"]],
)
def test_wrong_usage_is_told_without_a_traceback(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert reference.main(arguments) == 2
    assert "Traceback" not in capsys.readouterr().err


def test_the_decoder_shares_no_line_with_the_product() -> None:
    """It is a second opinion: nothing but the standard library, and no module of ours."""
    text = Path(reference.__file__).read_text(encoding="utf-8")
    imported = re.findall(r"^\s*(?:from|import) (\w+)", text, re.MULTILINE)

    assert set(imported) <= {
        "__future__", "base64", "binascii", "hashlib", "hmac", "json", "re", "sys", "unicodedata", "collections",
        "itertools", "pathlib", "typing",
    }  # fmt: skip
