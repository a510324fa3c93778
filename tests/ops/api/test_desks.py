"""The cashier's, the back office's and the key custodian's desks over HTTP."""

from __future__ import annotations

import pytest

from domain.access import Role
from ops.api_keys import create_key, revoke_key
from ops.rulesets import publish
from tests.ops.api.houses import House, box, done, problem
from tests.ops.api.test_idempotency import SETTINGS
from tests.ops.floor.casino import house_version

ANNA = "/v1/accounts/EUR/anna"
CORRECTION = {"approver": "cashier person", "reason": "wrong till", "reference": "r 1"}


def test_money_comes_in_and_goes_out(house: House) -> None:
    """Each reply is the account after it."""
    opened = house.post(Role.CASHIER, "/v1/accounts", {"player": "dora", "currency": "KWD", "test": True})
    assert opened.status_code == 201 and opened.headers["Location"] == "/v1/accounts/KWD/dora"
    path = "/v1/accounts/KWD/dora"
    assert done(house.post(Role.CASHIER, f"{path}/deposits", {"amount": 900, "reference": "a"}))["balance"] == 900
    assert done(house.post(Role.CASHIER, f"{path}/withdrawals", {"amount": 400, "reference": "b"}))["balance"] == 500
    gift = {**CORRECTION, "amount": 50, "against": "bonus"}
    given = done(house.post(Role.BACK_OFFICE, f"{path}/adjustments", gift))
    assert given["balance"] == 550
    undone = house.post(Role.BACK_OFFICE, f"{path}/reversals", {**CORRECTION, "event": given["seq"]})
    assert done(undone)["balance"] == 500
    again = house.post(Role.BACK_OFFICE, f"{path}/reversals", {**CORRECTION, "event": given["seq"]})
    assert problem(again, 409, "already-reversed")["pointer"] == "/event"

    account = done(house.get(Role.CASHIER, path))
    assert (account["balance"], account["available"], account["funds_in_play"], account["in_play"]) == (500, 500, 0, [])
    history = done(house.get(Role.REGULATOR, f"{path}/cash-history"))["items"]
    assert [entry["type"] for entry in history] == [
        "funds-reversed.v1", "funds-adjusted.v1", "funds-withdrawn.v1", "funds-deposited.v1",
    ]  # fmt: skip
    assert [entry["balance"] for entry in history] == [500, 550, 500, 900]


def test_what_is_not_there_can_not_be_taken(new_house: House) -> None:
    """No balance below zero; what a round holds stays."""
    answer = new_house.post(Role.CASHIER, f"{ANNA}/withdrawals", {"amount": 1_000_001, "reference": "r"})
    problem(answer, 422, "funds-too-low")
    new_house.place(new_house.open_round(), box(1, ante=1000))
    account = done(new_house.get(Role.CASHIER, ANNA))
    assert account["balance"] == 999_000 and account["funds_in_play"] == 1000
    assert account["in_play"][0]["staked"] == 1000


def test_nobody_approves_their_own_correction(house: House) -> None:
    """The approver is another person than the key's."""
    body = {**CORRECTION, "amount": 5, "against": "bank", "approver": "back-office person"}

    assert problem(house.post(Role.BACK_OFFICE, f"{ANNA}/adjustments", body), 422, "same-person")["pointer"]


@pytest.mark.parametrize("approver", ["zoe", "regulator person", "Cashier person", "cashier person "])
def test_whoever_approves_a_correction_has_a_key_of_the_staff(house: House, approver: str) -> None:
    """By exactly that name."""
    body = {**CORRECTION, "amount": 5, "against": "bank", "approver": approver}

    assert problem(house.post(Role.BACK_OFFICE, f"{ANNA}/adjustments", body), 422, "no-approver")["pointer"]


def test_who_left_the_house_approves_nothing(new_house: House) -> None:
    """A retry of what was approved before gets its answer all the same."""
    key = create_key(new_house.journal, role=Role.BACK_OFFICE, person="zoe", label="", by="test")
    body = {**CORRECTION, "amount": 5, "against": "bank", "approver": "zoe"}
    first = new_house.post(Role.BACK_OFFICE, f"{ANNA}/adjustments", body, "gift")
    revoke_key(new_house.journal, key.id, by="test", reason="left")

    again = new_house.post(Role.BACK_OFFICE, f"{ANNA}/adjustments", body, "gift")
    assert (first.status_code, again.get_data()) == (200, first.get_data())
    problem(new_house.post(Role.BACK_OFFICE, f"{ANNA}/adjustments", body), 422, "no-approver")


