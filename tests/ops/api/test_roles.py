"""Every role at every address: who is let in, complete by construction."""

from __future__ import annotations

import pytest
from werkzeug.routing import Rule

from domain.access import Role
from ops.api.app import create_app
from ops.api.roles import ANYBODY, ROLES
from tests.ops.api.houses import House, problem

CALLERS = {Role.GAME_SERVER: "G", Role.CASHIER: "C", Role.BACK_OFFICE: "B",
           Role.DISPUTE_OFFICER: "D", Role.REGULATOR: "R", Role.KEY_CUSTODIAN: "K"}  # fmt: skip

TABLE = """
    POST /v1/accounts                                       C
    GET  /v1/accounts/EUR/anna                              GCBDR
    POST /v1/accounts/EUR/anna/deposits                     C
    POST /v1/accounts/EUR/anna/withdrawals                  C
    POST /v1/accounts/EUR/anna/adjustments                  B
    POST /v1/accounts/EUR/anna/reversals                    B
    GET  /v1/accounts/EUR/anna/statement                    GCBDR
    GET  /v1/accounts/EUR/anna/cash-history                 GCBDR
    GET  /v1/accounts/EUR/anna/game-history                 GCBDR
    POST /v1/jackpots                                       B
    GET  /v1/jackpots                                       GCBDR
    GET  /v1/jackpots/grand                                 GCBDR
    GET  /v1/rulesets                                       GCBDR
    GET  /v1/rulesets/russian-poker@1                       GCBDR
    POST /v1/rulesets/russian-poker@1/proposal              B
    POST /v1/rulesets/russian-poker@1/approval              B
    POST /v1/tables                                         B
    GET  /v1/tables                                         GCBDR
    GET  /v1/tables/russian-poker                           GCBDR
    PUT  /v1/tables/russian-poker                           B
    POST /v1/tables/russian-poker/closing                   B
    POST /v1/tables/russian-poker/rounds                    G
    POST /v1/rounds/{round}/boxes                           G
    POST /v1/rounds/{round}/deal                            G
    POST /v1/rounds/{round}/decisions                       G
    POST /v1/rounds/{round}/void                            GB
    POST /v1/rounds/{round}/finish                          GB
    GET  /v1/rounds/{round}                                 GBDR
    GET  /v1/rounds                                         GBDR
    GET  /v1/rounds/{round}/events                          DR
    GET  /v1/rounds/{round}/seed                            GDR
    GET  /v1/rounds/{round}/deck                            DR
    GET  /v1/rounds/{round}/record                          DR
    GET  /v1/rounds/{round}/verdict                         BDR
    POST /v1/keys                                           K
    GET  /v1/keys                                           K
    POST /v1/keys/0123456789abcdef/revocation               K
    POST /v1/data-keys                                      K
    GET  /v1/log/checkpoint                                 *
    GET  /v1/log/cosigned                                   *
    GET  /v1/log/tile/0/000                                 *
    POST /v1/log/cosignatures                               *
    GET  /v1/health                                         *
    GET  /v1/openapi.json                                   *
"""
"""Written out a second time, by hand: who changes `ops.api.roles` must mean it."""

ROWS = [tuple(line.split()) for line in TABLE.strip().splitlines()]


def test_each_address_lets_in_just_its_roles(house: House) -> None:
    """A role that may passes the door, whatever the view says then; one that may not gets 403."""
    round_id = house.open_round()
    wrong = []
    for method, path, letters in ROWS:
        target = path.format(round=round_id)
        for role, letter in CALLERS.items():
            answer = house.get(role, target) if method == "GET" else house.post(role, target, {}, method=method)
            body = answer.get_json(silent=True) or {}
            turned_away = answer.status_code == 403 and body.get("code") == "role-not-allowed"
            if turned_away == (letters == "*" or letter in letters):
                wrong.append((method, path, role, answer.status_code))

    assert wrong == []


def test_the_table_above_has_every_address(house: House) -> None:
    """Complete by construction: an endpoint that is added fails here until it has its row."""
    adapter = house.app.url_map.bind("house")
    named = {adapter.match(path.format(round="0" * 32), method)[0] for method, path, _ in ROWS}
    rules = {rule.endpoint for rule in house.app.url_map.iter_rules()}

    assert named == rules
    assert len(ROWS) == sum(len(methods(rule)) for rule in house.app.url_map.iter_rules())


def methods(rule: Rule) -> set[str]:
    """HEAD comes with GET."""
    return (rule.methods or set()) - {"HEAD"}


def test_an_app_does_not_start_with_an_endpoint_without_a_row(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nor with a row without an endpoint."""
    served = house.app.extensions["dealproof"]
    monkeypatch.delitem(ROLES, "keys.create_key")
    with pytest.raises(ValueError, match=r"keys\.create_key"):
        create_app(served.floor, served.gatekeeper, served.add_data_key)


def test_nobody_comes_in_unsigned(house: House) -> None:
    """But to the addresses that are open to all, whatever they say then."""
    client, round_id = house.app.test_client(), "0" * 32
    for method, path, letters in ROWS:
        answer = client.open(path.format(round=round_id), method=method)
        if letters == "*":
            assert answer.status_code not in (401, 403)
        else:
            problem(answer, 401, "signature-missing")
            assert answer.headers["WWW-Authenticate"] == "Dealproof"
    assert len(ANYBODY) == 6
