"""What each reader sees of the same round, before its end and after it."""

from __future__ import annotations

from typing import Any

import pytest

from domain.access import Role
from tests.ops.api.houses import House, box, done, problem

GAME = "multibox-russian-poker"
EXISTENCE = {"round", "table", "number", "ruleset", "ruleset_digest", "currency", "commitment", "phase", "at", "seq",
             "opened_at"}  # fmt: skip
MONEY = {"ante", "bet", "bonus", "insurance", "fees", "jackpot", "staked", "returned", "net"}
CARDS = {"cards", "combination", "second"}


def read(house: House, role: Role, round_id: str, query: str = "") -> Any:
    return done(house.get(role, f"/v1/rounds/{round_id}{query}"))


@pytest.fixture
def open_round(house: House) -> str:
    """Anna and Boris, dealt."""
    return house.dealt(box(1, "anna", 100), box(2, "boris", 300), table=GAME)


def test_the_game_server_sees_what_lies_on_the_table(house: House, open_round: str) -> None:
    """Cards, money, and what the box in turn may do."""
    view = read(house, Role.GAME_SERVER, open_round)

    assert {each["player"] for each in view["boxes"]} == {"anna", "boris"}
    assert all(set(each) >= MONEY | CARDS for each in view["boxes"])
    assert view["upcard"] and view["next"]["actions"] and view["dealer"] is None
    assert read(house, Role.DISPUTE_OFFICER, open_round) == view


def test_a_player_sees_his_own_money_and_nobodys_else(house: House, open_round: str) -> None:
    """The others' cards on the table he sees as they lie there."""
    view = read(house, Role.GAME_SERVER, open_round, "?box=2&player=boris")
    first, second = view["boxes"]

    assert (first["player"], second["player"]) == ("(other)", "boris")
    assert not set(first) & MONEY and set(second) >= MONEY
    assert first["cards"] == read(house, Role.GAME_SERVER, open_round)["boxes"][0]["cards"]
    # It is the other one's turn: its prices would tell its ante.
    assert view["next"] == {"box": 1, "actions": [], "prices": {}, "insurance": None}
    assert view["totals"] is None
    assert b"anna" not in house.get(Role.GAME_SERVER, f"/v1/rounds/{open_round}?box=2&player=boris").get_data()
    own = read(house, Role.GAME_SERVER, open_round, "?box=1&player=anna")
    assert own["next"]["prices"]["bet"] == 200


def test_nobody_asks_for_the_view_of_another_players_box(house: House, open_round: str) -> None:
    """Box and player must fit, and go together; only a game server asks for a player."""
    path = f"/v1/rounds/{open_round}"
    problem(house.get(Role.GAME_SERVER, f"{path}?box=1&player=boris"), 422, "not-your-box")
    problem(house.get(Role.GAME_SERVER, f"{path}?box=3&player=boris"), 422, "box-unknown")
    problem(house.get(Role.GAME_SERVER, f"{path}?box=1"), 422, "box-and-player")
    problem(house.get(Role.GAME_SERVER, f"{path}?player=anna"), 422, "box-and-player")
    problem(house.get(Role.BACK_OFFICE, f"{path}?box=1&player=anna"), 403, "role-not-allowed")


def test_the_back_office_sees_money_and_no_card(house: House, open_round: str) -> None:
    """Before the end; nor what a hand would let its player do."""
    view = read(house, Role.BACK_OFFICE, open_round)

    assert view["upcard"] is None and view["dealer"] is None
    assert all(not set(each) & CARDS and set(each) >= MONEY for each in view["boxes"])
    assert view["next"] == {"box": 1, "actions": [], "prices": {}, "insurance": None}


def test_the_regulator_sees_that_there_is_a_round(house: House, open_round: str) -> None:
    """Before the end: its commitment, its times, its place."""
    assert set(read(house, Role.REGULATOR, open_round)) == EXISTENCE


def test_after_the_end_everybody_sees_everything_but_a_player(house: House) -> None:
    """The players of a round stay unknown to each other."""
    round_id = house.dealt(box(1, "anna", 100), box(2, "boris", 300), table=GAME)
    while (following := read(house, Role.GAME_SERVER, round_id)["next"]) is not None:
        player = {1: "anna", 2: "boris"}[following["box"]]
        house.decide(round_id, following["box"], player, "bet" if "bet" in following["actions"] else "take_ante")
    views = [read(house, role, round_id) for role in (Role.GAME_SERVER, Role.BACK_OFFICE, Role.REGULATOR)]

    assert views[0] == views[1] == views[2]
    assert len(views[0]["dealer"]["cards"]) == 5 and views[0]["totals"]["staked"] >= 1200
    assert all(each["outcome"] and each["net"] == each["returned"] - each["staked"] for each in views[0]["boxes"])
    player = read(house, Role.GAME_SERVER, round_id, "?box=2&player=boris")
    assert [each["player"] for each in player["boxes"]] == ["(other)", "boris"]


