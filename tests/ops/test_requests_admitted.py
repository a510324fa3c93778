"""The door against a real database: each signed request comes in once, everyone else is told a reason and no more.

Not here: the bytes of a signature (`test_api_keys`), what a role may do (the API's tests).
"""

from __future__ import annotations

import json
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple

import psycopg
import pytest
from psycopg import errors

from domain.access import Role
from ops.api_keys import (
    HEADERS,
    ApiKey,
    Caller,
    Denial,
    DenialCode,
    Gatekeeper,
    create_key,
    new_nonce,
    revoke_key,
    sign,
)
from ops.database import APP_ROLE, READER_ROLE, connect
from ops.journal import Journal
from tests.ops.cli.running import REPOSITORY
from tests.ops.test_secrets import where

NOW = 1796076240   # the begin of a minute
BODY = b'{"amount":2500}'
TARGET = "/v1/accounts/EUR/p-1/deposits?note=a"


class Door(NamedTuple):
    """A gatekeeper with its clock, and a cashier's key."""

    gatekeeper: Gatekeeper
    clock: list[int]
    key: ApiKey
    journal: Journal

    def sends(
        self, timestamp: int | None = None, nonce: str | None = None, key: ApiKey | None = None
    ) -> Caller | Denial:
        """A request that is signed as it should be."""
        return self.gatekeeper.admit("POST", TARGET, self.signed(timestamp, nonce, key), BODY)

    def signed(
        self, timestamp: int | None = None, nonce: str | None = None, key: ApiKey | None = None
    ) -> dict[str, str]:
        at = self.clock[0] if timestamp is None else timestamp
        return sign((key or self.key).text, "POST", TARGET, at, nonce or new_nonce(), BODY)


@pytest.fixture
def door(migrated_database_url: str) -> Iterator[Door]:
    clock = [NOW]
    with Journal.open(migrated_database_url) as journal:
        key = create_key(journal, role=Role.CASHIER, person="Bob", label="till 4", by="ann")
        yield Door(Gatekeeper(journal, per_minute=1000, seconds=lambda: clock[0]), clock, key, journal)


@pytest.fixture
def owner(door: Door, migrated_database_url: str) -> Iterator[psycopg.Connection[tuple[Any, ...]]]:
    """A superuser, who sees what nobody else can."""
    with psycopg.connect(migrated_database_url, autocommit=True) as connection:
        yield connection


def remembered(owner: psycopg.Connection[tuple[Any, ...]]) -> int:
    """How many used nonces are kept."""
    [(count,)] = owner.execute("select count(*) from dealproof.admitted_request").fetchall()
    return int(count)


def code(answer: Caller | Denial) -> str:
    return answer.code if isinstance(answer, Denial) else "admitted"


# -- let in


def test_a_signed_request_is_let_in_as_what_its_key_is_for(door: Door) -> None:
    assert door.sends() == Caller(door.key.id, Role.CASHIER, "Bob", "till 4")


@pytest.mark.parametrize("role", Role)
def test_every_role_comes_in_as_itself(door: Door, role: Role) -> None:
    key = create_key(door.journal, role=role, person="Bob", label="", by="ann")

    assert door.sends(key=key) == Caller(key.id, role, "Bob", "")


@pytest.mark.parametrize("text", ["Įlona \U0001f0a1", 'a "quoted\\" name', "x" * 100, "李雷 " + "李" * 97])
def test_a_name_comes_out_as_it_went_in(door: Door, text: str) -> None:
    key = create_key(door.journal, role=Role.REGULATOR, person=text, label=text, by=text)

    assert door.sends(key=key) == Caller(key.id, Role.REGULATOR, text, text)


@pytest.mark.parametrize("scheme", ["Dealproof", "dealproof", "DEALPROOF"])
def test_the_case_of_the_scheme_does_not_matter(door: Door, scheme: str) -> None:
    """RFC 9110, section 11.1."""
    headers = door.signed() | {"Authorization": f"{scheme} {door.key.text}"}

    assert code(door.gatekeeper.admit("POST", TARGET, headers, BODY)) == "admitted"


