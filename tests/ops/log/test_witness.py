"""The witness against logs that grow, lag, lie and fork: over HTTP, as on the regulator's own machine."""

from __future__ import annotations

import contextlib
import json
import os
import re
import signal
import ssl
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from functools import cache
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from ipaddress import ip_address
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

from domain.log.checkpoint import (
    COSIGNATURE,
    LOG,
    Checkpoint,
    Cosigned,
    Note,
    NoteError,
    Opened,
    VerifierKey,
    open_checkpoint,
    parse_note,
    signed_by_log,
)
from domain.log.merkle import leaf_hash, root_of
from domain.log.tiles import Tile, tiles_of
from domain.log.trust import PinnedKey, Trust
from ops.api.app import create_app
from ops.api_keys import Gatekeeper
from ops.floor import Floor
from ops.journal import Journal
from ops.keys import DataKey
from ops.log.ed25519 import check_signature
from ops.log.public import NoteRefusal, NoteRefused, PublicLog
from ops.log.remote import LogUnavailable, RemoteLog
from ops.log.signing import FileSigningKey
from ops.log.store import LogStore
from ops.log.trusting import read_trust
from ops.log.witness import (
    Behind,
    Did,
    Fork,
    ForkKept,
    Look,
    Unproved,
    WitnessError,
    forks,
    make_witness,
    open_witness,
)
from tests.http import served
from tests.ops.cli.running import REPOSITORY, Ran, command, dealproof
from tests.ops.floor.casino import KEY
from tests.ops.log.logged import ORIGIN, insert, key_at, sequencer
from tests.ops.played import Owner

NOW = 1_790_000_000

Answer = tuple[int, dict[str, str], bytes]


# -- a log that does as it is told


@cache
def leaves(history: str, size: int) -> list[bytes]:
    """Two histories are the same up to where the name of the second one says: `b200` is like `a` for 200 events."""
    shared = int(history[1:] or size)
    return [leaf_hash(f"{'a' if at < shared else history} {at}".encode()) for at in range(size)]


@cache
def root_at(history: str, size: int) -> bytes:
    return root_of(leaves(history, size))


class House:
    """A log in a folder, published by the code of the house but with a history that the test chooses."""

    def __init__(self, folder: Path, history: str, key: FileSigningKey, trust_file: Path) -> None:
        self.history, self.key = history, key
        self.store = LogStore(folder)
        self.public = PublicLog(self.store, trust_file)

    def checkpoint(self, size: int) -> Checkpoint:
        return Checkpoint(ORIGIN, size, root_at(self.history, size))

    def note(self, size: int) -> Note:
        return signed_by_log(self.checkpoint(size), self.key.verifier, self.key.sign)

    def grow(self, size: int) -> None:
        rows = [leaves(self.history, size)]
        while len(rows[-1]) >= 256:
            rows.append([root_of(rows[-1][at : at + 256]) for at in range(0, len(rows[-1]) - 255, 256)])
        for tile in tiles_of(size):
            self.store.write_tile(tile, b"".join(rows[tile.level][tile.index * 256 :][: tile.width]))
        self.store.sync()
        self.store.publish(self.note(size).to_bytes())

    def cosigned(self, size: int) -> Note | None:
        return self.store.cosigned(size)


