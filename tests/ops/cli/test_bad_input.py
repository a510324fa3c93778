"""Bad input to every command that takes a database: one line that names it, status 2, and nothing half done.

Not here: a round's name (`test_verify`), bad files of `scenario`, `rulesets` and the dumps (beside those).
"""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import psycopg
import pytest

from domain.round.choices import Deal
from domain.rulesets import released_rulesets
from ops.house import House
from ops.journal import Journal
from ops.settings import Settings
from ops.site import current_data_key, open_journal
from tests.conftest import _database as new_database
from tests.ops.cli.running import Ran, dealproof
from tests.ops.played import play_rounds
from tests.ops.test_house import OPEN, made, opened, place

RULESETS = released_rulesets()
READERS = ["rounds", "rounds --json", "show vip-1/1", "verify vip-1/1", "verify --all", "verify --all --workers 2"]
WRITERS = ["play --direct --rounds 2", "demo --rounds 2", "void vip-1/1 --reason test"]
ADMINISTRATORS = ["database migrate", "database status"]


@pytest.fixture(scope="module")
def played_template(
    server_url: str, migrated_template: str, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[str, Path]]:
    """A database with eight true rounds and an open one, to be copied; and the key file of its seeds."""
    home = tmp_path_factory.mktemp("home")
    with new_database(server_url, migrated_template) as url:
        settings = Settings(home, url, home / "dealproof.key")
        with open_journal(settings) as (_, journal):
            house = House(journal, current_data_key(url, settings))
            play_rounds(journal, 8, 1, key=house.data_key)
            made(house, opened(house, RULESETS[OPEN]), place(1), Deal())
        yield url.rpartition("/")[2].partition("?")[0], settings.key_file


@pytest.fixture
def url(server_url: str, played_template: tuple[str, Path]) -> Iterator[str]:
    with new_database(server_url, played_template[0]) as url:
        yield url


@pytest.fixture
def key_file(played_template: tuple[str, Path], tmp_path: Path) -> Path:
    """A copy of the key file that fits."""
    copy = tmp_path / "copy.key"
    copy.write_bytes(played_template[1].read_bytes())
    copy.chmod(0o600)
    return copy


def counts(url: str) -> list[int]:
    """How many rows each table has."""
    with psycopg.connect(url) as owner:
        return [
            owner.execute(f"select count(*) from dealproof.{table}".encode()).fetchone()[0]  # type: ignore[index]
            for table in ("events", "commands", "round_identity", "data_key")
        ]


def assert_one_line(ran: Ran, *named: str) -> None:
    assert ran.status == 2, ran
    assert ran.stdout == ""
    assert ran.stderr.startswith("dealproof: ")
    assert ran.stderr.count("\n") == 1
    assert ran.stderr.endswith("\n")
    for word in named:
        assert word in ran.stderr


def test_good_input_is_none_of_this(url: str, key_file: Path, tmp_path: Path) -> None:
    """Else every refusal below might have another reason."""
    for line in (*READERS, *WRITERS, *ADMINISTRATORS):
        ran = dealproof(
            "--home", str(tmp_path / "home"), "--database-url", url, "--key-file", str(key_file), *line.split()
        )
        assert ran.status == (2 if line == "verify vip-1/1" else 0), (line, ran)
        assert ran.stderr == ""


# -- the database


@pytest.mark.parametrize("line", [*READERS, *WRITERS, *ADMINISTRATORS])
@pytest.mark.parametrize(
    ("address", "named"),
    [
        ("postgresql://alice:hush-hush@127.0.0.1:1/deals", "database 127.0.0.1:1/deals: "),
        ("postgresql://alice:hush-hush@/deals?host=/nowhere", "database /nowhere/deals: "),
        ("postgresql://alice:hush-hush@h:port/deals", "database URL: not of the form postgresql://"),
        ("mysql://alice:hush-hush@h/deals", "database URL: not of the form"),
        ("nonsense", "database URL: not of the form"),
        ("postgresql://h/deals?colour=hush-hush", "database URL: not of the form"),
    ],
)
def test_a_database_that_cannot_be_reached_is_named_without_its_password(
    tmp_path: Path, line: str, address: str, named: str
) -> None:
    home = tmp_path / "home"
    ran = dealproof("--home", str(home), "--database-url", address, *line.split())

    assert_one_line(ran, named)
    assert "hush" not in ran.stderr
    assert not home.exists()


