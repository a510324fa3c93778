"""A casino with its API: an app on a real journal, and a key for each role that signs what a test sends.

    house.post(Role.CASHIER, "/v1/accounts/EUR/anna/deposits", {"amount": 500, "reference": "till 1"})

Not here: what a test expects (the tests beside this file), the server process (`test_serve`).
"""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import count
from typing import Any

from flask import Flask
from werkzeug.test import TestResponse

from domain.access import Role
from ops.api.app import create_app
from ops.api_keys import Gatekeeper, create_key, new_nonce, sign
from ops.floor import Floor
from ops.journal import Journal
from ops.keys import DataKey
from tests.ops.api.conformance import hold
from tests.ops.floor.casino import KEY, Casino

PER_MINUTE = 1_000_000


def new_data_key() -> DataKey:
    """A data key of a test; nothing is sealed with it."""
    return DataKey("fedcba9876543210", bytes(32))


@dataclass
class House:
    """An app and its callers."""

    casino: Casino
    app: Flask
    keys: dict[Role, str]
    _numbers: Any = field(default_factory=lambda: count(1))

    @classmethod
    def opened(cls, url: str, journal: Journal, per_minute: int = PER_MINUTE) -> House:
        """A casino that is furnished, and a key for each role."""
        casino = Casino(url, journal)
        keys = {
            role: create_key(journal, role=role, person=f"{role} person", label="", by="test").text for role in Role
        }
        return cls(casino, create_app(casino.floor, Gatekeeper(journal, per_minute), new_data_key), keys)

    @property
    def journal(self) -> Journal:
        return self.casino.journal

    def restarted(self) -> House:
        """The same house after a restart of its app: a new floor, with nothing in memory."""
        app = create_app(Floor(self.journal, KEY), Gatekeeper(self.journal, PER_MINUTE), new_data_key)
        return House(self.casino, app, self.keys, self._numbers)

    def new_key(self, role: Role, person: str) -> str:
        """One more key."""
        return create_key(self.journal, role=role, person=person, label="", by="test").text

    # -- asking

    def get(self, role: Role | str, target: str, headers: Mapping[str, str] | None = None) -> TestResponse:
        return self.send(role, "GET", target, b"", headers or {})

    def post(
        self, role: Role | str, target: str, body: object, command: str | None = None, method: str = "POST",
        headers: Mapping[str, str] | None = None,
    ) -> TestResponse:  # fmt: skip
        """A command; `command` is its idempotency key, else one that was never used."""
        raw = body if isinstance(body, bytes) else json.dumps(body).encode()
        name = command or f"command-{next(self._numbers)}"
        more = {"Content-Type": "application/json", "Idempotency-Key": name, **(headers or {})}
        return self.send(role, method, target, raw, more)

    def send(
        self, role: Role | str, method: str, target: str, body: bytes, headers: Mapping[str, str]
    ) -> TestResponse:
        """A signed request, as it is; its reply is one that the OpenAPI document has."""
        key = self.keys[role] if isinstance(role, Role) else role
        signed = sign(key, method, target, int(time.time()), new_nonce(), body)
        answer = self.app.test_client().open(target, method=method, data=body, headers={**headers, **signed})
        hold(self.app, method, target.partition("?")[0], answer)
        return answer

    # -- steps

    def open_round(self, table: str = "russian-poker") -> str:
        """A round's id."""
        return str(done(self.post(Role.GAME_SERVER, f"/v1/tables/{table}/rounds", {}))["round"])

    def place(self, round_id: str, *boxes: dict[str, Any]) -> Any:
        return done(self.post(Role.GAME_SERVER, f"/v1/rounds/{round_id}/boxes", {"boxes": boxes}))

    def deal(self, round_id: str) -> Any:
        return done(self.post(Role.GAME_SERVER, f"/v1/rounds/{round_id}/deal", {}))

    def decide(self, round_id: str, box: int, player: str, action: str, **more: Any) -> Any:
        body = {"box": box, "player": player, "action": action, **more}
        return done(self.post(Role.GAME_SERVER, f"/v1/rounds/{round_id}/decisions", body))

    def dealt(self, *boxes: dict[str, Any], table: str = "russian-poker") -> str:
        """The id of a round whose cards are dealt."""
        round_id = self.open_round(table)
        self.place(round_id, *(boxes or [box(1)]))
        self.deal(round_id)
        return round_id

    def ended(self, table: str = "russian-poker") -> str:
        """The id of a round in which the only box has folded."""
        round_id = self.dealt(box(1), table=table)
        self.decide(round_id, 1, "anna", "fold")
        return round_id


def box(number: int, player: str = "anna", ante: int = 100, mode: str = "open", **more: Any) -> dict[str, Any]:
    """A stake."""
    return {"box": number, "player": player, "mode": mode, "ante": ante, **more}


def done(answer: TestResponse) -> Any:
    """The body of a reply to what was done; the test is wrong where it was refused."""
    assert answer.status_code < 300, answer.get_data(as_text=True)
    return answer.get_json()


def problem(answer: TestResponse, status: int, code: str) -> Any:
    """The problem that was expected."""
    assert answer.status_code == status, answer.get_data(as_text=True)
    assert answer.content_type == "application/problem+json"
    body = answer.get_json()
    assert (body["status"], body["code"]) == (status, code), body
    assert body["type"].endswith(f"/{code}") and body["title"] and body["detail"]
    return body