class Scene:
    """A regulator with his folder and trust file, and a server that shows a house's log, or something else."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.trust_file = folder / "witness", folder / "trust.json"
        self._all = folder
        self.key = FileSigningKey(folder / "log.key", ORIGIN)
        self.name = make_witness(self.folder, "regulator.example/w1")
        self.pin(self.name)
        self.house = self.of("a")
        self.answers: dict[str, Answer | Callable[[BaseHTTPRequestHandler], None]] = {}
        self.asked: list[str] = []
        self.server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(self))
        self.server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self.server.server_port}"

    def pin(self, *witnesses: VerifierKey) -> None:
        trust = Trust(ORIGIN, (PinnedKey(self.key.verifier),), tuple(map(PinnedKey, witnesses)), ())
        self.trust_file.write_bytes(trust.to_json())

    def of(self, history: str) -> House:
        return House(self._all / f"log {history}", history, self.key, self.trust_file)

    def show(self, history: str, size: int) -> House:
        """From now on the server shows this history."""
        self.house = self.of(history)
        self.house.grow(size)
        return self.house

    def look(self, folder: Path | None = None, now: int = NOW, log: RemoteLog | None = None) -> Look:
        with open_witness(folder or self.folder, read_trust(self.trust_file), lambda: now) as witness:
            return witness.look(log or RemoteLog(self.url))

    def held(self, folder: Path | None = None) -> Opened:
        """What the witness holds, opened with his own key as a witness that is wanted."""
        own = VerifierKey.from_text(((folder or self.folder) / "witness.pub").read_text().strip())
        trust = replace(read_trust(self.trust_file), witness_keys=(PinnedKey(own),), witnesses_needed=1)
        return open_checkpoint(((folder or self.folder) / "held").read_bytes(), trust, check_signature)

    def run(self, *more: str) -> Ran:
        return dealproof(*self.arguments("--once", *more))

    def arguments(self, *more: str) -> list[str]:
        files = "--trust", str(self.trust_file), "--folder", str(self.folder)
        return ["witness", "run", "--log", self.url, *files, *more]


def _handler(scene: Scene) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            if not self._told():
                self._send(self._read())

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            if not self._told():
                self._send(self._take(body))

        def _told(self) -> bool:
            scene.asked.append(f"{self.command} {self._name()}")
            told = scene.answers.get(self._name())
            if callable(told):
                told(self)
                self.close_connection = True
            elif told is not None:
                self._send(told)
            return told is not None

        def _name(self) -> str:
            return self.path.removeprefix("/v1/log/")

        def _read(self) -> Answer:
            public = scene.house.public
            if self._name().startswith("tile/"):
                tile = public.tile(self._name())
                found = None if tile is None else tile[1]
            else:
                found = {"checkpoint": public.checkpoint, "cosigned": public.cosigned}[self._name()]()
            return problem(404, "log-empty") if found is None else (200, {}, found)

        def _take(self, body: bytes) -> Answer:
            try:
                scene.house.public.take(json.loads(body)["note"].encode())
            except NoteRefused as refused:
                return problem(409 if refused.code is NoteRefusal.FORK else 422, refused.code, str(refused))
            return 200, {}, b"{}"

        def _send(self, answer: Answer) -> None:
            status, headers, body = answer
            self.send_response(status)
            for name, value in {"Content-Length": str(len(body)), **headers}.items():
                self.send_header(name, value)
            self.end_headers()
            with contextlib.suppress(ConnectionError):  # it may have read enough
                self.wfile.write(body)

        def log_message(self, *_: Any) -> None:
            pass

    return Handler


def problem(status: int, code: str, detail: str = "") -> Answer:
    return status, {}, json.dumps({"code": code, "detail": detail}).encode()


@pytest.fixture
def scene(tmp_path: Path) -> Iterator[Scene]:
    scene = Scene(tmp_path)
    thread = threading.Thread(target=scene.server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    yield scene
    scene.server.shutdown()
    scene.server.server_close()


# -- its key


def test_a_witness_is_made_once_and_its_secret_is_its_owners(tmp_path: Path) -> None:
    folder = tmp_path / "new" / "witness"
    ran = dealproof("witness", "init", "--folder", str(folder), "--name", "regulator.example/w1")

    key = VerifierKey.from_text(ran.stdout.strip())
    assert (ran.status, key.name, key.type) == (0, "regulator.example/w1", COSIGNATURE)
    assert (folder / "witness.key").stat().st_mode & 0o777 == 0o600
    assert folder.stat().st_mode & 0o777 == 0o700
    again = dealproof("witness", "init", "--folder", str(folder), "--name", "other.example")
    assert (again.status, again.stdout) == (2, "")
    assert "is the folder of the witness regulator.example/w1 already" in again.stderr
    shown = dealproof("witness", "show", "--folder", str(folder))
    assert shown.stdout == f"key      {key.to_text()}\nheld     nothing yet\n"


def test_the_folder_is_below_the_home(tmp_path: Path) -> None:
    assert dealproof("--home", str(tmp_path), "witness", "init", "--name", "w").status == 0
    assert (tmp_path / "witness/witness.key").exists()


@pytest.mark.parametrize("name", ["", "two words", "a+b", "x" * 201])
def test_a_name_that_no_note_can_carry_is_refused(tmp_path: Path, name: str) -> None:
    ran = dealproof("witness", "init", "--folder", str(tmp_path / "w"), "--name", name)

    assert ran.status == 2
    assert not (tmp_path / "w").exists()


def test_a_clock_that_cannot_be_right_signs_nothing(scene: Scene) -> None:
    scene.house.grow(5)
    for now in (-1, 10**12):
        with pytest.raises(NoteError, match="are not a time"):
            scene.look(now=now)
    assert not (scene.folder / "held").exists()


def test_a_kill_in_the_middle_of_init_is_mended_by_the_next(scene: Scene) -> None:
    """The secret is there, its public half is not."""
    (scene.folder / "witness.pub").unlink()

    assert make_witness(scene.folder, "regulator.example/w1") == scene.name


def test_a_key_file_that_cannot_be_trusted_is_refused(scene: Scene) -> None:
    scene.house.grow(5)
    path = scene.folder / "witness.key"
    secret = path.read_bytes()

    path.chmod(0o644)
    assert "mode 0644 lets others than the owner use it" in failed(scene.run())
    path.unlink()
    assert "witness.key: is missing; restore it" in failed(scene.run())
    assert not path.exists(), "with a new one nobody would believe what it signs"
    path.write_bytes(secret[::-1])
    path.chmod(0o600)
    assert "is not the secret of regulator.example/w1+" in failed(scene.run())
    path.write_bytes(secret)
    (scene.folder / "witness.pub").write_text("regulator.example/w1+00000000+AAAA\n")
    assert "witness.pub: key: " in failed(scene.run())
    (scene.folder / "witness.pub").unlink()
    assert "`dealproof witness init` makes" in failed(scene.run())
    assert scene.asked == []


def failed(ran: Ran) -> str:
    """The one line of a command that could not do what it should."""
    assert (ran.status, ran.stdout) == (2, ""), ran
    assert re.fullmatch(r"dealproof: .+\n", ran.stderr), ran.stderr
    return ran.stderr


# -- an honest log


def test_a_log_is_cosigned_as_it_grows(scene: Scene) -> None:
    """Each time the house gets a line that a verifier believes."""
    for step, size in enumerate([1, 2, 3, 200, 255, 256, 257, 512, 700, 701, 65_537]):
        scene.house.grow(size)
        look = scene.look(now=NOW + step)

        checkpoint = scene.house.checkpoint(size)
        assert look == Look(Did.COSIGNED, checkpoint, first_contact=step == 0)
        note = scene.house.cosigned(size)
        assert note is not None
        trust = replace(read_trust(scene.trust_file), witnesses_needed=1)
        opened = open_checkpoint(note.to_bytes(), trust, check_signature)
        assert opened == scene.held() == Opened(checkpoint, (Cosigned(scene.name.name, NOW + step),), note)


def test_the_time_is_that_of_the_witness(scene: Scene) -> None:
    """From its clock, whatever the log says."""
    scene.house.grow(5)
    scene.look(now=77)

    assert scene.held().cosigned == (Cosigned("regulator.example/w1", 77),)


def test_the_first_contact_is_said_and_so_is_what_follows(scene: Scene) -> None:
    assert scene.run().stdout == "The log is empty: nothing to sign\n"
    scene.house.grow(1300)
    first = scene.run()
    assert (first.status, first.stderr) == (0, "")
    root = scene.house.checkpoint(1300).root.hex()
    assert first.stdout == (
        f"First contact, nothing was held: 1,300 events, root {root} believed as it is and cosigned "
        "(trust on first use)\n"
    )
    assert scene.run().stdout == f"Nothing new: 1,300 events, root {root}\n"
    scene.house.grow(1301)
    assert scene.run().stdout == f"Cosigned: 1,301 events, root {scene.house.checkpoint(1301).root.hex()}\n"


def test_what_is_held_is_shown(scene: Scene) -> None:
    scene.house.grow(1300)
    scene.look()
    shown = dealproof("witness", "show", "--folder", str(scene.folder), "--trust", str(scene.trust_file))

    assert shown.status == 0
    assert shown.stdout.splitlines() == [
        f"key      {scene.name.to_text()}",
        f"log      {ORIGIN}",
        f"held     1,300 events, root {scene.house.checkpoint(1300).root.hex()}",
        "signed   2026-09-21T14:13:20.000Z",
    ]


def test_an_empty_checkpoint_is_none(scene: Scene) -> None:
    """Every tree begins with the empty one: to sign it would bind the log to nothing."""
    scene.house.store.publish(scene.house.note(0).to_bytes())

    assert scene.look() == Look(Did.EMPTY)
    assert not (scene.folder / "held").exists()


def test_what_the_log_has_lost_is_brought_again(scene: Scene) -> None:
    scene.house.grow(300)
    scene.look()
    (scene.house.store.folder / "cosigned/300").unlink()
    held = (scene.folder / "held").read_bytes()

    assert scene.look(now=NOW + 9).did is Did.BROUGHT_AGAIN
    assert scene.house.public.cosigned() == held == (scene.folder / "held").read_bytes()
    assert scene.look().did is Did.NOTHING_NEW


def test_tiles_of_the_proof_alone_are_fetched(scene: Scene) -> None:
    scene.house.grow(65_537)
    scene.look()
    scene.house.grow(65_540)
    scene.asked.clear()
    scene.look()

    assert len(scene.asked) == len(set(scene.asked)) < 8


# -- several witnesses


def test_witnesses_sign_the_same_note(scene: Scene, tmp_path: Path) -> None:
    """However the log grows in between, and both lines are kept."""
    second = make_witness(tmp_path / "second", "press.example")
    scene.pin(scene.name, second)
    for at in range(4):
        scene.house.grow(300 * at + 100)
        first = scene.look(now=NOW + 10 * at)
        scene.house.grow(300 * at + 250)
        other = scene.look(tmp_path / "second", now=NOW + 10 * at + 5)

        assert first.checkpoint == other.checkpoint == scene.house.checkpoint(300 * at + 100)
        note = scene.house.cosigned(300 * at + 100)
        assert note is not None
        opened = open_checkpoint(note.to_bytes(), read_trust(scene.trust_file), check_signature)
        assert opened.cosigned == (
            Cosigned("regulator.example/w1", NOW + 10 * at), Cosigned("press.example", NOW + 10 * at + 5),
        )  # fmt: skip


def test_a_line_that_was_not_heard_goes_to_the_note_of_the_others_first(scene: Scene, tmp_path: Path) -> None:
    """Rather than to a newer one, where it would stand alone."""
    second = make_witness(tmp_path / "second", "press.example")
    scene.pin(scene.name, second)
    scene.house.grow(100)
    scene.look(tmp_path / "second")
    scene.answers["cosignatures"] = problem(503, "busy")
    with pytest.raises(LogUnavailable):
        scene.look()
    scene.answers.clear()
    scene.house.grow(200)

    assert scene.look() == Look(Did.BROUGHT_AGAIN, scene.house.checkpoint(100))
    assert len((scene.house.cosigned(100) or scene.house.note(1)).signatures) == 3
    assert scene.look() == Look(Did.COSIGNED, scene.house.checkpoint(200))


def test_lines_of_others_are_not_the_witnesses_concern(scene: Scene) -> None:
    """Not even a hundred of them, none of them good: it keeps the log's line and its own."""
    note = scene.house.note(5)
    scene.house.grow(5)
    line = note.signatures[0]
    strangers = [line._replace(name=f"stranger{number}.example", key_id=b"abcd") for number in range(99)]
    scene.answers["checkpoint"] = 200, {}, Note(note.body, (*strangers, line)).to_bytes()

    assert scene.look().did is Did.COSIGNED
    assert [held.name for held in scene.held().note.signatures] == [ORIGIN, scene.name.name]


