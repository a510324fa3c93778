"""What a plain install can do: everything that a regulator, a player's lawyer or a test laboratory needs.

The server's packages stand in the extra `server` (pyproject.toml).  The quick tests forbid their import, the slow one
installs the rest in an environment of its own.

Not here: the verifier as one file (`test_archive`).
"""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from functools import cache
from importlib.metadata import packages_distributions, requires
from pathlib import Path

import pytest

from domain.rulesets import released_rulesets
from tests.ops.cli.running import REPOSITORY
from tests.portable.sample import TRUST, sample
from tests.portable.test_archive import FILES
from tests.portable.test_msgspec_stand_in import SCENARIOS

PLAIN = Path(__file__).with_name("plain.py")
LACKING = "dealproof: this command needs the server's packages: pip install 'dealproof[server]'\n"


@cache
def base() -> frozenset[str]:
    """The distributions of a plain install, with all that they need, in lower case."""
    project = tomllib.loads((REPOSITORY / "pyproject.toml").read_text())["project"]
    found: set[str] = set()
    wanted = list(project["dependencies"])
    while wanted:
        requirement = wanted.pop()
        name = _name(requirement)
        if name not in found and "extra ==" not in requirement:
            found.add(name)
            wanted += _needs(name)
    return frozenset(found)


def _name(requirement: str) -> str:
    return re.split(r"[^A-Za-z0-9._-]", requirement)[0].lower().replace("_", "-")


def _needs(distribution: str) -> list[str]:
    needs = [need for need in requires(distribution) or [] if "extra ==" not in need]
    return [need for need in needs if "python_version <" not in need and "python_full_version <" not in need]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Files to work on."""
    (tmp_path / "trust.json").write_bytes(TRUST.to_json())
    (tmp_path / "round.json").write_bytes(sample().file.to_bytes())
    (tmp_path / "forged.json").write_bytes(FILES["paid too much"][0])
    (tmp_path / "receipt.txt").write_text(sample().receipts[0])
    (tmp_path / "scenario.json").write_bytes(SCENARIOS[0])
    return tmp_path


def run(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """The command line with the packages of a plain install."""
    names = [name for name, found in packages_distributions().items() if base() & {each.lower() for each in found}]
    command: list[str | Path] = [sys.executable, PLAIN, ",".join(names), *arguments]
    environment = {"PYTHONPATH": str(REPOSITORY), "DEALPROOF_HOME": str(folder / "home")}
    return subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, timeout=120, check=False
    )


def test_it_has_nothing_of_the_server() -> None:
    """Ten packages in all; whoever adds one thinks of the regulator's machine."""
    assert base() == {
        "cffi", "click", "cryptography", "markdown-it-py", "mdurl", "msgspec", "platformdirs", "pycparser", "pygments",
        "rich",
    }  # fmt: skip


CHECKS = [
    (["verify", "round.json", "--trust", "trust.json"], 0, "log         verified"),
    (["verify", "forged.json", "--trust", "trust.json", "--json"], 1, '"discrepancy"'),
    (
        ["receipt", "check", "receipt.txt", "--trust", "trust.json", "--evidence", "round.json"],
        0,
        "casino.example/dealproof",
    ),
    (["scenario", "scenario.json", "--json"], 0, '"boxes"'),
    (["rulesets"], 0, next(iter(released_rulesets()))),
    (["rulesets", "show", next(iter(released_rulesets()))], 0, "digest"),
    (["verifier", "-o", "v.pyz"], 0, "  v.pyz\n"),
    (["shuffle", "dump", "-h"], 0, "Usage"),
    (["witness", "--help"], 0, "Commands"),
    (["witness", "run", "--help"], 0, "Usage"),
    (["--help"], 0, "verifier"),
]


@pytest.mark.parametrize(("arguments", "status", "said"), CHECKS, ids=[" ".join(each[0]) for each in CHECKS])
def test_what_a_verifier_needs_runs_without_the_server(
    folder: Path, arguments: list[str], status: int, said: str
) -> None:
    ran = run(folder, *arguments)

    assert (ran.returncode, ran.stderr) == (status, "")
    assert said in ran.stdout


