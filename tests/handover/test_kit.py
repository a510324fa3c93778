"""The hand-over kit: whole, the same each time, from a checkout and from a wheel, and its own README's commands run."""

from __future__ import annotations

import io
import re
import shlex
import subprocess
import sys
import tomllib
import zipfile
from collections.abc import Iterator
from functools import cache
from hashlib import sha256
from importlib.metadata import version
from pathlib import Path

import pytest
from click.testing import CliRunner

from ops.cli.handover import handover
from ops.handover import kit
from ops.handover.kit import CONTENTS, MANIFEST, KitError, kit_files, packed

ROOT = Path(__file__).parents[2]
LARGEST = 15_000_000


@cache
def files() -> dict[str, bytes]:
    return kit_files("1.2.3")


def text(path: str) -> str:
    return files()[path].decode()


def test_everything_is_in_it() -> None:
    """Formats, rules, rulesets, the decoder, known answers, sample evidence: whatever the repository has of them."""
    for place, origin in CONTENTS.items():
        source = ROOT / origin
        wanted = [source] if source.is_file() else sorted(path for path in source.rglob("*") if path.is_file())
        assert wanted
        for path in wanted:
            inside = place if path == source else f"{place}/{path.relative_to(source).as_posix()}"
            assert files()[inside] == path.read_bytes(), inside
    rulesets = {f"rulesets/{path.name}" for path in (ROOT / "domain" / "rulesets").glob("*.json")}
    assert len(rulesets) == 4
    assert rulesets | {"reference/dealproof_reference.py", "reference/check_answers.py"} < set(files())
    assert "reference/__init__.py" not in files()


def test_it_says_which_version_it_is_of() -> None:
    assert text("VERSION") == "1.2.3\n"
    assert "kit of version 1.2.3\n" in text("README.md")
    assert "{version}" not in text("README.md")


def test_the_manifest_has_the_hash_of_every_other_file() -> None:
    listed = [line.split("  ", 1) for line in text(MANIFEST).splitlines()]

    assert [path for _, path in listed] == sorted(set(files()) - {MANIFEST})
    assert all(sha256(files()[path]).hexdigest() == digest for digest, path in listed)


def test_the_archive_is_the_same_each_time() -> None:
    """And in the same order, whatever order its files are gathered in."""
    archive = packed(files(), "kit")
    backwards = dict(sorted(files().items(), reverse=True))

    assert packed(backwards, "kit") == archive
    assert len(archive) < LARGEST
    with zipfile.ZipFile(io.BytesIO(archive)) as opened:
        entries = opened.infolist()
        assert opened.testzip() is None
    assert [entry.filename for entry in entries] == [f"kit/{path}" for path in sorted(files())]
    assert {entry.date_time for entry in entries} == {(2000, 1, 1, 0, 0, 0)}


def test_a_link_leads_to_something_in_the_kit() -> None:
    """On every page of it; where a page names source code, it does so without a link."""
    lost = []
    for path in [path for path in files() if path.endswith(".md")]:
        for link in re.findall(r"\]\(([^)#\s]+)[^)]*\)", text(path)):
            if "://" in link:
                continue
            target = (ROOT / path).parent.joinpath(link).resolve().relative_to(ROOT).as_posix()
            if target not in files() and not any(other.startswith(f"{target}/") for other in files()):
                lost.append(f"{path}: {link}")

    assert lost == []


def test_every_path_that_the_readme_names_is_there() -> None:
    for path in re.findall(r"^\| (`.*?) \|", text("README.md"), re.MULTILINE):
        folder = ""
        for name in re.findall(r"`([^`]+)`", path):
            folder = "known-answers/" if name.startswith("known-answers/") else folder
            whole = name if name in files() or any(other.startswith(name) for other in files()) else folder + name
            assert whole in files() or any(other.startswith(whole) for other in files()), name