def test_one_witness_works_in_a_folder(scene: Scene) -> None:
    """Two that look at the same note held could sign two histories."""
    scene.house.grow(5)
    with open_witness(scene.folder, read_trust(scene.trust_file), lambda: NOW):
        assert "another witness works in this folder" in failed(scene.run())


# -- forks


def test_a_second_root_for_the_same_size_is_a_fork(scene: Scene) -> None:
    """Both sides are kept and shown; nothing is signed until a person has seen to it."""
    scene.house.grow(300)
    scene.look()
    held = (scene.folder / "held").read_bytes()
    other = scene.show("b200", 300)
    ran = scene.run()

    path = scene.folder / "fork-300-300.txt"
    assert path.read_bytes().startswith(held + b"\n" + other.note(300).to_bytes() + b"\n")
    assert (ran.status, ran.stderr) == (1, "")
    assert "FORK: two roots for the same 300 events" in ran.stdout
    for side in (held, other.note(300).to_bytes()):
        assert "".join(f"  {line}".rstrip() + "\n" for line in side.decode().splitlines()) in ran.stdout
    assert str(path) in ran.stdout
    assert (scene.folder / "held").read_bytes() == held
    assert other.public.cosigned() is None


@pytest.mark.parametrize(
    ("shared", "held", "offered"),
    [(200, 300, 700), (299, 300, 301), (0, 1, 2), (0, 256, 512), (255, 256, 257), (511, 512, 65_537), (3, 7, 8)],
)
def test_a_rewritten_history_is_a_fork(scene: Scene, shared: int, held: int, offered: int) -> None:
    """From any place, to any place; the file proves it to whoever has the log's key."""
    scene.house.grow(held)
    scene.look()
    note = (scene.folder / "held").read_bytes()
    other = scene.show(f"b{shared}", offered)
    with pytest.raises(Fork, match=f"no growth from {held} events to {offered}") as found:
        scene.look()

    assert root_at(f"b{shared}", held).hex() in str(found.value)
    assert [side.data for side in found.value.sides] == [note, other.note(offered).to_bytes()]
    text = found.value.path.read_bytes()
    assert found.value.path == scene.folder / f"fork-{held}-{offered}.txt"
    assert text.startswith(note + b"\n" + other.note(offered).to_bytes() + b"\n" + str(found.value).encode())
    assert (scene.folder / "held").read_bytes() == note
    assert other.public.cosigned() is None


