"""Nothing is shown early: every reply about an open round is searched for its seed and for cards nobody has seen.

The searcher itself is tried on payloads that do leak: a test that can't fail is worse than none.
"""

from __future__ import annotations

import base64
import re
from random import Random
from typing import Any

import msgspec
import pytest
from werkzeug.test import TestResponse

from domain.access import Role
from domain.cards import CARD_TEXTS
from domain.round.codec import decode
from tests.ops.api.houses import House, problem
from tests.ops.api.playing import played, standing
from tests.ops.floor.casino import GAMES

CARD = re.compile(r"(?<![A-Za-z0-9])[2-9TJQKA][cdhs](?![A-Za-z0-9])")
SECRETS = ("events", "seed?reason=why", "deck?reason=why", "record?reason=why", "verdict")


def spellings(seed: bytes) -> set[str]:
    """The ways in which 32 bytes could stand in a text: hex, decimal, base64 at each alignment."""
    found = {seed.hex(), seed.hex().upper(), seed[::-1].hex()}
    found |= {str(int.from_bytes(seed, "big")), str(int.from_bytes(seed, "little"))}
    for shift in range(3):
        # Of an unknown place in a longer text, only the middle is certain.
        padded = base64.b64encode(b"\0" * shift + seed).decode()[4 if shift else 0 : 40]
        found |= {padded, padded.replace("+", "-").replace("/", "_")}
    return found


def payload(answer: TestResponse) -> str:
    """Everything that goes out: status line, headers, body."""
    headers = "\n".join(f"{name}: {value}" for name, value in answer.headers)
    return f"{answer.status}\n{headers}\n\n{answer.get_data(as_text=True)}"


def leaks(text: str, seed: bytes, sealed: str, shown: set[str]) -> list[str]:
    """What a text tells too early."""
    found = [spelling for spelling in (*spellings(seed), sealed) if spelling in text]
    return found + sorted(set(CARD.findall(text)) - shown)


def cards_in(value: Any) -> set[str]:
    """Every card in an event."""
    if isinstance(value, str):
        return {value} & set(CARD_TEXTS)
    parts = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return set().union(*map(cards_in, parts))


class Secret:
    """What a round hides now, from its record and its opened seed."""

    def __init__(self, house: House, round_id: str) -> None:
        floor = house.casino.floor
        live = floor.house.load(f"round:{round_id}", floor.pit.known_by_digest())
        opened = live.state.opened
        assert opened is not None
        self.seed, self.sealed = floor.house._server_seed(live), opened.sealed_seed

    def shown(self, house: House, round_id: str) -> set[str]:
        """The cards that events have shown."""
        stored = house.journal.read_stream(f"round:{round_id}")
        return set().union(*(cards_in(msgspec.to_builtins(decode(each.record.body).data)) for each in stored))


def everything_read(house: House, round_id: str) -> list[tuple[Role, str, TestResponse]]:
    """What every role can ask about a round and what is around it."""
    state = standing(house, round_id).state
    targets = ["/v1/rounds", "/v1/rounds?open=true", f"/v1/rounds/{round_id}"]
    targets.append(f"/v1/rounds/{round_id}?box=7&player=anna")
    targets += [f"/v1/rounds/{round_id}?box={box.box}&player={box.player}" for box in state.boxes]
    targets += [f"/v1/rounds/{round_id}/{secret}" for secret in SECRETS]
    targets += ["/v1/accounts/EUR/anna", "/v1/accounts/EUR/anna/statement", "/v1/tables", "/v1/jackpots/grand"]
    return [(role, target, house.get(role, target)) for role in Role for target in targets]


@pytest.mark.parametrize("game", GAMES)
def test_no_reply_about_an_open_round_tells_what_is_still_hidden(house: House, game: str) -> None:
    """Every role reads all it can between all steps."""
    random, looked = Random(f"nothing early {game}"), 0
    for _ in range(3):
        secret: Secret | None = None
        for round_id, reply in played(house, game, random):
            secret = secret or Secret(house, round_id)
            if reply["phase"] == "ended":
                break
            shown = secret.shown(house, round_id)
            assert leaks(msgspec.json.encode(reply).decode(), secret.seed, secret.sealed, shown) == []
            for role, target, answer in everything_read(house, round_id):
                may = shown if role not in (Role.BACK_OFFICE, Role.REGULATOR) else set()
                assert leaks(payload(answer), secret.seed, secret.sealed, may) == [], (role, target)
                looked += answer.status_code == 200
                if target.split("/")[-1] in SECRETS and role in (Role.DISPUTE_OFFICER, Role.REGULATOR):
                    problem(answer, 409, "round-not-ended")
            refused = house.post(Role.GAME_SERVER, f"/v1/rounds/{round_id}/decisions",
                                 {"box": 1, "player": "nobody", "action": "bet"})  # fmt: skip
            assert leaks(payload(refused), secret.seed, secret.sealed, shown) == []

    assert looked > 300


def test_the_searcher_finds_what_leaks() -> None:
    """Each spelling of a seed wherever it stands, sealed seeds, and a card that was not shown."""
    seed, sealed = bytes(range(7, 39)), "dp1/seal/of/the/seed"
    for text in (
        f'{{"seed": "{seed.hex()}"}}',
        f"ETag: {seed.hex().upper()}",
        f"x{int.from_bytes(seed, 'big')}x",
        f"x{int.from_bytes(seed, 'little')}x",
        *(base64.b64encode(b"x" * before + seed + b"y" * 5).decode() for before in range(6)),
        *(base64.urlsafe_b64encode(b"x" * before + seed + b"y" * 5).decode() for before in range(6)),
        f"sealed {sealed}",
        '{"cards": ["Ah", "Td"]}',
    ):
        assert leaks(text, seed, sealed, {"Ah"}) != [], text
    assert leaks('{"cards": ["Ah"], "etag": "2c3d"}', seed, sealed, {"Ah"}) == []
