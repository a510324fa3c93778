"""What a caller hears when something is broken here, and what our log keeps of it."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any, NoReturn

import psycopg
import pytest

from domain.access import Role
from domain.round.refusals import RefusalCode
from ops import logs
from ops.api.problems import CONFLICTS, TO_BLAME, UNKNOWN, status_of
from tests.ops.api.houses import House, box, done, problem

SEED = "5eed" * 16


@pytest.fixture
def log(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Iterator[Callable[[], str]]:
    """What this process has logged, from the level of the server on."""
    monkeypatch.setattr(logs, "_level", "info")
    logs.logger.cache_clear()
    yield lambda: capsys.readouterr().err
    logs.logger.cache_clear()


def test_a_bug_is_told_without_its_traceback_and_logged_without_its_locals(
    house: House, monkeypatch: pytest.MonkeyPatch, log: Callable[[], str]
) -> None:
    """A dictionary of locals once printed a seed."""

    def broken(*_: object) -> NoReturn:
        seed = SEED
        raise RuntimeError("a bug" if seed else "")

    monkeypatch.setattr(house.casino.floor.cashier, "account", broken)
    answer = house.get(Role.CASHIER, "/v1/accounts/EUR/anna")

    body = problem(answer, 500, "internal-error")
    assert "bug" not in json.dumps(body) and "Traceback" not in answer.get_data(as_text=True)
    logged = log()
    failed, answered = (json.loads(line) for line in logged.splitlines())
    assert failed["event"] == "request_failed" and failed["exception"][0]["exc_type"] == "RuntimeError"
    assert any(frame["name"] == "broken" for frame in failed["exception"][0]["frames"])
    assert answered["event"] == "request_answered" and answered["status"] == 500
    assert SEED not in logged and "anna" not in logged


def test_a_journal_that_is_away_is_told_and_nothing_is_done(new_house: House) -> None:
    """503 with Retry-After; the same command is carried out when the journal is back."""
    path, body = "/v1/accounts/EUR/anna/deposits", {"amount": 500, "reference": "till 1"}
    database = new_house.casino.url.rpartition("/")[2].partition("?")[0]
    server = new_house.casino.url.replace(database, "postgres", 1)
    pool = new_house.journal.application.recorder.datastore.pool
    before, pool.timeout = new_house.casino.balance(), 0.5
    with psycopg.connect(server, autocommit=True) as connection:
        connection.execute(f"alter database {database} allow_connections false".encode())
        connection.execute("select pg_terminate_backend(pid) from pg_stat_activity where datname = %s", (database,))
        try:
            away = new_house.post(Role.CASHIER, path, body, "away")
            well = new_house.app.test_client().get("/v1/health")
        finally:
            connection.execute(f"alter database {database} allow_connections true".encode())

    for answer in (away, well):
        problem(answer, 503, "journal-unavailable")
        assert int(answer.headers["Retry-After"]) >= 1
    pool.timeout = 30
    assert done(new_house.post(Role.CASHIER, path, body, "away"))["balance"] == before + 500
    assert new_house.casino.balance() == before + 500


def test_every_refusal_has_its_status() -> None:
    """404 for what is not there, 409 for what is past or taken, 412 for what was changed, else 422."""
    statuses = {code: status_of(code) for code in RefusalCode}

    assert statuses[RefusalCode.TABLE_CHANGED] == 412
    assert {code for code, status in statuses.items() if status == 404} == UNKNOWN
    assert {code for code, status in statuses.items() if status == 409} == CONFLICTS
    assert not UNKNOWN & CONFLICTS and set(TO_BLAME) < set(RefusalCode)
    for code in RefusalCode:
        if code.value.endswith("-unknown"):
            assert status_of(code) == (422 if code in (RefusalCode.BOX_UNKNOWN, RefusalCode.CURRENCY_UNKNOWN) else 404)


@pytest.mark.parametrize(
    ("boxes", "code", "pointer"),
    [
        ([box(1, ante=150)], "ante-off-limits", "/boxes/0/ante"),
        ([box(1), box(1, "boris")], "box-taken", "/boxes/1/box"),
        ([box(1), box(2, "nobody")], "account-unknown", None),
        ([box(1), box(2, "boris", ante=150)], "ante-off-limits", None),
    ],
)
def test_a_refusal_points_at_the_field_it_blames(
    house: House, boxes: list[dict[str, Any]], code: str, pointer: str | None
) -> None:
    """Where one field alone is to blame and it is certain which."""
    round_id = house.open_round("multibox-russian-poker")

    answer = house.post(Role.GAME_SERVER, f"/v1/rounds/{round_id}/boxes", {"boxes": boxes})

    body = answer.get_json()
    assert (body["code"], body.get("pointer")) == (code, pointer), body
    assert body["detail"]


def test_a_damaged_record_is_told_and_its_verdict_says_where(new_house: House) -> None:
    """Whoever got around the triggers: no look at the round is answered with what he wrote."""
    round_id = new_house.ended()
    with psycopg.connect(new_house.casino.url, autocommit=True) as owner:
        owner.execute("alter table dealproof.events disable trigger user")
        owner.execute(
            "update dealproof.events set state = '{}' where originator_id = %s and originator_version = 2",
            (f"round:{round_id}",),
        )

    for address in (f"/v1/rounds/{round_id}", f"/v1/rounds/{round_id}/record?reason=complaint"):
        problem(new_house.get(Role.DISPUTE_OFFICER, address), 500, "record-damaged")
    verdict = done(new_house.get(Role.DISPUTE_OFFICER, f"/v1/rounds/{round_id}/verdict"))
    assert verdict["verdict"] == "discrepancy"
    assert (verdict["checks"][0]["status"], verdict["checks"][0]["seq"]) == ("discrepancy", 2)