def test_nothing_is_signed_while_there_is_a_fork_file(scene: Scene) -> None:
    """Not even the side that was signed before; a person's removal of the file ends it."""
    scene.house.grow(300)
    scene.look()
    scene.show("b200", 400)
    assert scene.run().status == 1
    scene.show("a", 500)
    scene.asked.clear()

    ran = scene.run()
    assert (ran.status, ran.stderr, scene.asked) == (1, "", [])
    assert "fork-300-400.txt: a fork of this log was found; nothing is signed until" in ran.stdout
    with pytest.raises(ForkKept):
        scene.look()
    shown = dealproof("witness", "show", "--folder", str(scene.folder), "--trust", str(scene.trust_file))
    assert shown.status == 1
    assert f"fork     {forks(scene.folder)[0]}" in shown.stdout.splitlines()

    forks(scene.folder)[0].unlink()
    assert scene.look() == Look(Did.COSIGNED, scene.house.checkpoint(500))


@pytest.mark.parametrize(("history", "size"), [("b200", 300), ("b200", 280), ("b200", 320)])
def test_a_fork_between_the_notes_that_the_log_shows_is_found(scene: Scene, history: str, size: int) -> None:
    """Whichever of them would be signed; a note smaller than the one held is looked at too."""
    scene.house.grow(300)
    scene.look()
    scene.house.grow(330)
    cosigned = scene.of(history).note(size).to_bytes()
    scene.answers["cosigned"] = 200, {}, cosigned
    with pytest.raises(Fork):
        scene.look()

    assert scene.held().checkpoint.size == 300


def test_a_fork_at_first_contact_is_found(scene: Scene) -> None:
    scene.house.grow(330)
    scene.answers["cosigned"] = 200, {}, scene.of("b100").note(300).to_bytes()
    with pytest.raises(Fork):
        scene.look()

    assert not (scene.folder / "held").exists()


# -- a log that is behind


@pytest.mark.parametrize("size", [1, 200, 299])
def test_a_log_that_offers_less_than_before_is_behind(scene: Scene, size: int) -> None:
    scene.house.grow(300)
    scene.look()
    held = (scene.folder / "held").read_bytes()
    scene.house = House(scene.folder.with_name("restored"), "a", scene.key, scene.trust_file)
    scene.house.grow(size)
    ran = scene.run()

    assert (ran.status, ran.stderr) == (1, "")
    assert f"Not signed: the log is behind: it offers {size} events, and had 300 (held here)" in ran.stdout
    assert (scene.folder / "held").read_bytes() == held
    assert forks(scene.folder) == []
    scene.house.grow(400)
    assert scene.look().did is Did.COSIGNED


