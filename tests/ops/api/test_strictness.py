"""What is refused before anything is done: bodies, amounts, headers, addresses, signatures."""

from __future__ import annotations

import json
import time
from typing import Any

import pytest

from domain.access import Role
from ops.api_keys import Gatekeeper, new_nonce, sign
from ops.journal import Journal
from tests.ops.api.houses import House, box, done, problem

DEPOSITS = "/v1/accounts/EUR/anna/deposits"


def deposit(amount: str, rest: str = '"reference": "till 1"') -> bytes:
    """A deposit's body with the amount as it is written."""
    return f'{{"amount": {amount}, {rest}}}'.encode()


@pytest.mark.parametrize(
    "amount",
    ["100.5", '"100"', "1e2", "1E2", "100.0e0", "true", "null", "[]", "{}", "0", "-1", "0.0", "1000000000000001",
     "1" + "0" * 5000, "1.0" + "0" * 50, "-100.0", "1" * 21],
)  # fmt: skip
def test_what_only_looks_like_an_amount_is_refused(house: House, amount: str) -> None:
    """Money is whole minor units; a wrong one is never rounded, cut or read from text."""
    before = house.casino.written()

    answer = house.post(Role.CASHIER, DEPOSITS, deposit(amount))

    assert problem(answer, 422, "invalid-field")["errors"][0]["pointer"] == "/amount"
    assert house.casino.written() == before


@pytest.mark.parametrize(("amount", "value"), [("5", 5), ("5.0", 5), ("5.00", 5), ("1000000000.0", 1_000_000_000)])
def test_a_whole_amount_is_taken_in_both_spellings(house: House, amount: str, value: int) -> None:
    """5 and 5.0 are the same number in JSON."""
    before = house.casino.balance()

    assert done(house.post(Role.CASHIER, DEPOSITS, deposit(amount)))["balance"] == before + value


DEEP = '{"a":' * 21 + "1" + "}" * 21


@pytest.mark.parametrize(
    ("body", "code"),
    [
        (b'{"amount": 1, "amount": 1000, "reference": "r"}', "body-not-json"),
        (b'{"amount": NaN, "reference": "r"}', "body-not-json"),
        (b'{"amount": Infinity, "reference": "r"}', "body-not-json"),
        (b'{"amount": 1, "reference": "\\ud800"}', "body-not-json"),
        (b'{"\\udc00": 1}', "body-not-json"),
        (b'{"amount": 1, "reference": "\xff"}', "body-not-json"),
        (b'{"amount": 1, "reference": "\xed\xa0\x80"}', "body-not-json"),
        (DEEP.encode(), "body-not-json"),
        (b"[" * 30_000, "body-not-json"),
        (b"[" * 25 + b"]" * 25, "body-not-json"),
        (b"", "body-not-json"),
        (b"{", "body-not-json"),
        (b"{} {}", "body-not-json"),
        ("\N{ZERO WIDTH NO-BREAK SPACE}{}".encode(), "body-not-json"),
        ('{"amount": 1, "reference": "r"}'.encode("utf-16"), "body-not-json"),
    ],
)  # fmt: skip
def test_a_body_that_is_no_plain_json_is_refused(house: House, body: bytes, code: str) -> None:
    """Doubled keys, numbers that JSON doesn't have, half characters, towers of brackets."""
    problem(house.post(Role.CASHIER, DEPOSITS, body), 400, code)


@pytest.mark.parametrize(
    ("body", "pointers"),
    [
        ({"amount": 1}, ["/reference"]),
        ({"amount": 1, "reference": "r", "currency": "EUR"}, ["/currency"]),
        ({"amount": "x", "reference": 5, "a/b~c": 1}, ["/amount", "/reference", "/a~1b~0c"]),
        ({"amount": 1, "reference": ""}, ["/reference"]),
        ({"amount": 1, "reference": "  "}, ["/reference"]),
        ({"amount": 1, "reference": "a\0b"}, ["/reference"]),
        ({"amount": 1, "reference": "a\nb"}, ["/reference"]),
        ({"amount": 1, "reference": "e\u0301"}, ["/reference"]),
        ({"amount": 1, "reference": "x" * 1001}, ["/reference"]),
        ([], [""]),
        ("text", [""]),
        (None, [""]),
        (5, [""]),
    ],
)
def test_every_wrong_field_is_named_with_its_place(house: House, body: object, pointers: list[str]) -> None:
    """RFC 6901; all of them at once."""
    found = problem(house.post(Role.CASHIER, DEPOSITS, body), 422, "invalid-field")

    assert sorted(error["pointer"] for error in found["errors"]) == sorted(pointers)
    assert all(error["reason"] for error in found["errors"])