@pytest.mark.parametrize("body", [b"", b"\0" * 5, b"\xff\xfe", b"x" * 1_000_000])
def test_any_bytes_may_be_a_body(door: Door, body: bytes) -> None:
    headers = sign(door.key.text, "PUT", "/", NOW, new_nonce(), body)

    assert code(door.gatekeeper.admit("PUT", "/", headers, body)) == "admitted"


# -- changed on the way


def changed(text: str) -> Iterator[str]:
    """A text with one character changed, missing or added, at each place."""
    for place in range(len(text)):
        yield text[:place] + chr(ord(text[place]) ^ 1) + text[place + 1 :]
        yield text[:place] + text[place + 1 :]
        yield text[:place] + "/" + text[place:]


def test_a_request_changed_by_one_byte_is_refused(door: Door, owner: psycopg.Connection[Any]) -> None:
    """Method, path, query and body, at every place."""
    headers = door.signed()
    requests = [
        *((method, TARGET, BODY) for method in changed("POST")),
        *(("POST", target, BODY) for target in changed(TARGET) if target != TARGET),
        *(("POST", TARGET, body.encode()) for body in changed(BODY.decode())),
        ("post", TARGET, BODY), ("POST", TARGET, b""), ("POST", TARGET, BODY + b"\n"), ("POST", f"{TARGET}&", BODY),
    ]

    for method, target, body in requests:
        assert code(door.gatekeeper.admit(method, target, headers, body)) == "signature-wrong", (method, target, body)
    assert remembered(owner) == 0
    assert code(door.gatekeeper.admit("POST", TARGET, headers, BODY)) == "admitted"


@pytest.mark.parametrize("header", ["Dealproof-Timestamp", "Dealproof-Nonce", "Dealproof-Signature"])
def test_a_header_changed_by_one_character_is_refused(
    door: Door, owner: psycopg.Connection[Any], header: str
) -> None:
    headers = door.signed()

    for value in changed(headers[header]):
        answer = door.gatekeeper.admit("POST", TARGET, headers | {header: value}, BODY)
        assert isinstance(answer, Denial), value
    assert remembered(owner) == 0


def test_another_key_can_not_take_over_a_signature(door: Door) -> None:
    other = create_key(door.journal, role=Role.BACK_OFFICE, person="Eve", label="", by="ann")
    headers = door.signed() | {"Authorization": f"Dealproof {other.text}"}

    assert code(door.gatekeeper.admit("POST", TARGET, headers, BODY)) == "signature-wrong"


# -- headers that are none


KEY_TEXT = "dpk_0123456789abcdef_" + "00" * 32
MALFORMED = {
    "Authorization": ("key-malformed", [
        "", "Dealproof", "Dealproof ", KEY_TEXT, f"Bearer {KEY_TEXT}", f"Dealproof  {KEY_TEXT}",
        f"Dealproof {KEY_TEXT} ",
        f"Dealproof {KEY_TEXT}, Dealproof {KEY_TEXT}", f"Dealproof {KEY_TEXT}\n", "Dealproof dpk_1_2",
        f"Dealproof {KEY_TEXT[:-1]}é", f"Dealproof {KEY_TEXT.upper()}", "Dealproof " + "0" * 1_000_000,
        f"Dealproof {KEY_TEXT}\0", "Dealproof \ud800", "Basic dXNlcjpwYXNz",
    ]),
    "Dealproof-Timestamp": ("timestamp-malformed", [
        "", "now", f"{NOW}.0", f"+{NOW}", f"-{NOW}", f" {NOW}", f"{NOW} ", f"0{NOW}", f"{NOW}\n", f"{NOW}, {NOW}",
        "1e9", "١٧٩٦٠٧٦٢٤٠", "1" * 13, "9" * 1_000_000, "0x6b0d", "\ud800", "²",
    ]),
    "Dealproof-Nonce": ("nonce-malformed", [
        "", "A" * 15, "A" * 65, "A" * 1_000_000, "A" * 15 + "=", "A" * 16 + "\n", "é" * 16, "A" * 16 + ", " + "A" * 16,
        "А" * 16, "A" * 15 + "\0", "A" * 15 + "\ud800",
    ]),
    "Dealproof-Signature": ("signature-wrong", [
        "", "0" * 63, "0" * 65, "0" * 64, "G" * 64, "é" * 64, "0" * 1_000_000, "0" * 64 + ", " + "0" * 64,
        "\ud800" * 64,
    ]),
}  # fmt: skip
CASES = [(header, expected, value) for header, (expected, values) in MALFORMED.items() for value in values]