def test_a_log_that_is_empty_again_is_behind(scene: Scene) -> None:
    scene.house.grow(300)
    scene.look()
    scene.house = scene.of("c")
    with pytest.raises(Behind, match="offers 0 events, and had 300"):
        scene.look()
    scene.house.store.publish(scene.house.note(0).to_bytes())
    with pytest.raises(Behind, match="offers 0 events, and had 300"):
        scene.look()


def test_a_log_that_is_behind_its_own_cosigned_note_is_behind(scene: Scene) -> None:
    scene.house.grow(300)
    scene.answers["cosigned"] = 200, {}, scene.house.note(400).to_bytes()
    with pytest.raises(Behind, match=r"offers 300 events, and had 400 \(http.*/v1/log/cosigned\)"):
        scene.look()


# -- tiles


def grown(scene: Scene, before: int = 300, after: int = 700) -> list[str]:
    """A log of which a part is signed; gives the tiles that the next proof needs."""
    scene.house.grow(before)
    scene.look()
    scene.house.grow(after)
    keep, scene.asked = scene.asked, []
    scene.answers["cosignatures"] = problem(503, "busy")
    held = (scene.folder / "held").read_bytes()
    with pytest.raises(LogUnavailable):
        scene.look()
    (scene.folder / "held").write_bytes(held)
    scene.answers.clear()
    tiles = [asked.removeprefix("GET ") for asked in scene.asked if "tile/" in asked]
    scene.asked = keep
    return tiles


def test_a_tile_with_a_flipped_bit_proves_nothing(scene: Scene) -> None:
    """Neither growth nor a fork: it may be the disk.  Tried all over the tiles that the proof is made of."""
    refused = 0
    for path in grown(scene):
        good = scene.house.store.read_tile(Tile.parse(path))
        for at in range(0, len(good), 5 * 32):
            scene.answers[path] = 200, {}, good[:at] + bytes([good[at] ^ 1]) + good[at + 1 :]
            held = (scene.folder / "held").read_bytes()
            try:
                look = scene.look()
            except Unproved as found:
                assert "they don't give the root that it has signed" in str(found)
                refused += 1
                assert (scene.folder / "held").read_bytes() == held
            else:
                assert look.did is Did.COSIGNED, "a hash that the proof does not need"
                (scene.folder / "held").write_bytes(held)
        scene.answers.clear()

    assert refused > 10
    assert forks(scene.folder) == []


def test_a_log_whose_tiles_prove_nothing_is_told_with_one(scene: Scene) -> None:
    path = grown(scene)[0]
    scene.answers[path] = 200, {}, bytes(len(scene.house.store.read_tile(Tile.parse(path))))
    ran = scene.run()

    assert (ran.status, ran.stderr) == (1, "")
    assert "Not signed: the log's tiles don't lead from 300 events to 700" in ran.stdout


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (lambda good: (200, {}, good[:-1]), "/v1/log/{path}: {less} bytes instead of {size}"),
        (lambda good: (200, {}, good + b"\0"), "/v1/log/{path}: "),
        (lambda good: (200, {}, b""), "/v1/log/{path}: 0 bytes instead of {size}"),
        (lambda good: (200, {"Content-Length": "8193"}, good + bytes(8193 - len(good))), "larger than 8192 bytes"),
        (lambda good: (200, {"Content-Length": str(len(good) + 5), "Connection": "close"}, good), "is cut off, 5"),
        (lambda good: problem(404, "tile-unknown", "Nothing covers it."), "answers 404 tile-unknown Nothing covers"),
        (lambda good: problem(500, "record-damaged"), "answers 500 record-damaged"),
    ],
    ids=["short", "long", "empty", "oversized", "cut off", "missing", "damaged"],
)
def test_a_tile_that_is_none_is_an_error(scene: Scene, change: Callable[[bytes], Answer], reason: str) -> None:
    path = grown(scene)[0]
    good = scene.house.store.read_tile(Tile.parse(path))
    scene.answers[path] = change(good)

    assert reason.format(path=path, size=len(good), less=len(good) - 1) in failed(scene.run())
    assert scene.held().checkpoint.size == 300
    scene.answers.clear()
    assert scene.run().status == 0


# -- notes that are none


def other_key(scene: Scene, kind: int = LOG, name: str = ORIGIN) -> FileSigningKey:
    return FileSigningKey(scene.trust_file.with_name("other.key"), name, kind)