def test_a_url_of_bytes_that_are_no_text_is_refused(tmp_path: Path) -> None:
    ran = dealproof("--home", str(tmp_path), "--database-url", "postgresql://h/\udcff", "rounds")
    assert_one_line(ran, "not text in UTF-8")


def test_a_database_that_is_not_there_is_named(server_url: str, tmp_path: Path) -> None:
    address = server_url.rpartition("/")[0] + "/there_is_none" + ("?" + server_url.partition("?")[2]).rstrip("?")
    for line in (*READERS, *WRITERS, *ADMINISTRATORS):
        ran = dealproof("--home", str(tmp_path / "home"), "--database-url", address, *line.split())
        assert_one_line(ran, 'database "there_is_none" does not exist')


@contextmanager
def a_server_that_refuses_the_password() -> Iterator[str]:
    """Speaks as much of PostgreSQL's protocol as it takes to ask for a password and not to like it."""
    listener = socket.create_server(("127.0.0.1", 0))

    def answer() -> None:
        while True:
            try:
                client, _ = listener.accept()
            except OSError:  # closed: the test is over
                return
            with client:
                while len(request := client.recv(4096)) == 8:  # asks for encryption
                    client.sendall(b"N")
                if not request:
                    continue
                client.sendall(b"R\0\0\0\x08\0\0\0\x03")
                if client.recv(4096):
                    complaint = b'SFATAL\0C28P01\0Mpassword authentication failed for user "alice"\0\0'
                    client.sendall(b"E" + (len(complaint) + 4).to_bytes(4, "big") + complaint)

    thread = threading.Thread(target=answer, daemon=True)
    thread.start()
    try:
        yield f"postgresql://alice:hush-hush@127.0.0.1:{listener.getsockname()[1]}/deals"
    finally:
        listener.shutdown(socket.SHUT_RDWR)
        listener.close()
        thread.join(timeout=10)


def test_a_wrong_password_is_told_and_not_shown(tmp_path: Path) -> None:
    with a_server_that_refuses_the_password() as address:
        for line in (*READERS, *WRITERS, *ADMINISTRATORS):
            ran = dealproof("--home", str(tmp_path / "home"), "--database-url", address, *line.split())
            assert_one_line(ran, 'password authentication failed for user "alice"')
            assert "hush" not in ran.stderr
    assert not (tmp_path / "home").exists()


@pytest.mark.parametrize("line", [*READERS, "void vip-1/1 --reason test"])
def test_a_database_without_a_journal_is_not_made_one_by_a_question(
    database_url: str, tmp_path: Path, line: str
) -> None:
    ran = dealproof("--home", str(tmp_path / "home"), "--database-url", database_url, *line.split())

    with psycopg.connect(database_url) as owner:
        assert owner.execute("select from pg_namespace where nspname = 'dealproof'").fetchall() == []
    assert not (tmp_path / "home").exists()
    assert_one_line(ran, "migrate it first")


def test_the_embedded_server_is_not_stopped_in_the_place_of_another(url: str) -> None:
    assert_one_line(dealproof("--database-url", url, "database", "stop"), "--database-url")


# -- the key file


def readable_by_others(path: Path) -> None:
    path.chmod(0o644)


def another_key(path: Path) -> None:
    path.write_bytes(b"k" * 32)


def half_written(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:17])


def empty(path: Path) -> None:
    path.write_bytes(b"")


def zeroed(path: Path) -> None:
    path.write_bytes(bytes(32))


def too_long(path: Path) -> None:
    path.write_bytes(path.read_bytes() + b"\n")


def missing(path: Path) -> None:
    path.unlink()


def a_folder(path: Path) -> None:
    path.unlink()
    path.mkdir()


def below_a_file(path: Path) -> None:
    path.unlink()
    path.parent.rmdir()
    path.parent.write_bytes(b"")


def a_loop(path: Path) -> None:
    path.unlink()
    path.symlink_to(path)