@pytest.mark.parametrize(("header", "expected", "value"), CASES, ids=[f"{h}-{v[:24]!r}" for h, _, v in CASES])
def test_a_malformed_header_is_refused_by_name_and_not_repeated(
    door: Door, header: str, expected: str, value: str
) -> None:
    answer = door.gatekeeper.admit("POST", TARGET, door.signed() | {header: value}, BODY)

    assert isinstance(answer, Denial)
    assert answer.code == expected
    assert answer.text.startswith(f"{header}: ")
    assert len(answer.text) < 120
    assert answer.text.isascii()
    assert answer.text.isprintable()


@pytest.mark.parametrize("spell", [
    "{0}, {0}", "{1}", " {0}", "{0} ", "{0}\n", "0x{0}",
])
def test_the_right_signature_spelt_otherwise_is_refused(door: Door, spell: str) -> None:
    headers = door.signed()
    signature = headers["Dealproof-Signature"]
    headers["Dealproof-Signature"] = spell.format(signature, signature.upper())

    assert code(door.gatekeeper.admit("POST", TARGET, headers, BODY)) == "signature-wrong"


@pytest.mark.parametrize("header", HEADERS)
def test_a_missing_header_is_named(door: Door, header: str) -> None:
    headers = door.signed()
    del headers[header]

    answer = door.gatekeeper.admit("POST", TARGET, headers, BODY)

    assert answer == Denial(
        DenialCode.SIGNATURE_MISSING, f"{header}: is missing; every request must be signed.")


def test_who_does_not_sign_costs_the_database_nothing(door: Door) -> None:
    """Its connections are closed: whoever asked it would fail."""
    headers = door.signed()
    door.journal.close()

    for header, (expected, values) in MALFORMED.items():
        assert code(door.gatekeeper.admit("POST", TARGET, headers | {header: values[0]}, BODY)) == expected
    assert code(door.gatekeeper.admit("POST", TARGET, {}, BODY)) == "signature-missing"
    assert code(door.gatekeeper.admit("GET", TARGET, headers, BODY)) == "signature-wrong"
    assert code(door.sends(timestamp=NOW - 301)) == "timestamp-expired"


# -- time


@pytest.mark.parametrize(("seconds", "expected"), [
    (-10**9, "timestamp-expired"), (-301, "timestamp-expired"), (-300, "admitted"), (0, "admitted"), (300, "admitted"),
    (301, "timestamp-expired"), (10**9, "timestamp-expired"),
])
def test_a_timestamp_holds_for_300_seconds_on_either_side(
    door: Door, owner: psycopg.Connection[Any], seconds: int, expected: str
) -> None:
    assert code(door.sends(timestamp=NOW + seconds)) == expected
    assert remembered(owner) == (expected == "admitted")


def test_the_clock_is_the_wall_clock_unless_another_is_given(door: Door) -> None:
    gatekeeper = Gatekeeper(door.journal, per_minute=10)
    headers = door.signed(timestamp=int(time.time()))

    assert code(gatekeeper.admit("POST", TARGET, headers, BODY)) == "admitted"


# -- nonces


def test_a_nonce_comes_in_once(door: Door) -> None:
    assert [code(door.sends(nonce="A" * 16)) for _ in range(3)] == ["admitted", "nonce-used", "nonce-used"]


def test_a_nonce_is_used_whatever_else_is_signed_with_it(door: Door) -> None:
    door.sends(nonce="A" * 16)
    headers = sign(door.key.text, "GET", "/v1/other", NOW + 1, "A" * 16, b"")

    assert code(door.gatekeeper.admit("GET", "/v1/other", headers, b"")) == "nonce-used"


def test_two_keys_may_use_one_nonce(door: Door) -> None:
    other = create_key(door.journal, role=Role.CASHIER, person="Eve", label="", by="ann")

    assert [code(door.sends(nonce="A" * 16, key=key)) for key in (door.key, other)] == ["admitted", "admitted"]