def bad_notes(scene: Scene) -> dict[str, tuple[bytes, str]]:
    """What a server might answer, and what must be said of it."""
    good, checkpoint = scene.house.note(300).to_bytes(), scene.house.checkpoint(300)
    stranger = other_key(scene)
    elsewhere = FileSigningKey(scene.trust_file.with_name("log.key"), "other.example/log")
    another = checkpoint._replace(origin="other.example/log")
    short = Note(checkpoint._replace(root=b"r" * 12).body(), parse_note(good).signatures)
    return {
        "HTML": (b"<html><body>Sign in</body></html>\n", "note: has no empty line"),
        "CRLF": (good.replace(b"\n", b"\r\n"), "lines end with a line feed alone"),
        "cut off": (good[:-1], "note: is cut off"),
        "empty": (b"", "note: has no empty line"),
        "not text": (b"\xff" + good, "not UTF-8"),
        "another origin": (
            signed_by_log(another, elsewhere.verifier, elsewhere.sign).to_bytes(),
            "is of the log other.example/log, not of play.example/log",
        ),
        "another key": (
            signed_by_log(checkpoint, stranger.verifier, stranger.sign).to_bytes(),
            "no signature of a pinned key",
        ),
        "another key under the id of ours": (
            Note(checkpoint.body(), (scene.house.note(301).signatures[0],)).to_bytes(),
            "the signature of play.example/log is not good",
        ),
        "a root of 12 bytes": (short.to_bytes(), "the root has 12 bytes"),
        "101 lines": (good + good.splitlines(keepends=True)[-1] * 100, "101 signatures are more than 100"),
        "too large": (good + b"x" * 65_536, "the answer is larger than 65536 bytes"),
    }


BAD_NOTES = [
    "HTML", "CRLF", "cut off", "empty", "not text", "another origin", "another key", "another key under the id of ours",
    "a root of 12 bytes", "101 lines", "too large",
]  # fmt: skip


@pytest.mark.parametrize("where", ["checkpoint", "cosigned"])
@pytest.mark.parametrize("case", BAD_NOTES)
def test_an_answer_that_is_no_note_of_this_log_is_an_error(scene: Scene, case: str, where: str) -> None:
    scene.house.grow(300)
    assert sorted(bad_notes(scene)) == sorted(BAD_NOTES)
    answer, reason = bad_notes(scene)[case]
    scene.answers[where] = 200, {}, answer

    line = failed(scene.run())
    assert f"/v1/log/{where}: " in line
    assert reason in line
    assert not (scene.folder / "held").exists()


def test_a_key_that_may_not_sign_at_this_size_is_not_believed(scene: Scene) -> None:
    """Origin, keys and their sizes come from the witness's own trust file."""
    scene.house.grow(300)
    trust = read_trust(scene.trust_file)
    scene.trust_file.write_bytes(replace(trust, log_keys=(PinnedKey(scene.key.verifier, 0, 299),)).to_json())

    assert "is pinned for 0 to 299 events, not for 300" in failed(scene.run())


def test_a_forged_line_of_ours_is_not_taken_for_ours(scene: Scene) -> None:
    scene.house.grow(300)
    scene.look()
    note = scene.held().note
    forged = note.signatures[1]._replace(value=bytes(72))
    scene.answers["cosigned"] = 200, {}, Note(note.body, (note.signatures[0], forged)).to_bytes()

    assert "the cosignature of regulator.example/w1 is not good" in failed(scene.run())


# -- a server that misbehaves


def test_a_redirect_is_not_followed(scene: Scene) -> None:
    scene.house.grow(300)
    for name in ("checkpoint", "cosigned", "cosignatures"):
        scene.answers = {name: (302, {"Location": f"{scene.url}/elsewhere"}, b"")}
        assert f"/v1/log/{name}: answers 302: redirects are not followed" in failed(scene.run())
    assert "GET /elsewhere" not in scene.asked


@pytest.mark.parametrize("answer", [problem(404, "not-found", "Nothing."), (404, {}, b"<html>"), (204, {}, b"")])
def test_an_address_without_a_log_is_an_error(scene: Scene, answer: Answer) -> None:
    """Not an empty log: somebody has mistyped it."""
    scene.answers["cosigned"] = answer

    assert f"/v1/log/cosigned: answers {answer[0]}" in failed(scene.run())


def test_a_server_that_is_down_is_an_error(scene: Scene) -> None:
    scene.server.shutdown()
    scene.server.server_close()

    assert "/v1/log/cosigned: Connection refused" in failed(scene.run())


def test_an_answer_that_drips_is_cut(scene: Scene) -> None:
    """Each byte comes in time, the whole does not: neither head nor body may take for ever."""
    scene.house.grow(300)
    head, gone = b"HTTP/1.1 200 OK\r\nContent-Length: 500\r\n", threading.Event()

    def drip(begin: bytes) -> Callable[[BaseHTTPRequestHandler], None]:
        def answer(handler: BaseHTTPRequestHandler) -> None:
            with contextlib.suppress(OSError):
                handler.wfile.write(begin)
                while not gone.wait(0.05):
                    handler.wfile.write(b"x")

        return answer

    for begin in (b"", head + b"X-Long: ", head + b"\r\n"):
        scene.answers["cosigned"] = drip(begin)
        started = time.monotonic()
        with pytest.raises(LogUnavailable, match=r"no whole answer within 0\.4 seconds"):
            scene.look(log=RemoteLog(scene.url, 0.4))
        assert time.monotonic() - started < 5
    gone.set()


@pytest.mark.parametrize(
    "sent", [b"nonsense\r\n\r\n", b"HTTP/1.1 200 OK\r\n" + b"A: b\r\n" * 200, b"HTTP/1.1 2000\r\n\r\n"]
)
def test_an_answer_that_is_no_http_is_an_error(scene: Scene, sent: bytes) -> None:
    def answer(handler: BaseHTTPRequestHandler) -> None:
        handler.wfile.write(sent)

    scene.answers["cosigned"] = answer
    assert "/v1/log/cosigned: answers no HTTP that can be read" in failed(scene.run())


