"""A command is carried out once, however often it is sent; its reply is the same, byte for byte."""

from __future__ import annotations

from typing import Any

import pytest
from werkzeug.test import TestResponse

from domain.access import Role
from tests.ops.api.houses import House, box, done, problem

PAYMENT = {"amount": 500, "reference": "till 1"}
SETTINGS = {
    "ruleset": "russian-poker@1", "currency": "EUR", "abandoned": "fold", "abandoned_after": 60, "reason": "season",
    "limits": {"ante_min": 100, "ante_max": 1000, "ante_step": 100, "bonus_min": 1, "bonus_max": 100,
               "payout_max": None},
}  # fmt: skip

COMMANDS: list[tuple[Role, str, Any]] = [
    (Role.CASHIER, "/v1/accounts", {"player": "dora", "currency": "EUR"}),
    (Role.CASHIER, "/v1/accounts/EUR/anna/deposits", PAYMENT),
    (Role.CASHIER, "/v1/accounts/EUR/anna/withdrawals", PAYMENT),
    (Role.BACK_OFFICE, "/v1/accounts/EUR/anna/adjustments",
     {"amount": -5, "against": "bank", "approver": "zoe", "reason": "typo", "reference": "r"}),
    (Role.BACK_OFFICE, "/v1/accounts/EUR/anna/reversals",
     {"event": 1, "approver": "zoe", "reason": "typo", "reference": "r"}),
    (Role.BACK_OFFICE, "/v1/jackpots", {"jackpot": "small", "currency": "EUR", "seed_amount": 100}),
    (Role.BACK_OFFICE, "/v1/tables", {"table": "new", **SETTINGS}),
    (Role.BACK_OFFICE, "/v1/tables/five-card-poker/closing", {"reason": "night"}),
    (Role.GAME_SERVER, "/v1/tables/russian-poker/rounds", {}),
    (Role.KEY_CUSTODIAN, "/v1/data-keys", {"reason": "yearly"}),
    # Refused:
    (Role.CASHIER, "/v1/accounts", {"player": "anna", "currency": "EUR"}),
    (Role.CASHIER, "/v1/accounts/EUR/anna/withdrawals", {"amount": 10**9, "reference": "r"}),
    (Role.CASHIER, "/v1/accounts/EUR/nobody/deposits", PAYMENT),
    (Role.GAME_SERVER, "/v1/tables/nowhere/rounds", {}),
    (Role.GAME_SERVER, f"/v1/rounds/{'0' * 32}/deal", {}),
    (Role.BACK_OFFICE, "/v1/rulesets/russian-poker@1/approval", {"reason": "again"}),
    (Role.KEY_CUSTODIAN, "/v1/keys/0123456789abcdef/revocation", {"reason": "lost"}),
]  # fmt: skip


def same(first: TestResponse, again: TestResponse) -> None:
    """Byte for byte, status and headers."""
    assert again.get_data() == first.get_data()
    assert again.status_code == first.status_code
    assert dict(again.headers) == dict(first.headers)


@pytest.mark.parametrize(("role", "path", "body"), COMMANDS)
def test_a_command_sent_again_gets_its_first_reply(house: House, role: Role, path: str, body: Any) -> None:
    """Also from another worker or after a restart, and nothing happens a second time."""
    name = f"once-{COMMANDS.index((role, path, body))}"
    first = house.post(role, path, body, name)
    after = house.casino.written()

    same(first, house.post(role, path, body, name))
    same(first, house.restarted().post(role, path, body, name))
    assert house.casino.written() == after


def test_a_command_of_another_key_is_another_command(house: House) -> None:
    """Callers choose names without asking each other."""
    other = house.new_key(Role.CASHIER, "second cashier")
    before = house.casino.balance()

    done(house.post(Role.CASHIER, "/v1/accounts/EUR/anna/deposits", PAYMENT, "mine"))
    done(house.post(other, "/v1/accounts/EUR/anna/deposits", PAYMENT, "mine"))

    assert house.casino.balance() == before + 1000