def test_a_witness_is_made_and_shown_without_the_server(folder: Path) -> None:
    """The regulator's own program."""
    made = run(folder, "witness", "init", "--name", "regulator.example/w1")
    assert (made.returncode, made.stderr) == (0, "")
    assert "regulator.example/w1+" in made.stdout

    shown = run(folder, "witness", "show", "--trust", "trust.json")
    assert shown.returncode in (0, 2), "it has signed nothing yet"
    assert "needs the server" not in shown.stderr


@pytest.mark.parametrize(
    "arguments",
    [
        ["rounds"], ["verify", "--all"], ["verify", "--day", "2026-12-01"], ["demo"], ["play", "--rounds", "1"],
        ["serve"], ["database", "status"], ["doctor"], ["log", "run"],
    ],
    ids=" ".join,
)  # fmt: skip
def test_what_needs_the_server_says_so_in_one_line(folder: Path, arguments: list[str]) -> None:
    """And nothing is made."""
    ran = run(folder, *arguments)

    assert (ran.returncode, ran.stdout, ran.stderr) == (2, "", LACKING)
    assert not (folder / "home").exists()


def test_the_locked_files_hold_every_package_that_is_asked_for() -> None:
    """The README's commands install them with `--no-deps`, so nothing else would bring a package."""
    project = tomllib.loads((REPOSITORY / "pyproject.toml").read_text())["project"]
    extras = project["optional-dependencies"]
    locked = {path: _locked(path) for path in ("requirements.txt", "requirements-reports.txt", "requirements-dev.txt")}

    run_time = {_name(each) for each in [*project["dependencies"], *extras["server"]]}
    assert run_time | base() <= locked["requirements.txt"].keys()
    assert run_time | {_name(each) for each in extras["dev"]} <= locked["requirements-dev.txt"].keys()
    assert {_name(each) for each in extras["reports"]} <= locked["requirements-reports.txt"].keys()
    run, reports, dev = ({name: _anywhere(entry) for name, entry in each.items()} for each in locked.values())
    assert run.items() <= reports.items() <= dev.items()


def _locked(path: str) -> dict[str, str]:
    """Distribution -> its entry with hashes."""
    entries = re.findall(r"^(\S[^=\s]*)==((?:.*\\\n)*.*)\n", (REPOSITORY / path).read_text(), re.M)
    return {name.partition("[")[0]: entry for name, entry in entries}


def _anywhere(entry: str) -> str:
    """An entry without the platforms for which it counts: a second package may need it on more of them."""
    return re.sub(r" ;[^\\\n]*", " ", entry)


@pytest.mark.slow
def test_a_plain_install_verifies(folder: Path) -> None:
    """In an environment of its own, with the locked packages of a plain install alone."""
    locked = _locked("requirements.txt")
    (folder / "plain.txt").write_text("".join(f"{name}=={locked[name]}\n" for name in sorted(base())))
    subprocess.run([sys.executable, "-m", "venv", folder / "venv"], check=True)
    pip: list[str | Path] = [folder / "venv/bin/pip", "install", "-q", "--disable-pip-version-check"]
    subprocess.run([*pip, "-r", folder / "plain.txt"], check=True)
    subprocess.run([*pip, "--no-deps", REPOSITORY], check=True)
    subprocess.run([folder / "venv/bin/pip", "check"], check=True)

    def installed(*arguments: str) -> subprocess.CompletedProcess[str]:
        command: list[str | Path] = [folder / "venv/bin/dealproof", "--home", folder / "home", *arguments]
        return subprocess.run(command, cwd=folder, env={}, capture_output=True, text=True, check=False)

    for arguments, status, said in CHECKS:
        ran = installed(*arguments)
        assert (ran.returncode, ran.stderr) == (status, "")
        assert said in ran.stdout
    ran = installed("rounds")
    assert (ran.returncode, ran.stdout, ran.stderr) == (2, "", LACKING)

    alone = [sys.executable, "-I", "-S", "v.pyz", "round.json"]
    verified = subprocess.run(alone, cwd=folder, env={}, capture_output=True, text=True, check=False)
    assert (verified.returncode, verified.stdout) == (
        0,
        installed("verify", "round.json", "--trust", "trust.json").stdout,
    )