def test_the_wheel_has_the_same_parts() -> None:
    """`pyproject.toml` puts them where `kit` looks for them."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    forced = project["tool"]["hatch"]["build"]["targets"]["wheel"]["force-include"]

    assert {place: origin for origin, place in forced.items() if "/handover/" in place} == {
        f"ops/handover/kit/{place}": origin for place, origin in CONTENTS.items()
    }


def test_an_installation_without_the_documents_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(kit.CONTENTS, "docs/formats", "docs/no-such-folder")

    with pytest.raises(KitError, match=r"^handover: docs/no-such-folder: is missing"):
        kit_files("1.2.3")


# -- the command


def test_the_command_writes_the_archive_and_tells_its_hash(tmp_path: Path) -> None:
    output = tmp_path / "kit.zip"

    result = CliRunner().invoke(
        handover, ["-o", str(output)], standalone_mode=False, help_option_names=["-h", "--help"]
    )

    assert result.return_value == 0
    assert result.stdout == f"{sha256(output.read_bytes()).hexdigest()}  {output}\n"
    assert [path.name for path in tmp_path.iterdir()] == ["kit.zip"]
    folder = f"dealproof-handover-{version('dealproof')}"
    assert zipfile.Path(output, f"{folder}/VERSION").read_text() == f"{version('dealproof')}\n"


def test_nothing_is_left_where_the_archive_can_not_be_written(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()

    for output in (tmp_path / "folder", tmp_path / "no" / "such.zip"):
        with pytest.raises(OSError):
            handover.main(["-o", str(output)], standalone_mode=False)
    assert [path.name for path in tmp_path.rglob("*")] == ["folder"]


# -- as a laboratory has it


@pytest.fixture
def unpacked(tmp_path: Path) -> Iterator[Path]:
    with zipfile.ZipFile(io.BytesIO(packed(files(), "kit"))) as archive:
        archive.extractall(tmp_path)
    yield tmp_path / "kit"


@pytest.mark.slow
def test_every_command_of_the_readme_runs(unpacked: Path) -> None:
    """In their order, with a Python that has nothing of ours."""
    commands = re.findall(r"```sh\n(.*?)```", text("README.md"), re.DOTALL)
    assert len(commands) >= 8
    script = f"set -eu\npython3() {{ {shlex.quote(sys.executable)} -E -s \"$@\"; }}\n" + "\n".join(commands)

    done = subprocess.run(["bash", "-c", script], cwd=unpacked, capture_output=True, text=True, timeout=240)

    assert (done.returncode, done.stderr) == (0, "")
    assert "WRONG" not in done.stdout
    told = done.stdout.splitlines()
    assert sum(" as they say" in line for line in told) == 7
    assert "events in the log casino.example/dealproof of" in done.stdout
    leaf = next(line.split()[0] for line in told if line.endswith("  -"))
    assert f'"prev":"{leaf}"' in told


def test_a_changed_file_is_found_by_the_manifest(unpacked: Path) -> None:
    page = unpacked / "docs" / "formats" / "deal.md"
    page.write_text(page.read_text(encoding="utf-8").replace("SHA-256", "SHA-1"), encoding="utf-8")

    done = subprocess.run(["sha256sum", "--check", "--quiet", MANIFEST], cwd=unpacked, capture_output=True, text=True)

    assert done.returncode == 1
    assert done.stdout == "docs/formats/deal.md: FAILED\n"


@pytest.mark.long
def test_an_installed_wheel_packs_the_same_archive(tmp_path: Path) -> None:
    """Built and unpacked as `pip install` does it, without anything of this folder in sight."""
    build = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", str(tmp_path), str(ROOT)]
    subprocess.run(build, check=True, capture_output=True, timeout=240)
    [wheel] = tmp_path.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(tmp_path / "installed")
    number = wheel.name.split("-")[1]
    subprocess.run(
        [sys.executable, "-c", INSTALLED, str(tmp_path / "kit.zip")], check=True, cwd=tmp_path,
        env={"PYTHONPATH": str(tmp_path / "installed"), "PATH": "/usr/bin:/bin"}, timeout=240, capture_output=True,
    )  # fmt: skip

    assert (tmp_path / "kit.zip").read_bytes() == packed(kit_files(number), f"dealproof-handover-{number}")


INSTALLED = """
import sys
import ops
assert "installed" in ops.__file__, ops.__file__
from ops.cli.handover import handover
handover.main(["-o", sys.argv[1]])
"""