@pytest.mark.parametrize(
    "url",
    ["", "play.example", "ftp://play.example", "file:/etc/passwd", "http://", "http://a b", "http://u:p@play.example",
     "http://play.example?x", "http://play.example#x", "http://play.example:x", "http://[::1", "http://é.example",
     "http://play.example:0", "http://play.example:99999", "http://play.example/\n", "http://a..b",
     f"http://{'a' * 64}.example"],
)  # fmt: skip
def test_an_address_that_is_none_is_refused(scene: Scene, url: str) -> None:
    assert "--log" in failed(dealproof(*scene.arguments("--once", "--log", url)))


def test_a_log_may_lie_below_a_path(scene: Scene) -> None:
    assert RemoteLog("https://play.example/proof/").address == "https://play.example/proof/v1/log/"


def test_proxies_of_the_environment_are_not_used(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    scene.house.grow(5)
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")

    assert scene.run().status == 0


def test_over_https_the_servers_certificate_counts(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    """One that nobody vouches for is refused; `SSL_CERT_FILE` names who vouches."""
    scene.house.grow(5)
    certificate = _certificate(scene.trust_file.parent)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)
    scene.server.socket = context.wrap_socket(scene.server.socket, server_side=True)
    scene.url = scene.url.replace("http:", "https:")

    assert "certificate verify failed" in failed(scene.run()).lower()
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
    assert scene.run().status == 0
    assert scene.held().checkpoint.size == 5


def _certificate(folder: Path) -> Path:
    """A certificate for 127.0.0.1 that vouches for itself, and its key."""
    key, name = Ed25519PrivateKey.generate(), x509.Name([])
    now = datetime.now(UTC)
    builder = x509.CertificateBuilder(name, name, key.public_key(), 1, now - timedelta(1), now + timedelta(1))
    names = x509.SubjectAlternativeName([x509.IPAddress(ip_address("127.0.0.1"))])
    certificate = builder.add_extension(names, critical=True).sign(key, None)
    path = folder / "server.pem"
    secret = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    path.write_bytes(certificate.public_bytes(Encoding.PEM) + secret)
    return path


# -- what the log does with the signature


def test_a_witness_that_the_site_does_not_pin_is_told_so(scene: Scene) -> None:
    """And what it has signed stays signed."""
    scene.house.grow(5)
    scene.pin()

    assert "cosignatures: answers 422 note-refused note: no witness that this site pins" in failed(scene.run())
    assert scene.held().checkpoint.size == 5
    scene.pin(scene.name)
    assert "Brought again" in scene.run().stdout


def test_a_kill_before_the_signature_leaves_loses_nothing(scene: Scene) -> None:
    """Nothing leaves before the note is on the disk; the next run brings what the killed one could not."""
    scene.house.grow(300)
    arrived, gone, seen = threading.Event(), threading.Event(), []

    def hang(_: BaseHTTPRequestHandler) -> None:
        seen.append(scene.held().checkpoint.size)
        arrived.set()
        gone.wait(20)

    scene.answers["cosignatures"] = hang
    process = subprocess.Popen(command(*scene.arguments("--once")), cwd=REPOSITORY)
    assert arrived.wait(20)
    process.send_signal(signal.SIGKILL)
    process.wait(20)
    gone.set()
    scene.answers.clear()

    assert seen == [300]
    assert scene.house.public.cosigned() is None
    held = (scene.folder / "held").read_bytes()
    assert scene.run().stdout.startswith("Brought again what the log had not kept: 300 events")
    assert scene.house.public.cosigned() == held == (scene.folder / "held").read_bytes()


def test_a_folder_that_takes_no_file_keeps_the_signature_at_home(scene: Scene) -> None:
    """What can't be stored is never sent."""
    scene.house.grow(300)
    (scene.folder / "held").mkdir()
    line = failed(scene.run())

    assert "held" in line
    assert "POST cosignatures" not in scene.asked
    assert sorted(path.name for path in scene.folder.iterdir()) == ["held", "lock", "witness.key", "witness.pub"]


# -- what it holds


def test_a_held_note_that_was_edited_is_refused(scene: Scene) -> None:
    """At every place; the log is not even asked."""
    scene.house.grow(300)
    scene.look()
    path = scene.folder / "held"
    whole = path.read_bytes()
    scene.asked.clear()
    for at in range(0, len(whole), 5):
        flipped = whole[:at] + bytes([whole[at] ^ 1]) + whole[at + 1 :]
        for data in (whole[:at], flipped, whole[:at] + b"\r" + whole[at:]):
            path.write_bytes(data)
            with pytest.raises(WitnessError, match=f"^{path}: "):
                scene.look()
    assert scene.asked == []

    assert "held: " in failed(scene.run())
    shown = dealproof("witness", "show", "--folder", str(scene.folder), "--trust", str(scene.trust_file))
    assert shown.status == 2


def test_a_note_of_the_log_without_our_line_is_not_what_we_hold(scene: Scene) -> None:
    """Somebody puts an older state in its place."""
    scene.house.grow(300)
    scene.look()
    (scene.folder / "held").write_bytes(scene.house.note(100).to_bytes())

    assert "held: checkpoint: 0 of the 1 cosignatures that are wanted" in failed(scene.run())


def test_a_trust_file_of_another_log_does_not_fit_what_is_held(scene: Scene) -> None:
    scene.house.grow(300)
    scene.look()
    other = other_key(scene, name="other.example/log")
    scene.trust_file.write_bytes(Trust("other.example/log", (PinnedKey(other.verifier),), (), ()).to_json())

    assert "held: checkpoint: is of the log play.example/log, not of other.example/log" in failed(scene.run())


def test_a_trust_file_that_cannot_be_read_is_an_error(scene: Scene) -> None:
    scene.trust_file.write_text("{}")
    assert f"trust file {scene.trust_file}: " in failed(scene.run())
    scene.trust_file.unlink()
    assert "is missing" in failed(scene.run())


# -- as a service


@contextlib.contextmanager
def followed(scene: Scene) -> Iterator[tuple[subprocess.Popen[str], Callable[[str], str]]]:
    """A witness that looks every second, and what waits for a line of it."""
    both = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True, "cwd": REPOSITORY}
    process: subprocess.Popen[str] = subprocess.Popen(command(*scene.arguments("--every", "1")), **both)  # type: ignore[call-overload]  # all of them are right
    lines: list[str] = []

    def until(text: str) -> str:
        assert process.stdout is not None
        for line in process.stdout:
            lines.append(line)
            if text in line:
                return line
        raise AssertionError(f"{text!r} was not said: {lines}")

    try:
        yield process, until
    finally:
        process.kill()
        process.communicate()