@pytest.mark.parametrize("requests", [0, 1, 15, 16, 40])
def test_a_nonce_is_kept_as_long_as_its_timestamp_holds(door: Door, requests: int) -> None:
    """Signed 300 seconds ahead, sent again at the last second, while others make the door forget what it may."""
    signed = door.signed(timestamp=NOW + 300, nonce="A" * 16)
    door.gatekeeper.admit("POST", TARGET, signed, BODY)
    for second in range(60, 601, 60):
        door.clock[0] = NOW + second
        for _ in range(requests):
            door.sends()

        assert code(door.gatekeeper.admit("POST", TARGET, signed, BODY)) == "nonce-used"
    door.clock[0] = NOW + 601
    assert code(door.gatekeeper.admit("POST", TARGET, signed, BODY)) == "timestamp-expired"


def test_a_busy_key_forgets_twice_what_it_sends(door: Door, owner: psycopg.Connection[Any]) -> None:
    """A few at a time: nobody waits until a whole minute of requests is deleted."""
    for _ in range(64):
        door.sends()
    door.clock[0] += 12 * 60
    counts = []
    for _ in range(3):
        for _ in range(16):
            door.sends()
        counts.append(remembered(owner))

    assert counts == [64 - 32 + 16, 32, 48]


def test_old_nonces_are_forgotten_as_fast_as_new_ones_come(door: Door, owner: psycopg.Connection[Any]) -> None:
    counts = []
    for minute in range(40):
        door.clock[0] = NOW + 60 * minute
        for _ in range(48):
            assert code(door.sends()) == "admitted"
        counts.append(remembered(owner))

    assert max(counts) <= 13 * 48
    assert counts[-1] <= 13 * 48


def test_what_a_silent_key_left_is_forgotten_by_the_others(door: Door, owner: psycopg.Connection[Any]) -> None:
    other = create_key(door.journal, role=Role.CASHIER, person="Eve", label="", by="ann")
    for _ in range(100):
        door.sends(key=other)
    door.clock[0] += 13 * 60

    door.sends()

    assert remembered(owner) == 1


def test_of_twenty_threads_with_one_nonce_one_comes_in(door: Door) -> None:
    start = threading.Barrier(20)

    def send(signed: dict[str, str]) -> str:
        start.wait()
        return code(door.gatekeeper.admit("POST", TARGET, signed, BODY))

    for _ in range(5):
        signed = door.signed()
        with ThreadPoolExecutor(20) as pool:
            assert Counter(pool.map(send, [signed] * 20)) == {"admitted": 1, "nonce-used": 19}


PROCESS = """
import json, sys
from ops.api_keys import Caller, Gatekeeper
from ops.journal import Journal
url, target, now, body = sys.argv[1:]
with Journal.open(url) as journal:
    gatekeeper = Gatekeeper(journal, per_minute=1000, seconds=lambda: int(now))
    print("ready", flush=True)
    for line in sys.stdin:
        answer = gatekeeper.admit("POST", target, json.loads(line), body.encode())
        print("admitted" if isinstance(answer, Caller) else answer.code, flush=True)
"""


def test_of_two_processes_with_one_nonce_one_lets_it_in(door: Door, migrated_database_url: str) -> None:
    arguments = [migrated_database_url, TARGET, str(NOW), BODY.decode()]
    process = subprocess.Popen(
        [sys.executable, "-c", PROCESS, *arguments], cwd=REPOSITORY, text=True,
        stdin=subprocess.PIPE, stdout=subprocess.PIPE,
    )  # fmt: skip
    with process:
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        for _ in range(30):
            signed = door.signed()
            process.stdin.write(json.dumps(signed) + "\n")
            process.stdin.flush()
            here = code(door.gatekeeper.admit("POST", TARGET, signed, BODY))
            there = process.stdout.readline().strip()
            assert sorted([here, there]) == ["admitted", "nonce-used"]
        process.stdin.close()


CALL = "select verdict from dealproof.admit_request(%s, %s, %s, %s, %s, %s)"