@pytest.mark.parametrize(
    ("spoil", "named"),
    [
        (readable_by_others, "mode 0644 lets others"),
        (another_key, "doesn't open with key file"),
        (half_written, "half-written, 17 of 32 bytes"),
        (empty, "half-written, 0 of 32 bytes"),
        (zeroed, "all bytes are zero"),
        (too_long, "longer than 32 bytes"),
        (missing, "is missing, but seeds are sealed under it"),
        (a_folder, "key file"),
        (below_a_file, "key file"),
        (a_loop, "key file"),
    ],
)
def test_a_bad_key_file_is_named_and_nothing_is_written(
    url: str, played_template: tuple[str, Path], tmp_path: Path, spoil: Callable[[Path], None], named: str
) -> None:
    folder = tmp_path / "keys"
    folder.mkdir()
    path = folder / "the.key"
    path.write_bytes(played_template[1].read_bytes())
    path.chmod(0o600)
    spoil(path)
    before, files = counts(url), sorted(tmp_path.rglob("*"))

    for line in WRITERS:
        ran = dealproof("--home", str(tmp_path), "--database-url", url, "--key-file", str(path), *line.split())
        assert_one_line(ran, named, str(path))
        assert counts(url) == before
    assert sorted(tmp_path.rglob("*")) == files
    assert dealproof("--home", str(tmp_path), "--database-url", url, "--key-file", str(path), "rounds").status == 0


def test_a_first_key_is_not_half_made(migrated_database_url: str, tmp_path: Path) -> None:
    """Where the key file can't be made, no data key is stored that only it would have opened."""
    (tmp_path / "file").write_bytes(b"")
    for path in (tmp_path / "file/the.key", tmp_path / "file"):
        ran = dealproof(
            "--home", str(tmp_path / "home"), "--database-url", migrated_database_url, "--key-file", str(path), "play",
            "--rounds", "1",
        )  # fmt: skip
        assert_one_line(ran, str(path))
        assert counts(migrated_database_url)[2:] == [0, 0]
    assert (tmp_path / "file").read_bytes() == b""


# -- the home


def unusable_homes(tmp_path: Path) -> dict[str, Path]:
    file = tmp_path / "a file"
    file.write_bytes(b"")
    homes = {"a file": file, "below a file": file / "home"}
    if os.geteuid() == 0:
        homes["not writable"] = Path("/proc/dealproof")  # where not even root makes a folder
    else:
        homes["not writable"] = tmp_path / "locked"
        homes["not writable"].mkdir(mode=0o500)
    return homes


@pytest.mark.parametrize("which", ["a file", "below a file", "not writable"])
@pytest.mark.parametrize("line", ["verify --all", "play --direct --rounds 2", "demo --rounds 2"])
def test_a_home_that_cannot_be_used_is_named(migrated_database_url: str, tmp_path: Path, which: str, line: str) -> None:
    """With a database of its own: the home has the key file, and the manifest of a verification."""
    if which == "not writable" and not sys.platform.startswith("linux"):
        pytest.skip("needs /proc")
    home = unusable_homes(tmp_path)[which]
    ran = dealproof("--home", str(home), "--database-url", migrated_database_url, *line.split())

    assert_one_line(ran, str(home))
    assert counts(migrated_database_url)[2:] == [0, 0]


@pytest.mark.parametrize("which", ["a file", "below a file", "not writable"])
@pytest.mark.parametrize(
    "line", ["rounds", "verify --all", "play --direct --rounds 2", "database status", "database migrate"]
)
def test_a_home_that_cannot_hold_the_server_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, which: str, line: str
) -> None:
    """Without one, the embedded server's folder is made there; nothing of it stays behind."""
    if which == "not writable" and not sys.platform.startswith("linux"):
        pytest.skip("needs /proc")
    home = unusable_homes(tmp_path)[which]
    # Root's servers of hidden homes lie elsewhere, where a test must leave nothing.
    monkeypatch.setattr(Settings, "server_folder", property(lambda settings: settings.home / "postgresql"))
    before = sorted(tmp_path.rglob("*"))

    ran = dealproof("--home", str(home), *line.split())

    if line == "database status" and ran.status == 0:
        assert "No embedded PostgreSQL yet" in ran.stdout
    else:
        assert_one_line(ran, str(home))
    assert sorted(tmp_path.rglob("*")) == before


# -- options


