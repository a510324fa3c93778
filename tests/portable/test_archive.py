"""The verifier as one file, run as a regulator runs it: Python alone, an empty environment, an empty folder.

What it prints is held against `dealproof verify FILE` and `dealproof receipt check`, byte for byte.

Not here: the decoder in it (`test_msgspec_stand_in`), the signatures (`test_ed25519`).
"""

from __future__ import annotations

import io
import json
import shlex
import subprocess
import sys
import zipfile
from collections.abc import Callable
from dataclasses import replace
from hashlib import sha256
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from domain.log.trust import PinnedKey
from ops.portable.build import verifier
from tests.ops.cli.running import dealproof
from tests.portable.answers import unworded
from tests.portable.made import damaged
from tests.portable.other import Other, archive
from tests.portable.sample import ORIGIN, TRUST, key, sample
from tests.portable.test_msgspec_stand_in import agreed, unhurried

EVIDENCE_FOLDER = Path(__file__).parents[1] / "vectors" / "evidence"
EVIDENCE = sample().file.to_bytes()
Change = Callable[[dict[str, Any]], object]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A regulator's folder, where he is: the verifier, his trust, an evidence file, a receipt."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "dealproof-verify.pyz").write_bytes(archive())
    (tmp_path / "trust.json").write_bytes(TRUST.to_json())
    (tmp_path / "round.json").write_bytes(EVIDENCE)
    (tmp_path / "receipt.txt").write_text(sample().receipts[0] + "\n")
    return tmp_path


def run(folder: Path, *arguments: str, alone: bool = True) -> tuple[int, str, str]:
    """Run the verifier; `alone`: without site-packages."""
    flags = ["-I", "-S"] if alone else []
    command = [sys.executable, *flags, "dealproof-verify.pyz", *arguments]
    ran = subprocess.run(command, cwd=folder, env={}, capture_output=True, check=False, timeout=60)
    return ran.returncode, ran.stdout.decode(), ran.stderr.decode()


def with_field(change: Change) -> bytes:
    """The evidence file with something changed in it."""
    value = json.loads(EVIDENCE)
    change(value)
    return json.dumps(value).encode()


def paid_too_much(value: dict[str, Any]) -> None:
    """One payment raised, and the hashes left as they were."""
    event = next(event for event in value["events"] if '"box-settled.v1"' in event["body"])
    body = json.loads(event["body"])
    body["data"]["returned"] += 100
    body["data"]["net"] += 100
    event["body"] = json.dumps(body, separators=(",", ":"))


FILES: dict[str, tuple[bytes, int]] = {
    "true": (EVIDENCE, 0),
    "paid too much": (with_field(paid_too_much), 1),
    "another proof": (with_field(lambda value: value["events"][3].update(proof=value["events"][2]["proof"])), 1),
    "an event left out": (with_field(lambda value: value["events"].pop(3)), 1),
    "another position": (with_field(lambda value: value["events"][3].update(position=1)), 1),
    "another size": (with_field(lambda value: value.update(checkpoint=value["checkpoint"].replace("\n", "\n1", 1))), 1),
    "no checkpoint": (with_field(lambda value: value.update(checkpoint=None)), 2),
    "no signature": (with_field(lambda value: value.update(checkpoint=value["checkpoint"].split("\n\n")[0])), 1),
    "another log": (with_field(lambda value: value.update(checkpoint=value["checkpoint"].replace("casino", "x"))), 1),
    "a body that is none": (with_field(lambda value: value["events"][3].update(body="[" * 5000)), 1),
    "a newer format": (with_field(lambda value: value.update(format="dp2/evidence")), 2),
    "an unknown field": (with_field(lambda value: value.update(more=1)), 2),
    "cut off": (EVIDENCE[:-100], 2),
    "nothing": (b"", 2),
    "not UTF-8": (b"\xff" + EVIDENCE, 2),
    "nested": (b"[" * 100_000, 2),
    "a key twice": (EVIDENCE.replace(b'{"checkpoint"', b'{"format":"dp1/evidence","checkpoint"', 1), 2),
}


@pytest.mark.parametrize("flags", [[], ["--json"]])
def test_it_says_what_the_command_says(folder: Path, flags: list[str]) -> None:
    """Of all the files at once what the command says of one after the other; errors too."""
    names = []
    for place, (data, _) in enumerate(FILES.values()):
        names.append(f"round-{place}.json")
        (folder / names[-1]).write_bytes(data)
    told = [dealproof("verify", name, "--trust", "trust.json", *flags) for name in names]

    assert [each.status for each in told] == [status for _, status in FILES.values()]
    assert _in_words_of_the_command(run(folder, *names, *flags)) == (
        1,
        "".join(each.stdout for each in told),
        "".join(each.stderr for each in told),
    )