def test_a_call_that_is_sent_again_after_a_lost_answer_is_let_in_and_counted_once(
    door: Door, owner: psycopg.Connection[Any]
) -> None:
    """The datastore repeats a statement when its connection broke; the ticket tells this from a replay."""
    arguments = [door.key.id, door.key.secret_sha256, "A" * 16, 7, NOW, 1]

    verdicts = [owner.execute(CALL, arguments).fetchall() for _ in range(3)]
    arguments[3] = 8

    assert verdicts == [[("admitted",)]] * 3
    assert owner.execute(CALL, arguments).fetchall() == [("nonce-used",)]
    assert remembered(owner) == 1


def test_the_door_opens_again_after_its_connections_were_cut(door: Door, owner: psycopg.Connection[Any]) -> None:
    door.sends()
    owner.execute("select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database()"
                  " and pid <> pg_backend_pid()")

    assert code(door.sends()) == "admitted"


# -- keys


def test_a_revoked_key_stops_at_once(door: Door, migrated_database_url: str) -> None:
    """Also where another process, with another connection, has let it in a moment ago."""
    assert code(door.sends()) == "admitted"
    with Journal.open(migrated_database_url) as elsewhere:
        revoke_key(elsewhere, door.key.id, by="ann", reason="lost")

    assert door.sends() == Denial(DenialCode.KEY_REVOKED, "Authorization: this key has been revoked.")


def test_a_wrong_secret_and_an_unknown_id_get_the_same_answer(door: Door, owner: psycopg.Connection[Any]) -> None:
    """So nobody finds out which ids there are; of a revoked key neither, without its secret."""
    revoked = create_key(door.journal, role=Role.CASHIER, person="Eve", label="", by="ann")
    revoke_key(door.journal, revoked.id, by="ann", reason="lost")
    strangers = [ApiKey(known, bytes(32)) for known in (door.key.id, "0" * 16, revoked.id)]

    answers = [door.sends(nonce="A" * 16, key=stranger) for stranger in strangers for _ in range(2)]

    assert answers == [Denial(DenialCode.KEY_UNKNOWN, "Authorization: there is no such key.")] * 6
    assert remembered(owner) == 0
    assert code(door.sends(nonce="A" * 16)) == "admitted"


def test_a_revoked_key_uses_up_nothing(door: Door, owner: psycopg.Connection[Any]) -> None:
    revoke_key(door.journal, door.key.id, by="ann", reason="lost")

    assert [code(door.sends()) for _ in range(3)] == ["key-revoked"] * 3
    assert remembered(owner) == 0


# -- how many a minute


def test_so_many_a_minute_come_in_and_the_next_is_told_when_to_return(door: Door) -> None:
    gate = door._replace(gatekeeper=Gatekeeper(door.journal, per_minute=3, seconds=lambda: door.clock[0]))
    door.clock[0] = NOW + 13

    answers = [gate.sends() for _ in range(5)]

    assert [code(answer) for answer in answers] == ["admitted"] * 3 + ["too-many-requests"] * 2
    assert isinstance(answers[3], Denial)
    assert answers[3].retry_after == 47
    door.clock[0] += 46
    assert code(gate.sends()) == "too-many-requests"
    door.clock[0] += 1
    assert [code(gate.sends()) for _ in range(4)] == ["admitted"] * 3 + ["too-many-requests"]


def test_who_came_too_often_has_not_used_up_his_nonce(door: Door, owner: psycopg.Connection[Any]) -> None:
    gate = door._replace(gatekeeper=Gatekeeper(door.journal, per_minute=1, seconds=lambda: door.clock[0]))
    gate.sends()
    signed = gate.signed()

    assert code(gate.gatekeeper.admit("POST", TARGET, signed, BODY)) == "too-many-requests"
    assert remembered(owner) == 1
    door.clock[0] += 60
    assert code(gate.gatekeeper.admit("POST", TARGET, signed, BODY)) == "admitted"


def test_a_refused_request_does_not_count(door: Door) -> None:
    gate = door._replace(gatekeeper=Gatekeeper(door.journal, per_minute=2, seconds=lambda: door.clock[0]))
    gate.sends(nonce="A" * 16)
    for _ in range(5):
        gate.sends(nonce="A" * 16)
        gate.sends(key=ApiKey(door.key.id, bytes(32)))
        gate.sends(timestamp=NOW - 1000)

    assert [code(gate.sends()) for _ in range(2)] == ["admitted", "too-many-requests"]