@pytest.mark.parametrize(
    ("line", "named"),
    [
        ("verify --all --since garbage", "--since: 'garbage' is not a time"),
        ("verify --all --since 2026-13-01", "--since: '2026-13-01'"),
        ("verify --all --since 2026-02-30", "--since: '2026-02-30'"),
        ("verify --all --until 1e3", "--until: '1e3'"),
        ("verify --all --until NaN", "--until: 'NaN'"),
        ("verify --all --until 99999-01-01", "--until: '99999-01-01'"),
        ("verify --all --until 1969-12-31", "--until: '1969-12-31' lies before 1970"),
        ("verify --all --since 0001-01-01T00:00:00+23:59", "--since: "),
        ("verify --all --since 2026-02-01 --until 2026-01-01", "--since: lies after --until"),
        ("verify --all --ruleset russian-poker", "--ruleset: 'russian-poker' has no version"),
        ("verify --all --workers 0", "--workers"),
        ("verify --all --workers -1", "--workers"),
        ("verify --all --workers 1e3", "--workers"),
        ("verify --all --workers 9999", "--workers"),
        ("verify --all vip-1/1", "name one ROUND, or --all"),
        ("verify vip-1/1 --table vip-1", "go with --all"),
        ("play --rounds -1", "--rounds"),
        ("play --rounds 0", "--rounds"),
        ("play --rounds 1.5", "--rounds"),
        ("play --rounds NaN", "--rounds"),
        ("play --rounds 99999999999999999999", "--rounds"),
        ("play --seed x", "--seed"),
        ("play --ruleset whist@1", "--ruleset: 'whist@1' is not known"),
        ("play --ruleset russian-poker@2", "--ruleset: 'russian-poker@2' is not known"),
        ("play --ruleset russian-poker", "--ruleset: 'russian-poker' is not known"),
        ("demo --rounds 0", "--rounds"),
        ("rounds --last 0", "--last"),
        ("rounds --last -1", "--last"),
        ("rounds --last 1e3", "--last"),
        ("void vip-1/9 --reason test", "has no round 9"),
        ("void nonsense --reason test", "'nonsense'"),
    ],
)
def test_an_option_out_of_range_is_named_with_its_value(
    url: str, key_file: Path, tmp_path: Path, line: str, named: str
) -> None:
    before = counts(url)

    ran = dealproof(
        "--home", str(tmp_path / "home"), "--database-url", url, "--key-file", str(key_file), *line.split()
    )

    assert_one_line(ran, named)
    assert counts(url) == before
    assert not (tmp_path / "home").exists()


@pytest.mark.parametrize("line", ["rounds --table", "verify --all --table", "verify", "show", "verify --all --since"])
@pytest.mark.parametrize("text", ["\udcff", "\udcff/1", "\u202e/1"], ids=ascii)
def test_text_that_is_none_is_no_bug(url: str, tmp_path: Path, line: str, text: str) -> None:
    """Bytes that are not UTF-8 reach a program as lone surrogates: nothing has such a name."""
    ran = dealproof("--home", str(tmp_path), "--database-url", url, *line.split(), text)

    if ran.status == 0:
        assert ran.stdout.startswith(("No rounds.", "0 rounds: "))
    else:
        assert_one_line(ran)
    assert "\u202e" not in ran.stderr


def test_a_database_that_goes_away_is_one_line(url: str, tmp_path: Path) -> None:
    """While rounds are read; the events are held back so that the connection can be cut in the middle."""
    code = (
        "from ops import bulk_verify; from ops.cli.main import main; verify_all = bulk_verify.verify_all\n"
        "def after_a_word(*arguments, **options):\n"
        "    print('ready', flush=True); input(); verify_all(*arguments, **options)\n"
        "bulk_verify.verify_all = after_a_word; main()"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", code, "--home", str(tmp_path), "--database-url", url, "verify", "--all"],
        cwd=Path(__file__).parents[3], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip
    assert process.stdout is not None
    assert process.stdout.readline() == b"ready\n"
    assert process.stdin is not None
    with psycopg.connect(url, autocommit=True) as owner, psycopg.connect(url) as lock:
        lock.execute("lock table dealproof.events in access exclusive mode")
        process.stdin.write(b"\n")
        process.stdin.flush()
        for _ in range(2):  # a question is asked once more when its connection is lost
            while not owner.execute(
                "select pg_terminate_backend(pid, 5000) from pg_locks where not granted and pid <> pg_backend_pid()"
            ).fetchall():
                threading.Event().wait(0.02)
    out, complaint = process.communicate(timeout=30)

    assert_one_line(Ran(process.returncode, out.decode(), complaint.decode()), "journal: ")
    with Journal.open(url) as journal:
        assert journal.count_rounds() == 9