def test_a_wrong_field_of_the_second_box_is_found(house: House) -> None:
    """Places within lists."""
    round_id = house.open_round("open-russian-poker")
    boxes = [box(1), box(2, ante=0, bonus=-1)]

    answer = house.post(Role.GAME_SERVER, f"/v1/rounds/{round_id}/boxes", {"boxes": boxes})

    errors = problem(answer, 422, "invalid-field")["errors"]
    assert sorted(error["pointer"] for error in errors) == ["/boxes/1/ante", "/boxes/1/bonus"]


@pytest.mark.parametrize(
    ("action", "more", "pointer"),
    [
        ("bet", {"stake": 5}, "/stake"),
        ("fold", {"discard": [1]}, "/discard"),
        ("insure", {}, "/stake"),
        ("insure", {"stake": 5, "discard": [1]}, "/discard"),
        ("insure", {"stake": 2.5}, "/stake"),
        ("exchange", {}, "/discard"),
        ("exchange", {"discard": []}, "/discard"),
        ("exchange", {"discard": [1, 1]}, "/discard"),
        ("exchange", {"discard": [5]}, "/discard/0"),
        ("exchange", {"discard": [True]}, "/discard/0"),
        ("exchange", {"discard": "12"}, "/discard"),
        ("win", {}, "/action"),
        (["bet"], {}, "/action"),
        (None, {}, "/action"),
    ],
)
def test_a_decision_says_what_its_action_needs_and_no_more(
    house: House, action: object, more: dict[str, Any], pointer: str
) -> None:
    """One shape for each action."""
    body = {"box": 1, "player": "anna", "action": action, **more}

    answer = house.post(Role.GAME_SERVER, f"/v1/rounds/{'0' * 32}/decisions", body)

    assert pointer in [error["pointer"] for error in problem(answer, 422, "invalid-field")["errors"]]


def test_an_unknown_currency_is_refused(house: House) -> None:
    """Three letters are no currency yet."""
    answer = house.post(Role.CASHIER, "/v1/accounts", {"player": "dora", "currency": "XXX"})

    assert problem(answer, 422, "currency-unknown")["pointer"] == "/currency"


@pytest.mark.parametrize(
    "content_type",
    ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data", "", "application/json; charset=latin-1",
     "application/problem+json", "application/jsonp"],
)  # fmt: skip
def test_another_content_type_is_refused(house: House, content_type: str) -> None:
    """No form of a foreign page passes for a command."""
    answer = house.post(Role.CASHIER, DEPOSITS, deposit("5"), headers={"Content-Type": content_type})

    problem(answer, 415, "content-type-not-json")


def test_the_charset_may_be_named(house: House) -> None:
    """As some clients do."""
    headers = {"Content-Type": "application/json; charset=UTF-8"}

    assert house.post(Role.CASHIER, DEPOSITS, deposit("5"), headers=headers).status_code == 200


# -- addresses


@pytest.mark.parametrize(
    "path",
    [
        "/", "/v1", "/v2/tables", "/v1//tables", "/v1/tables/", "/v1/tables/..", "/static/app.py",
        "/v1/rounds/0", "/v1/rounds/" + "A" * 32, "/v1/rounds/" + "0" * 33, "/v1/rounds/" + "0" * 31 + "%0A",
        "/v1/rounds/01a22ea1-5175-7cfe-b16d-1541c41087ed", "/v1/rounds/" + "0" * 31 + "%D9%A5",
        "/v1/tables/-a", "/v1/tables/" + "a" * 65, "/v1/tables/%00", "/v1/tables/a%2Fb", "/v1/tables/%D0%B0",
        "/v1/tables/%ff%fe", "/v1/accounts/eur/anna", "/v1/accounts/EURO/anna",
        "/v1/rulesets/russian-poker", "/v1/rulesets/russian-poker@01",
    ],
)  # fmt: skip
def test_an_address_of_an_odd_shape_is_nowhere(house: House, path: str) -> None:
    """404 in words, whoever asks."""
    problem(house.app.test_client().get(path), 404, "not-found")


@pytest.mark.parametrize("method", ["DELETE", "PATCH", "OPTIONS", "TRACE", "PUT", "CONNECT", "BREW"])
def test_another_method_is_refused_with_those_that_are_known(house: House, method: str) -> None:
    """RFC 9110 section 15.5.6"""
    answer = house.app.test_client().open("/v1/tables", method=method)

    problem(answer, 405, "method-not-allowed")
    assert answer.headers["Allow"] == "GET, HEAD, POST"


@pytest.mark.parametrize(
    ("query", "pointer"),
    [
        ("limit=0", "/limit"),
        ("limit=201", "/limit"),
        ("limit=5&limit=5", "/limit"),
        ("limit=1e1", "/limit"),
        ("limit=%2B5", "/limit"),
        ("limit=05", "/limit"),
        ("limit=" + "9" * 5000, "/limit"),
        ("limit=", "/limit"),
        ("limit=%D9%A5", "/limit"),
        ("after=xyz", "/after"),
        ("open=1", "/open"),
        ("open=True", "/open"),
        ("table=%00", "/table"),
        ("sort=up", "/sort"),
        ("=1", "/"),
    ],
)
def test_a_query_is_held_as_strictly_as_a_body(house: House, query: str, pointer: str) -> None:
    """Unknown and doubled parameters too."""
    found = problem(house.get(Role.BACK_OFFICE, f"/v1/rounds?{query}"), 422, "invalid-field")

    assert [error["pointer"] for error in found["errors"]] == [pointer]


