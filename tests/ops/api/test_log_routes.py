"""The log as the world sees it: checkpoints, tiles and cosignatures, without a key."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest
from structlog.testing import capture_logs
from werkzeug.test import Client, TestResponse

from domain.access import Role
from domain.log.checkpoint import COSIGNATURE, Checkpoint, Note, cosignature, parse_note, signed_by_log
from domain.log.trust import PinnedKey, Trust
from ops.api import log as routes
from ops.api.app import create_app
from ops.api_keys import Gatekeeper
from ops.floor import Floor
from ops.journal import Journal
from ops.log.public import PublicLog
from ops.log.sequencer import Sequencer
from ops.log.signing import FileSigningKey
from ops.log.store import LogStore
from tests.ops.api.conformance import hold
from tests.ops.api.houses import PER_MINUTE, House, new_data_key, problem
from tests.ops.floor.casino import KEY

ORIGIN = "play.example/log"


class Site:
    """A house whose log has some hundred events, and two witnesses, one of whom it pins."""

    def __init__(self, url: str, journal: Journal, folder: Path) -> None:
        with psycopg.connect(url, autocommit=True) as owner:
            owner.execute(
                """insert into dealproof.events (originator_id, originator_version, topic, state, notification_id)
                select 'note:' || n, 0, 'noted.v1', convert_to('{"n":' || n || '}', 'UTF8'), n
                from generate_series((select max(notification_id) + 1 from dealproof.events), 700) as n"""
            )
        self.key = FileSigningKey(folder / "log.key", ORIGIN)
        self.witness = FileSigningKey(folder / "witness.key", "witness.example", COSIGNATURE)
        self.stranger = FileSigningKey(folder / "stranger.key", "stranger.example", COSIGNATURE)
        self.trust_file, self.store = folder / "trust.json", LogStore(folder / "log")
        self.pin(self.witness)
        self.journal = journal
        floor, gatekeeper = Floor(journal, KEY), Gatekeeper(journal, PER_MINUTE)
        public = PublicLog(self.store, self.trust_file)
        self.app = create_app(floor, gatekeeper, new_data_key, public)

    def pin(self, *witnesses: FileSigningKey) -> None:
        pinned = tuple(PinnedKey(witness.verifier) for witness in witnesses)
        trust = Trust(ORIGIN, (PinnedKey(self.key.verifier),), pinned, (), witnesses_needed=len(pinned))
        self.trust_file.write_bytes(trust.to_json())

    def publish(self) -> Note:
        with Sequencer(self.journal, self.store, self.key, ORIGIN) as sequencer:
            sequencer.catch_up()
        return parse_note(self.store.checkpoint() or b"")

    def get(self, path: str, **headers: str) -> TestResponse:
        answer = Client(self.app).get(f"/v1/log/{path}", headers=headers)
        hold(self.app, "GET", f"/v1/log/{path}", answer)
        return answer

    def post(self, body: object) -> TestResponse:
        data = body if isinstance(body, bytes) else json.dumps(body).encode()
        answer = Client(self.app).post("/v1/log/cosignatures", data=data, content_type="application/json")
        hold(self.app, "POST", "/v1/log/cosignatures", answer)
        return answer

    def bring(self, note: Note) -> TestResponse:
        return self.post({"note": note.to_bytes().decode()})


@pytest.fixture
def site(furnished_url: str, tmp_path: Path) -> Iterator[Site]:
    with Journal.open(furnished_url) as journal:
        yield Site(furnished_url, journal, tmp_path)


def signed_by(note: Note, *witnesses: FileSigningKey, time: int = 1_700_000_000) -> Note:
    lines = [cosignature(note.body, time, witness.verifier, witness.sign) for witness in witnesses]
    return Note(note.body, (*note.signatures, *lines))


# -- reading


@pytest.mark.parametrize("path", ["checkpoint", "cosigned"])
def test_a_log_without_a_checkpoint_is_empty(site: Site, house: House, path: str) -> None:
    """As is a site that has no log at all."""
    problem(site.get(path), 404, "log-empty")
    problem(house.get(Role.REGULATOR, f"/v1/log/{path}"), 404, "log-empty")


def test_a_site_without_a_log_has_no_tiles_and_takes_no_notes(house: House) -> None:
    problem(house.get(Role.REGULATOR, "/v1/log/tile/0/000"), 404, "log-empty")
    problem(house.post(Role.REGULATOR, "/v1/log/cosignatures", {"note": "x"}), 404, "log-empty")


def test_the_newest_checkpoint_comes_as_it_is_stored(site: Site) -> None:
    note = site.publish()
    answer = site.get("checkpoint")

    assert answer.get_data() == note.to_bytes() == site.store.checkpoint()
    assert answer.content_type == "text/plain; charset=utf-8"
    assert answer.headers["Cache-Control"] == "public, no-cache"
    assert site.get("checkpoint", **{"If-None-Match": answer.headers["ETag"]}).status_code == 304
    problem(site.get("cosigned"), 404, "log-empty")


@pytest.mark.parametrize(
    ("path", "cached"),
    [
        ("0/000", "public, max-age=31536000, immutable"),
        ("0/001", "public, max-age=31536000, immutable"),
        ("0/002.p/188", "public, no-cache"),
        ("0/002.p/7", "public, no-cache"),
        ("1/000.p/2", "public, no-cache"),
    ],
)
def test_a_tile_is_octets_and_a_whole_one_is_kept_for_ever(site: Site, path: str, cached: str) -> None:
    """A partial one also when it has grown since."""
    site.publish()
    answer = site.get(f"tile/{path}")

    assert answer.status_code == 200
    width = int(path.partition(".p/")[2] or 256)
    stored = {"0/002.p/7": "0/002.p/188"}.get(path, path)
    assert answer.get_data() == (site.store.folder / "tile" / stored).read_bytes()[: 32 * width]
    assert len(answer.get_data()) == 32 * width
    assert answer.headers["Cache-Control"] == cached
    assert answer.content_type == "application/octet-stream"


@pytest.mark.parametrize("path", ["0/002", "0/003", "0/002.p/189", "1/000", "2/000.p/1", "7/000", "0/x001/000"])
def test_a_tile_that_no_checkpoint_covers_is_unknown(site: Site, path: str) -> None:
    site.publish()
    problem(site.get(f"tile/{path}"), 404, "tile-unknown")


def test_a_tile_is_unknown_before_its_checkpoint(site: Site) -> None:
    """The sequencer writes it first, reads it back, and then signs."""
    from domain.log.tiles import Tile

    site.store.write_tile(Tile(0, 0, 256), bytes(8192))
    problem(site.get("tile/0/000"), 404, "tile-unknown")


@pytest.mark.parametrize(
    "path",
    ["0/0", "0/1000", "0/00a", "8/000", "-1/000", "0/000.p/0", "0/000.p/01", "0/000.p", "0/../../trust.json",
     "0//000", "entries/000", "0/x000/000", "0/000.p/256", "0/000.p/999", "", "0/000/"],
)  # fmt: skip
def test_a_path_that_is_no_tiles_is_nowhere(site: Site, path: str) -> None:
    site.publish()
    answer = Client(site.app).get(f"/v1/log/tile/{path}")

    assert answer.status_code == 404
    assert answer.get_json()["code"] in ("not-found", "tile-unknown")


def test_a_damaged_tile_is_told_not_sent(site: Site) -> None:
    site.publish()
    (site.store.folder / "tile/0/001").write_bytes(b"short")

    problem(site.get("tile/0/001"), 500, "record-damaged")


# -- bringing


def test_a_pinned_witness_is_heard(site: Site) -> None:
    """And heard again without a change; his is the newest cosigned checkpoint."""
    note = signed_by(site.publish(), site.witness)
    for _ in range(2):
        answer = site.bring(note)
        assert answer.status_code == 200
        assert answer.get_json() == {"size": 700, "witnesses": ["witness.example"]}

    assert site.get("cosigned").get_data() == note.to_bytes()


def test_lines_of_strangers_are_left_out(site: Site) -> None:
    note = site.publish()

    assert site.bring(signed_by(note, site.stranger, site.witness)).status_code == 200
    assert site.get("cosigned").get_data() == signed_by(note, site.witness).to_bytes()


def test_a_witness_is_pinned_while_the_server_runs(site: Site) -> None:
    """The trust file is read again when it was changed."""
    note = site.publish()
    problem(site.bring(signed_by(note, site.stranger)), 422, "note-refused")

    site.pin(site.witness, site.stranger)
    assert site.bring(signed_by(note, site.stranger)).get_json()["witnesses"] == ["stranger.example"]
    assert site.bring(signed_by(note, site.witness)).status_code == 200
    assert site.get("cosigned").get_data() == signed_by(note, site.stranger, site.witness).to_bytes()


def test_an_older_checkpoint_is_taken_too(site: Site) -> None:
    """A witness may be a little slow."""
    older = site.publish()
    with psycopg.connect(site.journal.application._url, autocommit=True) as owner:
        owner.execute(
            "insert into dealproof.events (originator_id, originator_version, topic, state, notification_id) "
            "select 'more:' || n, 0, 'noted.v1', '{}', n from generate_series(701, 1500) as n"
        )
    site.publish()

    assert site.bring(signed_by(older, site.witness)).get_json()["size"] == 700
    assert site.get("cosigned").get_data() == signed_by(older, site.witness).to_bytes()


def changed_line(note: Note) -> Note:
    """The witness's line with another time, so that its signature isn't one."""
    *lines, last = note.signatures
    return Note(note.body, (*lines, last._replace(value=bytes(8) + last.value[8:])))


def test_a_note_that_is_not_signed_as_it_should_be_is_refused(site: Site) -> None:
    """By the log, by a pinned witness, both rightly, for this log."""
    note = site.publish()
    body, checkpoint = note.body, Checkpoint.from_body(note.body)
    other = FileSigningKey(site.trust_file.with_name("other.key"), ORIGIN)
    renamed = checkpoint._replace(origin="other.example/log")
    elsewhere = FileSigningKey(site.trust_file.with_name("log.key"), "other.example/log")
    cases = {
        "no witness": note,
        "a stranger": signed_by(note, site.stranger),
        "only the witness": Note(body, signed_by(note, site.witness).signatures[1:]),
        "another log key": signed_by(signed_by_log(checkpoint, other.verifier, other.sign), site.witness),
        "a changed line": changed_line(signed_by(note, site.witness)),
        "another origin": signed_by(signed_by_log(renamed, elsewhere.verifier, elsewhere.sign), site.witness),
    }
    for case, brought in cases.items():
        body_of_answer = problem(site.bring(brought), 422, "note-refused")
        assert body_of_answer["pointer"] == "/note", case
    problem(site.get("cosigned"), 404, "log-empty")


@pytest.mark.parametrize(
    "text",
    ["nothing", "a\nb\nc\n\n", "play.example/log\n7\nAAAA\n\n— play.example/log AAAAAAAA\n", "\r\n"],
)
def test_what_is_no_note_is_malformed(site: Site, text: str) -> None:
    site.publish()
    problem(site.post({"note": text}), 422, "note-malformed")


def test_a_cut_or_edited_note_is_never_taken(site: Site) -> None:
    """At every place."""
    whole = signed_by(site.publish(), site.witness).to_bytes().decode()
    for at in range(0, len(whole), 7):
        for text in (whole[:at], f"{whole[:at]}#{whole[at + 1:]}", f"{whole[:at]}\r{whole[at:]}"):
            answer = site.post({"note": text}) if text else site.post({"note": "x"})
            assert answer.status_code == 422, text
            assert answer.get_json()["code"] in ("note-malformed", "note-refused")
    problem(site.get("cosigned"), 404, "log-empty")


@pytest.mark.parametrize("size", [700, 300, 701])
def test_a_note_of_the_log_itself_over_something_else_is_a_fork(
    site: Site, size: int
) -> None:
    """Of the same size, of a smaller one, of one that this log has not reached; logged as the error it is."""
    site.publish()
    forged = signed_by_log(Checkpoint(ORIGIN, size, b"r" * 32), site.key.verifier, site.key.sign)

    with capture_logs() as lines:
        found = problem(site.bring(signed_by(forged, site.witness)), 409, "log-fork")

    assert f"over size {size} and root {'72' * 32}" in found["detail"]
    assert ("log_fork", "error") in [(line["event"], line["log_level"]) for line in lines]
    problem(site.get("cosigned"), 404, "log-empty")


@pytest.mark.parametrize(
    ("body", "status", "code"),
    [
        (b"", 400, "body-not-json"),
        (b"{", 400, "body-not-json"),
        (b'{"note": "\\ud800"}', 400, "body-not-json"),
        ({}, 422, "invalid-field"),
        ({"note": 5}, 422, "invalid-field"),
        ({"note": ""}, 422, "invalid-field"),
        ({"note": "x", "more": 1}, 422, "invalid-field"),
        ({"note": "x" * 60_001}, 422, "invalid-field"),
        (b" " * 70_000, 413, "body-too-large"),
    ],
)
def test_another_body_is_refused(site: Site, body: object, status: int, code: str) -> None:
    site.publish()
    problem(site.post(body), status, code)


def test_a_trust_file_that_is_gone_is_our_fault(site: Site) -> None:
    note = signed_by(site.publish(), site.witness)
    site.trust_file.write_text("{}")

    with capture_logs() as lines:
        problem(site.bring(note), 500, "internal-error")
    assert "trust_file_unreadable" in [line["event"] for line in lines]


def test_few_strangers_are_waited_for_at_once(site: Site) -> None:
    """Whoever sends his body byte by byte keeps some threads of a worker waiting, never all of them."""
    note = signed_by(site.publish(), site.witness)
    reading, go_on = threading.Barrier(routes.STRANGERS + 1), threading.Event()

    class Slow:
        def read(self, *_: int) -> bytes:
            if not go_on.is_set():
                reading.wait(20)
                go_on.wait(20)
            return b""

        readline = readlines = __iter__ = read

    def send_slowly() -> None:
        environ = {"wsgi.input": Slow(), "CONTENT_LENGTH": "10", "wsgi.input_terminated": True}
        Client(site.app).post("/v1/log/cosignatures", content_type="application/json", environ_overrides=environ)

    threads = [threading.Thread(target=send_slowly) for _ in range(routes.STRANGERS)]
    for thread in threads:
        thread.start()
    reading.wait(20)
    answer = site.bring(note)
    problem(answer, 429, "too-many-requests")
    assert answer.headers["Retry-After"] == "1"
    assert site.get("checkpoint").status_code == 200
    go_on.set()
    for thread in threads:
        thread.join()

    assert site.bring(note).status_code == 200