def test_each_key_has_its_own_count(door: Door) -> None:
    gate = door._replace(gatekeeper=Gatekeeper(door.journal, per_minute=1, seconds=lambda: door.clock[0]))
    other = create_key(door.journal, role=Role.CASHIER, person="Eve", label="", by="ann")

    assert [code(gate.sends(key=key)) for key in (door.key, other, door.key)] == [
        "admitted", "admitted", "too-many-requests"]


def test_the_count_is_exact_under_threads_and_over_two_pools(door: Door, migrated_database_url: str) -> None:
    """A second journal stands for a second process: the count lives in the database alone."""
    with Journal.open(migrated_database_url) as second:
        gates = [door._replace(gatekeeper=Gatekeeper(journal, per_minute=57, seconds=lambda: NOW))
                 for journal in (door.journal, second)]
        with ThreadPoolExecutor(16) as pool:
            answers = Counter(pool.map(lambda number: code(gates[number % 2].sends()), range(120)))

    assert answers == {"admitted": 57, "too-many-requests": 63}


# -- rights and cost


def test_the_app_role_admits_but_reads_no_nonce(door: Door, migrated_database_url: str) -> None:
    with connect(migrated_database_url, APP_ROLE) as app:
        arguments = (door.key.id, door.key.secret_sha256, "A" * 16, 7, NOW, 1)
        assert app.execute(CALL, arguments).fetchall() == [("admitted",)]
        for statement in FORBIDDEN:
            with pytest.raises(errors.InsufficientPrivilege):
                app.execute(statement)


def test_the_reader_role_neither_admits_nor_reads_a_nonce(door: Door, migrated_database_url: str) -> None:
    with connect(migrated_database_url, READER_ROLE) as reader:
        for statement in (*FORBIDDEN, b"select dealproof.admit_request('', '', '', 1, 1, 1)"):
            with pytest.raises(errors.InsufficientPrivilege):
                reader.execute(statement)


FORBIDDEN = (
    b"select * from dealproof.admitted_request",
    b"insert into dealproof.admitted_request values ('n', 1, 'k', 1, 1)",
    b"update dealproof.admitted_request set nth = 0",
    b"delete from dealproof.admitted_request",
    b"truncate dealproof.admitted_request",
    b"select dealproof.forget_requests(1, '', 1)",
    b"drop function dealproof.admit_request",
)


def test_the_functions_do_not_trust_the_callers_search_path(owner: psycopg.Connection[Any]) -> None:
    found = owner.execute("select proname, prosecdef, proconfig from pg_proc where proname like '%\\_request%' "
                          "and pronamespace = 'dealproof'::regnamespace order by 1").fetchall()

    assert [(name, definer) for name, definer, _ in found] == [("admit_request", True), ("forget_requests", False)]
    assert all("search_path=pg_catalog, pg_temp" in config for _, _, config in found)


def test_a_request_waits_for_no_disk(door: Door, owner: psycopg.Connection[Any]) -> None:
    """The table is unlogged, and a transaction that wrote nothing to the log of the database is not flushed."""
    assert owner.execute(
        "select relpersistence from pg_class where oid = 'dealproof.admitted_request'::regclass").fetchone() == ("u",)
    records = []
    for nth in range(40):
        arguments = [door.key.id, door.key.secret_sha256, f"{nth:016}", 7, NOW, 100]
        [([plan],)] = owner.execute(f"explain (analyze, wal, format json) {CALL}", arguments).fetchall()
        records.append(plan["Plan"]["WAL Records"])
    # Whoever is the first to read a page after its writer may log that; it is never the rule.
    assert records.count(0) >= 35
    assert remembered(owner) == 40


# -- what is told


def test_no_answer_and_no_error_has_the_secret(door: Door) -> None:
    signed = door.signed()
    answers: list[object] = [door.gatekeeper.admit("POST", TARGET, signed, BODY) for _ in range(2)]
    answers += [door.gatekeeper.admit("GET", TARGET, signed, BODY), door.gatekeeper]
    door.journal.close()
    with pytest.raises(Exception) as failed:
        door.sends()

    told = f"{answers} {failed.value!r} {failed.value} {failed.getrepr(style='short')}"

    assert where(door.key.secret, {"told": told.encode()}) == []
    assert door.key.secret_sha256 not in told