def test_the_same_name_for_another_request_is_refused(house: House) -> None:
    """Another body or another address; what was done stays done, what was refused stays refused."""
    path = "/v1/accounts/EUR/anna/deposits"
    first = house.post(Role.CASHIER, path, PAYMENT, "once")
    late = house.post(Role.CASHIER, "/v1/accounts/EUR/nobody/deposits", PAYMENT, "refused")
    problem(late, 404, "account-unknown")

    for name in ("once", "refused"):
        answer = house.post(Role.CASHIER, path, {**PAYMENT, "amount": 501}, name)
        problem(answer, 422, "idempotency-key-reused")
    problem(house.post(Role.CASHIER, path.replace("anna", "boris"), PAYMENT, "once"), 422, "idempotency-key-reused")
    same(first, house.post(Role.CASHIER, path, PAYMENT, "once"))


def test_a_refusal_stays_when_it_would_be_allowed_by_now(new_house: House) -> None:
    """Whoever was told no may rely on it."""
    path, body = "/v1/accounts/EUR/dora/deposits", PAYMENT
    first = new_house.post(Role.CASHIER, path, body, "early")
    problem(first, 404, "account-unknown")
    done(new_house.post(Role.CASHIER, "/v1/accounts", {"player": "dora", "currency": "EUR"}))

    same(first, new_house.restarted().post(Role.CASHIER, path, body, "early"))
    assert done(new_house.post(Role.CASHIER, path, body, "late"))["balance"] == 500


def test_each_step_of_a_round_is_answered_the_same_after_the_round_went_on(house: House) -> None:
    """A retry tells what the step led to then, not how the round stands now."""
    opened = house.post(Role.GAME_SERVER, "/v1/tables/open-russian-poker/rounds", {}, "open")
    round_id = done(opened)["round"]
    path = f"/v1/rounds/{round_id}"
    steps: list[tuple[str, Any, TestResponse]] = []

    def step(what: str, body: Any) -> TestResponse:
        answer = house.post(Role.GAME_SERVER, f"{path}/{what}", body, f"step {len(steps)}".replace(" ", "-"))
        steps.append((what, body, answer))
        return answer

    step("boxes", {"boxes": [box(1, bonus=50), box(2, "boris", client_seed="ab" * 16)]})
    step("decisions", {"box": 1, "player": "anna", "action": "bet"})  # refused: nothing is dealt
    step("deal", {"beacon": "00" * 32})
    step("decisions", {"box": 2, "player": "boris", "action": "fold"})  # refused: out of turn
    while (following := done(house.get(Role.GAME_SERVER, path))["next"]) is not None:
        action = "bet" if "bet" in following["actions"] else "take_ante"
        player = {1: "anna", 2: "boris"}[following["box"]]
        done(step("decisions", {"box": following["box"], "player": player, "action": action}))
    step("decisions", {"box": 1, "player": "anna", "action": "bet"})  # refused: it is over

    for place in (house, house.restarted()):
        same(opened, place.post(Role.GAME_SERVER, "/v1/tables/open-russian-poker/rounds", {}, "open"))
        for number, (what, body, first) in enumerate(steps):
            same(first, place.post(Role.GAME_SERVER, f"{path}/{what}", body, f"step-{number}"))


def test_a_new_key_is_shown_once(house: House) -> None:
    """The same command again gets the same reply without the key, and makes no second one."""
    body = {"role": "cashier", "person": "vera"}
    first = house.post(Role.KEY_CUSTODIAN, "/v1/keys", body, "new")
    key = done(first)["key"]
    again = house.post(Role.KEY_CUSTODIAN, "/v1/keys", body, "new")

    assert done(again) == {**done(first), "key": None} and again.status_code == 201
    assert house.get(key, "/v1/tables").status_code == 200
    listed = done(house.get(Role.KEY_CUSTODIAN, "/v1/keys"))["items"]
    assert [entry["person"] for entry in listed].count("vera") == 1
    assert key.encode() not in house.get(Role.KEY_CUSTODIAN, "/v1/keys").get_data()


def test_a_change_with_another_condition_is_another_request(new_house: House) -> None:
    """If-Match is a part of what is asked."""
    path, tag = "/v1/tables/russian-poker", {"If-Match": '"0"'}
    first = new_house.post(Role.BACK_OFFICE, path, SETTINGS, "change", method="PUT", headers=tag)
    assert done(first)["settings_seq"] > 0

    same(first, new_house.post(Role.BACK_OFFICE, path, SETTINGS, "change", method="PUT", headers=tag))
    answer = new_house.post(Role.BACK_OFFICE, path, SETTINGS, "change", method="PUT", headers={"If-Match": '"1"'})
    problem(answer, 422, "idempotency-key-reused")