# -- headers


def test_a_command_needs_its_own_name(house: House) -> None:
    """A retry could not be known again otherwise."""
    headers = {"Content-Type": "application/json"}
    answer = house.send(Role.CASHIER, "POST", DEPOSITS, deposit("5"), headers)
    problem(answer, 400, "idempotency-key-missing")
    for key in ("", " ", "a b", "x" * 201, "ключ".encode().decode("latin-1")):
        answer = house.post(Role.CASHIER, DEPOSITS, deposit("5"), headers={"Idempotency-Key": key})
        problem(answer, 400, "idempotency-key-malformed")


def test_a_nonce_is_good_once(house: House) -> None:
    """What was overheard can't be sent again."""
    target, nonce = "/v1/tables", new_nonce()
    headers = sign(house.keys[Role.CASHIER], "GET", target, int(time.time()), nonce, b"")
    client = house.app.test_client()

    assert client.get(target, headers=headers).status_code == 200
    problem(client.get(target, headers=headers), 401, "nonce-used")


def test_an_old_timestamp_is_refused(house: House) -> None:
    """300 seconds."""
    target = "/v1/tables"
    headers = sign(house.keys[Role.CASHIER], "GET", target, int(time.time()) - 301, new_nonce(), b"")

    problem(house.app.test_client().get(target, headers=headers), 401, "timestamp-expired")


def test_a_signature_holds_for_one_request_alone(house: House) -> None:
    """Another body, query, path or method needs its own."""
    key, body = house.keys[Role.CASHIER], deposit("5")
    more = {"Content-Type": "application/json", "Idempotency-Key": "once"}
    client, before = house.app.test_client(), house.casino.balance()

    def headers(method: str, target: str, body: bytes) -> dict[str, str]:
        return {**sign(key, method, target, int(time.time()), new_nonce(), body), **more}

    wrong = [
        client.post(DEPOSITS, data=deposit("5000"), headers=headers("POST", DEPOSITS, body)),
        client.post(DEPOSITS.replace("anna", "boris"), data=body, headers=headers("POST", DEPOSITS, body)),
        client.get("/v1/tables?limit=5", headers=headers("GET", "/v1/tables?limit=50", b"")),
        client.get("/v1/tables?limit=5", headers=headers("GET", "/v1/tables", b"")),
        client.head("/v1/tables", headers=headers("GET", "/v1/tables", b"")),
    ]
    for answer in wrong[:-1]:
        problem(answer, 401, "signature-wrong")
    assert wrong[-1].status_code == 401
    assert house.casino.balance() == before


def test_a_key_that_sends_too_much_is_told_to_wait(furnished_url: str) -> None:
    """429, with the seconds."""
    with Journal.open(furnished_url) as journal:
        house = House.opened(furnished_url, journal, per_minute=3)
        answers = [house.get(Role.CASHIER, "/v1/tables") for _ in range(8)]

    assert [answer.status_code for answer in answers[:3]] == [200] * 3
    # A minute may have begun between the calls.
    last = next(answer for answer in answers if answer.status_code == 429)
    problem(last, 429, "too-many-requests")
    assert 1 <= int(last.headers["Retry-After"]) <= 60


def test_a_body_that_is_too_large_is_refused(house: House) -> None:
    """The limit is 65,536 bytes; one more is refused whatever it says."""
    body = json.dumps({"amount": 5, "reference": "r"}).encode()
    fits = body + b" " * (65_536 - len(body))

    assert house.post(Role.CASHIER, DEPOSITS, fits).status_code == 200
    problem(house.post(Role.CASHIER, DEPOSITS, fits + b" "), 413, "body-too-large")


def test_every_reply_carries_the_headers_that_keep_a_browser_out(house: House) -> None:
    """Also an error."""
    for answer in (house.get(Role.CASHIER, "/v1/tables"), house.app.test_client().get("/nowhere")):
        assert answer.headers["X-Content-Type-Options"] == "nosniff"
        assert answer.headers["Content-Security-Policy"] == "default-src 'none'; frame-ancestors 'none'"
        assert answer.headers["X-Frame-Options"] == "DENY"
        assert "no-" in answer.headers["Cache-Control"]


def test_the_gatekeeper_is_the_real_one(house: House) -> None:
    """These tests would be worth nothing with another."""
    assert type(house.app.extensions["dealproof"].gatekeeper) is Gatekeeper