@pytest.mark.parametrize("name", ["true", "paid too much", "no checkpoint", "cut off"])
def test_its_status_is_that_of_the_command(folder: Path, name: str) -> None:
    data, status = FILES[name]
    (folder / "round.json").write_bytes(data)

    assert run(folder, "round.json")[0] == status


def _in_words_of_the_command(ran: tuple[int, str, str]) -> tuple[int, str, str]:
    """Only the program's name differs, and what quotes the decoder."""
    return ran[0], ran[1], ran[2].replace("dealproof-verify: ", "dealproof: ")


def test_a_round_that_is_true_is_verified_on_its_rungs(folder: Path) -> None:
    status, said, _ = run(folder, "round.json", "--json")

    checks = {check["check"]: check["status"] for check in json.loads(said)["checks"]}
    assert checks.pop("ledger") == "not-checkable", "the golden rounds keep no accounts"
    assert set(checks.values()) == {"verified"}
    assert status == 0


def test_of_several_files_the_worst_counts(folder: Path) -> None:
    """A discrepancy before what could not be checked; a file that can't be read does not stop the others."""
    (folder / "forged.json").write_bytes(FILES["paid too much"][0])

    status, said, complained = run(folder, "missing.json", "forged.json", "round.json", "--json")

    assert status == 1
    assert [json.loads(line)["verdict"] for line in said.splitlines()] == ["discrepancy", "verified"]
    assert complained == "dealproof-verify: missing.json: No such file or directory\n"
    assert run(folder, "missing.json", "round.json")[0] == 2


def test_the_keys_are_the_readers_own(folder: Path) -> None:
    """Fewer witnesses, another key, a trust that is none, no trust at all."""
    trusts = {
        "fewer.json": replace(TRUST, witness_keys=(), witnesses_needed=0).to_json(),
        "other.json": replace(TRUST, log_keys=(PinnedKey(key("witness", ORIGIN)),)).to_json(),
        "wrong.json": TRUST.to_json().replace(ORIGIN.encode(), b"casino.example/elsewhere"),
    }
    for name, data in trusts.items():
        (folder / name).write_bytes(data)

    assert "cosigned by nobody" in run(folder, "round.json", "--trust", "fewer.json")[1]
    assert "no signature of a pinned key" in run(folder, "round.json", "--trust", "other.json")[1]
    for name, said in {"wrong.json": "log_keys", "none.json": "is missing"}.items():
        status, _, complained = run(folder, "round.json", "--trust", name)
        assert status == 2
        assert complained.startswith(f"dealproof-verify: trust file {name}: {said}")


@pytest.mark.parametrize(
    ("which", "flags", "status"),
    [
        ("file", [], 0),
        ("token", ["--json"], 0),
        ("token", ["--evidence", "round.json"], 0),
        ("changed", [], 2),
        ("nothing", ["--evidence", "round.json"], 2),
        ("token", ["--evidence", "forged.json"], 1),
        ("token", ["--evidence", "forged.json", "--json"], 1),
        ("token", ["--evidence", "none.json"], 2),
    ],
)
def test_a_receipt_is_checked_as_by_the_command(folder: Path, which: str, flags: list[str], status: int) -> None:
    """The token itself or a file with it, good or not, alone or held against evidence without its wager."""
    token = sample().receipts[1]
    given = {"file": "receipt.txt", "token": token, "changed": token[:-4] + "AAAA"}.get(which, which)
    (folder / "forged.json").write_bytes(with_field(lambda value: value["events"].pop(2)))

    ran = run(folder, "receipt", given, *flags)

    assert _in_words_of_the_command(ran) == dealproof("receipt", "check", given, *flags, "--trust", "trust.json")
    assert ran[0] == status


INDEX = json.loads((EVIDENCE_FOLDER / "index.json").read_text())
TRUSTS = sorted({each["trust"] for each in INDEX["files"]})


@pytest.mark.parametrize("trust", TRUSTS)
def test_the_published_samples_get_their_published_verdicts(folder: Path, trust: str) -> None:
    """True and tampered rounds with accounts, jackpots and receipts; what can't be read is named on standard error."""
    samples = [each for each in INDEX["files"] if each["trust"] == trust]
    paths = [str(EVIDENCE_FOLDER / each["file"]) for each in samples]
    told = [dealproof("verify", path, "--trust", str(EVIDENCE_FOLDER / trust), "--json") for path in paths]

    ran = run(folder, *paths, "--trust", str(EVIDENCE_FOLDER / trust), "--json")

    verdicts = [json.loads(line) for line in ran[1].splitlines()]
    assert [verdict["verdict"] for verdict in verdicts] == [each["verdict"] for each in samples if each["verdict"]]
    assert _wordless(ran[1]) == _wordless("".join(each.stdout for each in told))
    assert len(ran[2].splitlines()) == sum(each["verdict"] is None for each in samples)


def _wordless(lines: str) -> list[str]:
    """Verdicts without what quotes the decoder."""
    return [json.dumps(unworded(json.loads(line))) for line in lines.splitlines()]