def test_it_follows_a_log_over_outages_until_there_is_a_fork(scene: Scene) -> None:
    """What stands in the way is said once, and that it is over."""
    scene.house.grow(100)
    with followed(scene) as (process, until):
        until("First contact")
        scene.answers["cosigned"] = (502, {}, b"<html>")
        until("answers 502")
        scene.house.grow(200)
        asked = count()
        scene.asked.clear()
        while scene.asked.count("GET cosigned") < 2 and next(asked) < 500:
            time.sleep(0.02)
        scene.answers.clear()
        assert until(":").startswith("Cosigned: 200 events"), "the outage was said more than once"
        assert "the log answers as it should again" in until(":")
        scene.show("b150", 250)
        until("FORK: no growth from 200 events to 250")
        until("Both sides are kept")
        assert process.wait(20) == 1
    assert scene.held().checkpoint.size == 200


def test_it_goes_on_over_a_log_that_is_behind(scene: Scene) -> None:
    scene.house.grow(100)
    with followed(scene) as (process, until):
        until("First contact")
        scene.house = scene.of("c")
        until("the log is behind: it offers 0 events, and had 100")
        scene.show("a", 120)
        until("Cosigned: 120 events")
        process.send_signal(signal.SIGTERM)
        assert process.wait(20) == 128 + signal.SIGTERM


def test_it_needs_none_of_the_servers_packages(scene: Scene) -> None:
    """It runs from the plain install."""
    scene.house.grow(5)
    scene.run()
    scene.house.grow(6)
    program = (
        "import sys\n"
        "class Refusing:\n"
        "    def find_spec(self, name, *_):\n"
        "        if name.split('.')[0] in sys.argv[1].split(','):\n"
        "            raise ImportError(f'{name} is not in the plain install')\n"
        "sys.meta_path.insert(0, Refusing())\n"
        "from ops.cli.main import run\n"
        "sys.exit(run(sys.argv[2:]))\n"
    )
    without = "psycopg,psycopg_pool,flask,flask_smorest,werkzeug,eventsourcing,structlog,granian,alembic,sqlalchemy"
    ran = subprocess.run(
        [sys.executable, "-c", program, without, *scene.arguments("--once")],
        cwd=REPOSITORY, env=dict(os.environ), capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip

    assert (ran.returncode, ran.stderr) == (0, "")
    assert ran.stdout.startswith("Cosigned: 6 events")


# -- the real thing


def test_the_real_log_is_witnessed(journal: Journal, owner: Owner, tmp_path: Path) -> None:
    """Sequencer, folder, API and witness together."""
    folder, trust_file = tmp_path / "witness", tmp_path / "trust.json"
    pinned = make_witness(folder, "regulator.example/w1")
    trust = Trust(ORIGIN, (PinnedKey(key_at(tmp_path).verifier),), (PinnedKey(pinned),), (), witnesses_needed=1)
    trust_file.write_bytes(trust.to_json())
    public = PublicLog(LogStore(tmp_path / "log"), trust_file)
    data_key = DataKey("fedcba9876543210", bytes(32))
    app = create_app(Floor(journal, KEY), Gatekeeper(journal, 1000), lambda: data_key, public)

    with served(app) as address, open_witness(folder, trust, lambda: NOW) as witness:
        log = RemoteLog(address)
        assert witness.look(log) == Look(Did.EMPTY)
        for first, last in ((1, 10), (11, 600), (601, 601), (602, 1500)):
            insert(owner, first, last)
            with sequencer(journal, tmp_path) as building:
                building.catch_up()
            look = witness.look(log)
            assert look.did is Did.COSIGNED
            assert look.checkpoint is not None
            assert witness.look(log) == Look(Did.NOTHING_NEW, look.checkpoint)
            opened = open_checkpoint(public.cosigned() or b"", trust, check_signature)
            assert opened.checkpoint == look.checkpoint
            assert opened.checkpoint.size >= last
            assert opened.cosigned == (Cosigned(pinned.name, NOW),)