def test_a_statement_is_read_page_by_page(new_house: House) -> None:
    """Newest first, without gap or double, also while events come in."""
    for number in range(7):
        new_house.casino.deposit("anna", 100 + number)
    whole = done(new_house.get(Role.CASHIER, f"{ANNA}/statement"))
    assert whole["next"] is None
    seqs, target = list[int](), f"{ANNA}/statement?limit=2"
    while True:
        page = done(new_house.get(Role.CASHIER, target))
        seqs += [entry["seq"] for entry in page["items"]]
        if page["next"] is None:
            break
        new_house.casino.deposit("anna", 1)
        target = f"{ANNA}/statement?limit=2&after={page['next']}"

    assert seqs == [entry["seq"] for entry in whole["items"]] == list(range(8, -1, -1))


@pytest.mark.parametrize("what", ["statement", "cash-history", "game-history", ""])
def test_an_account_that_is_not_there_is_not_found(house: House, what: str) -> None:
    """Every read of it."""
    problem(house.get(Role.CASHIER, f"/v1/accounts/EUR/nobody/{what}".rstrip("/")), 404, "account-unknown")


# -- tables


def test_a_table_is_changed_by_whoever_has_seen_it(new_house: House) -> None:
    """428 without If-Match, 412 when somebody else was faster; the new settings hold for the next round."""
    path = "/v1/tables/russian-poker"
    seen = new_house.get(Role.BACK_OFFICE, path)
    etag = {"If-Match": seen.headers["ETag"]}
    problem(new_house.post(Role.BACK_OFFICE, path, SETTINGS, method="PUT"), 428, "if-match-missing")
    for text in ("*", "0", 'W/"0"', '"0", "1"', '"x"', ""):
        answer = new_house.post(Role.BACK_OFFICE, path, SETTINGS, method="PUT", headers={"If-Match": text})
        problem(answer, 400, "if-match-malformed")
    running = new_house.open_round()

    changed = new_house.post(Role.BACK_OFFICE, path, SETTINGS, method="PUT", headers=etag)

    assert done(changed)["limits"]["ante_max"] == 1000
    assert changed.headers["ETag"] == new_house.get(Role.BACK_OFFICE, path).headers["ETag"] != seen.headers["ETag"]
    assert done(new_house.get(Role.GAME_SERVER, f"/v1/rounds/{running}"))["limits"]["ante_max"] == 100_000
    problem(new_house.post(Role.BACK_OFFICE, path, SETTINGS, method="PUT", headers=etag), 412, "table-changed")


def test_a_closed_table_opens_no_round(new_house: House) -> None:
    """Running ones go on; the tag of the table changes."""
    path, round_id = "/v1/tables/russian-poker", new_house.open_round()
    before = new_house.get(Role.BACK_OFFICE, path).headers["ETag"]
    assert done(new_house.post(Role.BACK_OFFICE, f"{path}/closing", {"reason": "night"}))["closed"]

    assert new_house.get(Role.BACK_OFFICE, path, {"If-None-Match": before}).status_code == 200
    problem(new_house.post(Role.GAME_SERVER, f"{path}/rounds", {}), 409, "table-closed")
    new_house.place(round_id, box(1))
    closed_tag = {"If-Match": new_house.get(Role.BACK_OFFICE, path).headers["ETag"]}
    problem(new_house.post(Role.BACK_OFFICE, path, SETTINGS, method="PUT", headers=closed_tag), 409, "table-closed")


def test_tables_jackpots_and_rulesets_are_listed_page_by_page(house: House) -> None:
    """In the order of their names."""
    for what, name in (("tables", "table"), ("rulesets", "ruleset"), ("jackpots", "jackpot")):
        whole = [item[name] for item in done(house.get(Role.CASHIER, f"/v1/{what}"))["items"]]
        names, after = list[str](), ""
        while True:
            page = done(house.get(Role.CASHIER, f"/v1/{what}?limit=1" + (f"&after={after}" if after else "")))
            names += [item[name] for item in page["items"]]
            if (after := page["next"]) is None:
                break
        assert names == whole == sorted(whole) and names