@pytest.mark.parametrize("sample", INDEX["receipts"], ids=lambda each: each["file"])
def test_the_published_receipts_are_good_or_not(folder: Path, sample: dict[str, Any]) -> None:
    """Each by its file."""
    status, said, complained = run(
        folder, "receipt", str(EVIDENCE_FOLDER / sample["file"]), "--trust", str(EVIDENCE_FOLDER / sample["trust"])
    )

    assert status == (0 if sample["good"] else 2)
    assert bool(said) == sample["good"] != bool(complained)


@unhurried
@given(data=st.data())
def test_damaged_evidence_gets_the_same_verdict(other: Other, data: st.DataObject) -> None:
    """Any bytes of file or trust changed: the same verdict or the same error, and none is accepted."""
    trust = TRUST.to_json().replace(b"\n", b"")
    part = data.draw(st.sampled_from(["file", "trust"]))
    file = data.draw(damaged(EVIDENCE)) if part == "file" else EVIDENCE
    trust = data.draw(damaged(trust)).replace(b"\n", b" ") if part == "trust" else trust

    agreed(other, "verified evidence", trust + b"\n" + file)


# -- the file itself


def test_the_same_version_is_the_same_bytes() -> None:
    """Built twice; entries in order, without times, uncompressed."""
    built = verifier("1.2.3")
    assert built == verifier("1.2.3") != verifier("1.2.4")
    with zipfile.ZipFile(io.BytesIO(built)) as opened:
        entries = opened.infolist()
        assert opened.testzip() is None
    names = [entry.filename for entry in entries]
    assert names == sorted(names)
    assert {(entry.date_time, entry.compress_type, entry.create_system) for entry in entries} == {
        ((1980, 1, 1, 0, 0, 0), zipfile.ZIP_STORED, 3)
    }
    assert not [name for name in names if "pycache" in name or name.startswith("/") or ".." in name]


def test_it_tells_its_version_and_hash(folder: Path) -> None:
    status, said, _ = run(folder, "--version")

    digest = sha256((folder / "dealproof-verify.pyz").read_bytes()).hexdigest()
    assert (status, said) == (0, f"dealproof-verify {version('dealproof')}\nSHA-256 {digest}\n")


def test_the_command_writes_it(tmp_path: Path) -> None:
    """Its hash is printed as `sha256sum` prints it; the file may be run."""
    path = tmp_path / "v.pyz"
    ran = dealproof("verifier", "-o", str(path))

    assert (ran.status, ran.stdout) == (0, f"{sha256(path.read_bytes()).hexdigest()}  {path}\n")
    assert path.read_bytes() == verifier(version("dealproof"))
    assert path.stat().st_mode & 0o777 == 0o755
    assert dealproof("verifier", "-o", str(tmp_path / "no folder" / "v.pyz")).status == 2


def test_it_uses_its_own_parts_where_the_real_ones_are_installed(folder: Path) -> None:
    """One behaviour everywhere."""
    code = (
        "import sys; sys.path.insert(0, 'dealproof-verify.pyz')\n"
        "import ops.cli.verify_file, msgspec, rich.console, ops.log.ed25519, domain, replay\n"
        "found = [msgspec, rich.console, ops.log.ed25519, domain, replay]\n"
        "assert all('dealproof-verify.pyz' in module.__file__ for module in found), found\n"
        "assert 'cryptography' not in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", code], cwd=folder, env={}, check=True, timeout=60)
    assert run(folder, "round.json", alone=False) == run(folder, "round.json")


def test_an_older_python_is_told_what_it_lacks(folder: Path) -> None:
    """In a sentence, whatever else it could not read."""
    with zipfile.ZipFile(folder / "dealproof-verify.pyz") as opened:
        main = opened.read("__main__.py").decode()
    code = f"import sys; sys.version_info = (3, 9, 0)\nexec({main!r})"
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, timeout=60)

    assert ran.returncode == 2
    assert ran.stderr.startswith("dealproof-verify: Python 3.11 or newer is needed, this is ")


@pytest.mark.parametrize("arguments", [[], ["--nonsense"], ["receipt"], ["round.json", "--evidence", "x"]])
def test_wrong_usage_is_two(folder: Path, arguments: list[str]) -> None:
    status, said, complained = run(folder, *arguments)

    assert (status, said) == (2, "")
    assert "usage: dealproof-verify" in complained


def test_a_reader_that_leaves_gets_no_verdict(folder: Path) -> None:
    """141, as the command: nobody may take a cut run for a verdict."""
    python = shlex.quote(sys.executable)
    command = f"{python} -I -S dealproof-verify.pyz {'round.json ' * 50} | head -c 1; echo ${{PIPESTATUS[0]}}"
    ran = subprocess.run(["bash", "-c", command], cwd=folder, capture_output=True, text=True, check=True, timeout=120)

    assert ran.stdout.endswith("141\n")
    assert ran.stderr == ""