def test_a_voided_round_ends_every_box_at_nothing(new_house: House) -> None:
    """Rule 10.2: also for the back office, which may void."""
    open_round = new_house.dealt(box(1, "anna", 100), box(2, "boris", 300), table=GAME)
    answer = new_house.post(Role.BACK_OFFICE, f"/v1/rounds/{open_round}/void", {"reason": "power cut"})

    view = done(answer)
    assert view["voided"] == "power cut" and view["totals"] == {"staked": 400, "returned": 400, "net": 0}
    assert [each["net"] for each in view["boxes"]] == [0, 0]
    assert view["accounts"]["anna"] == {"balance": 1_000_000, "available": 1_000_000, "funds_in_play": 0}


# -- lists


def test_open_rounds_are_listed_with_what_is_to_be_done(house: House, open_round: str) -> None:
    """Oldest first; a round that has ended is not among them."""
    ended, waiting = house.ended(), house.open_round()
    listed = done(house.get(Role.BACK_OFFICE, "/v1/rounds?open=true&limit=200"))["items"]

    assert [item["round"] for item in listed][-2:] == [open_round, waiting]
    assert listed[-2]["next"]["box"] == 1 and listed[-1]["next"]["actions"] == ["place_boxes"]
    assert all(0 <= item["age"] < 60 for item in listed)
    only = done(house.get(Role.BACK_OFFICE, f"/v1/rounds?open=true&table={GAME}"))["items"]
    assert open_round in [item["round"] for item in only] and waiting not in [item["round"] for item in only]
    assert ended in [item["round"] for item in done(house.get(Role.BACK_OFFICE, "/v1/rounds"))["items"]]
    known = done(house.get(Role.REGULATOR, "/v1/rounds?open=true&limit=200"))["items"]
    assert all(set(item) <= EXISTENCE | {"age"} for item in known)


@pytest.mark.parametrize("query", ["", "&table=russian-poker", "&open=true", "&open=true&table=russian-poker"])
def test_rounds_are_listed_page_by_page(house: House, query: str) -> None:
    """Newest first; open ones oldest first."""
    rounds = [house.open_round() for _ in range(3)]
    house.open_round(GAME)
    whole = [item["round"] for item in done(house.get(Role.GAME_SERVER, f"/v1/rounds?limit=200{query}"))["items"]]
    found, after = list[str](), ""
    while True:
        page = done(house.get(Role.GAME_SERVER, f"/v1/rounds?limit=2{query}{after}"))
        found += [item["round"] for item in page["items"]]
        if page["next"] is None:
            break
        after = f"&after={page['next']}"

    assert found == whole and set(rounds) <= set(whole)


# -- what is hidden until the end


def test_a_look_at_what_was_hidden_is_recorded_before_it_is_answered(house: House) -> None:
    """Who, under which key, at what, why; one event a look."""
    round_id = house.ended(GAME)
    looks = [(Role.GAME_SERVER, "seed"), (Role.DISPUTE_OFFICER, "deck"), (Role.REGULATOR, "record")]
    for role, what in looks:
        done(house.get(role, f"/v1/rounds/{round_id}/{what}?reason=dispute+{what}"))
        problem(house.get(role, f"/v1/rounds/{round_id}/{what}"), 422, "invalid-field")

    bodies = [stored.record.body.decode() for stored in house.journal.read_stream(f"access:{round_id}")]
    assert len(bodies) == 3
    for body, (role, what) in zip(bodies, looks, strict=True):
        for part in (f'"by":"{role} person"', f'"what":"{what}"', f'"reason":"dispute {what}"', f'"role":"{role}"'):
            assert part in body
        assert f'"key":"{house.keys[role].split("_")[1]}"' in body


def test_the_deck_is_the_one_that_was_dealt(house: House) -> None:
    """52 different cards, the first ones as the boxes got them; none where a round was voided before its deal."""
    round_id = house.ended(GAME)
    deck = done(house.get(Role.REGULATOR, f"/v1/rounds/{round_id}/deck?reason=check"))["cards"]
    hand = read(house, Role.REGULATOR, round_id)["boxes"][0]["cards"]
    assert len(set(deck)) == 52 and set(hand) <= set(deck[:10])
    voided = house.open_round()
    done(house.post(Role.GAME_SERVER, f"/v1/rounds/{voided}/void", {"reason": "empty"}))
    assert done(house.get(Role.REGULATOR, f"/v1/rounds/{voided}/deck?reason=check"))["cards"] is None


def test_the_facts_of_a_round_are_read_without_its_seed(house: House) -> None:
    """Sealed or revealed."""
    round_id = house.ended()
    answer = house.get(Role.DISPUTE_OFFICER, f"/v1/rounds/{round_id}/events")
    seed = done(house.get(Role.REGULATOR, f"/v1/rounds/{round_id}/seed?reason=check"))["server_seed"]
    record = done(house.get(Role.REGULATOR, f"/v1/rounds/{round_id}/record?reason=check"))["record"]

    types = [event["type"] for event in done(answer)["events"]]
    assert types[0] == "round-opened.v1" and types[-1] == "seed-revealed.v1"
    assert seed not in answer.get_data(as_text=True) and "sealed_seed" not in answer.get_data(as_text=True)
    assert len(record) == len(types) and seed in record[-1]["body"]


def test_an_abandoned_round_is_finished_by_policy_and_not_before(house: House, open_round: str) -> None:
    """The table's wait is 60 seconds."""
    answer = house.post(Role.GAME_SERVER, f"/v1/rounds/{open_round}/finish", {})

    problem(answer, 409, "not-abandoned")
