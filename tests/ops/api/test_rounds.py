"""A round over HTTP, from its commitment to its verdict."""

from __future__ import annotations

from domain.access import ACCESS_CODEC, Intervention, Role, RoundIntervened, access_stream
from domain.hands import Combination
from domain.round.codec import decode
from tests.ops.api.houses import House, box, done, problem
from tests.ops.floor.casino import box as stake


def test_a_round_is_played_from_its_commitment_to_its_verdict(new_house: House) -> None:
    """What a game server does, step by step."""
    opened = new_house.post(Role.GAME_SERVER, "/v1/tables/russian-poker/rounds", {})
    round_id = done(opened)["round"]
    assert opened.status_code == 201
    assert opened.headers["Location"] == f"/v1/rounds/{round_id}"
    assert done(opened)["phase"] == "betting" and len(done(opened)["commitment"]) == 64

    placed = new_house.place(round_id, box(1, client_seed="00ff"))
    assert placed["boxes"][0]["ante"] == 100
    assert placed["accounts"] == {"anna": {"balance": 999_900, "available": 999_900, "funds_in_play": 100}}

    dealt = new_house.deal(round_id)
    assert dealt["phase"] == "deciding" and len(dealt["boxes"][0]["cards"]) == 5 and dealt["upcard"]
    assert dealt["next"]["box"] == 1 and dealt["next"]["prices"]["bet"] == 200
    assert dealt["dealer"] is None

    folded = new_house.decide(round_id, 1, "anna", "fold")
    assert folded["phase"] == "ended" and folded["next"] is None
    assert folded["totals"] == {"staked": 100, "returned": 0, "net": -100}
    assert folded["boxes"][0]["outcome"] == "folded"

    seed = done(new_house.get(Role.GAME_SERVER, f"/v1/rounds/{round_id}/seed?reason=shown+to+anna"))
    assert seed["commitment"] == done(opened)["commitment"] and len(seed["server_seed"]) == 64
    verdict = done(new_house.get(Role.REGULATOR, f"/v1/rounds/{round_id}/verdict"))
    assert verdict["verdict"] == "verified"
    # The rung of money too.
    assert [check["status"] for check in verdict["checks"] if check["check"] == "ledger"] == ["verified"]
    history = done(new_house.get(Role.CASHIER, "/v1/accounts/EUR/anna/game-history"))
    assert [entry["round"] for entry in history["items"]] == [round_id]


def test_the_box_of_another_player_is_refused(house: House) -> None:
    """Rule 6.1"""
    round_id = house.dealt(box(1, "anna"), box(2, "boris"), table="open-russian-poker")
    body = {"box": 1, "player": "boris", "action": "fold"}

    answer = house.post(Role.GAME_SERVER, f"/v1/rounds/{round_id}/decisions", body)

    assert problem(answer, 422, "not-your-box")["pointer"] == "/box"


def test_a_hand_that_the_dealer_has_opened_is_voided_by_the_back_office_alone(new_house: House) -> None:
    """Rule 10.2: or a game server could call a fault for every hand that is about to be lost."""
    made = new_house.casino.dealt(
        "open-russian-poker", stake(1), wanted=lambda hands: hands.dealer < Combination.ACE_KING
    )
    revealed = new_house.decide(made.round_id, 1, "anna", "bet")
    assert revealed["phase"] == "revealed"
    path, body = f"/v1/rounds/{made.round_id}/void", {"reason": "a fault"}

    problem(new_house.post(Role.GAME_SERVER, path, body), 409, "too-late-to-void")
    assert done(new_house.post(Role.BACK_OFFICE, path, body))["voided"] == "a fault"


def test_who_ended_a_round_from_outside_stands_beside_it(new_house: House) -> None:
    """In the same append, in the stream of what was done to the round."""
    round_id = new_house.dealt(box(1))
    done(new_house.post(Role.GAME_SERVER, f"/v1/rounds/{round_id}/void", {"reason": "the camera failed"}))

    [stored] = new_house.journal.read_stream(access_stream(round_id))
    record = ACCESS_CODEC.decode(stored.record.body)
    assert record.data == RoundIntervened(
        action=Intervention.VOID, by="game-server person", reason="the camera failed", round=round_id
    )
    last = new_house.journal.read_stream(f"round:{round_id}")[-1]
    assert stored.position > last.position and record.at == decode(last.record.body).at
    verdict = done(new_house.get(Role.REGULATOR, f"/v1/rounds/{round_id}/verdict"))
    assert verdict["verdict"] == "verified"


def test_a_command_has_no_query(house: House) -> None:
    """What stands there would be ignored, and is no part of what an Idempotency-Key names."""
    answer = house.post(Role.GAME_SERVER, "/v1/tables/russian-poker/rounds?z=1", {})

    assert problem(answer, 422, "invalid-field")["errors"] == [{"pointer": "/z", "reason": "Unknown field."}]