def test_a_table_needs_a_ruleset_that_two_people_have_activated(house: House) -> None:
    """Proposal and approval by different keys' persons."""
    version = house_version("russian-poker", "our-poker")
    publish(house.journal, version)
    table = {"table": "new", **SETTINGS, "ruleset": version.name}
    path, reason = f"/v1/rulesets/{version.name}", {"reason": "season"}
    problem(house.post(Role.BACK_OFFICE, "/v1/tables", table), 409, "ruleset-not-active")
    problem(house.post(Role.BACK_OFFICE, f"{path}/approval", reason), 409, "not-proposed")
    assert done(house.post(Role.BACK_OFFICE, f"{path}/proposal", reason))["state"] == "proposed"
    problem(house.post(Role.BACK_OFFICE, f"{path}/approval", reason), 422, "same-person")
    second = house.new_key(Role.BACK_OFFICE, "pavel")

    active = done(house.post(second, f"{path}/approval", reason))

    assert (active["state"], active["proposed_by"], active["approved_by"]) == ("active", "back-office person", "pavel")
    assert house.post(Role.BACK_OFFICE, "/v1/tables", table).status_code == 201
    shown = done(house.get(Role.REGULATOR, path))
    assert shown["document"]["id"] == "our-poker" and shown["digest"] == version.digest.hex()


# -- keys


def test_a_revoked_key_opens_nothing(house: House) -> None:
    """At once and for good."""
    made = done(house.post(Role.KEY_CUSTODIAN, "/v1/keys", {"role": "regulator", "person": "vera", "label": "desk 2"}))
    path = f"/v1/keys/{made['key_id']}/revocation"
    assert house.get(made["key"], "/v1/tables").status_code == 200

    ended = done(house.post(Role.KEY_CUSTODIAN, path, {"reason": "left"}))

    assert (ended["reason"], ended["revoked_by"], ended["created_at"]) == (
        "left", "key-custodian person", made["created_at"],
    )  # fmt: skip
    problem(house.get(made["key"], "/v1/tables"), 401, "key-revoked")
    problem(house.post(Role.KEY_CUSTODIAN, path, {"reason": "again"}), 409, "key-revoked")


def test_a_rotation_of_the_data_key_is_recorded(new_house: House) -> None:
    """Who and why."""
    made = done(new_house.post(Role.KEY_CUSTODIAN, "/v1/data-keys", {"reason": "yearly"}))

    assert made == {"data_key": "fedcba9876543210"}
    [stored] = new_house.journal.read_stream("access:data-keys")
    assert b'"by":"key-custodian person"' in stored.record.body and b"yearly" in stored.record.body


# -- caches


@pytest.mark.parametrize(
    "target", [ANNA, f"{ANNA}/statement", "/v1/tables", "/v1/tables/russian-poker", "/v1/jackpots/grand",
               "/v1/rulesets/russian-poker@1", "/v1/health", "/v1/openapi.json"]
)  # fmt: skip
def test_what_has_not_changed_is_not_sent_again(house: House, target: str) -> None:
    """ETag and If-None-Match."""
    first = house.get(Role.CASHIER, target)
    tag = {"If-None-Match": first.headers["ETag"]}

    again = house.get(Role.CASHIER, target, tag)

    assert first.status_code == 200
    assert (again.status_code, again.get_data(), again.headers["ETag"]) == (304, b"", first.headers["ETag"])
    assert house.get(Role.CASHIER, target, {"If-None-Match": '"other"'}).get_data() == first.get_data()


def test_an_account_that_has_changed_has_another_tag(house: House) -> None:
    """Each event of its own."""
    tag = {"If-None-Match": house.get(Role.CASHIER, ANNA).headers["ETag"]}
    house.casino.deposit("anna", 1)

    assert house.get(Role.CASHIER, ANNA, tag).status_code == 200


def test_a_regulator_reads_what_a_round_did_to_an_account_when_it_has_ended(new_house: House) -> None:
    """And the desk sees it at once."""
    before = done(new_house.get(Role.REGULATOR, f"{ANNA}/statement"))["items"]
    round_id = new_house.dealt(box(1))

    assert done(new_house.get(Role.REGULATOR, f"{ANNA}/statement"))["items"] == before
    assert len(done(new_house.get(Role.CASHIER, f"{ANNA}/statement"))["items"]) == len(before) + 1
    new_house.decide(round_id, 1, "anna", "fold")
    after = done(new_house.get(Role.REGULATOR, f"{ANNA}/statement"))["items"]
    assert [entry["type"] for entry in after[: -len(before)]] == ["round-finished.v1", "funds-staked.v1"]
