"""The OpenAPI document is true: schemathesis asks a running server all that it says and much that it forbids.

Every check that schemathesis has is on.  A middleware signs what it sends, as a caller would, under a key of a role
that may call the endpoint; a request without the marker goes through unsigned, so that the check on authentication
finds a closed door.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import time
from collections.abc import Callable
from io import BytesIO
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from werkzeug.exceptions import HTTPException

from domain.access import Role
from ops.api.roles import ROLES
from ops.api_keys import new_nonce, sign
from tests.http import served
from tests.ops.api.houses import House
from tests.ops.api.test_sight import GAME

MARKER = "Dealproof marker"
SIGNATURE = {"HTTP_DEALPROOF_TIMESTAMP", "HTTP_DEALPROOF_NONCE", "HTTP_DEALPROOF_SIGNATURE"}
ALLOWED = re.compile("[!-~]{1,200}")
REPOSITORY = Path(__file__).parents[3]

CONFIG = """
[checks]
# A rule of the house refuses with 422, a condition with 412; what else may not be refused is our own check.
positive_data_acceptance.expected-statuses = ["2xx", "3xx", "401", "403", "404", "409", "412", "422", "429"]
missing_required_header.expected-statuses = ["400", "401", "428"]

[parameters]
"path.round_id" = {{ dictionary = "rounds", probability = 0.7 }}
"path.table" = {{ dictionary = "tables", probability = 0.7 }}
"path.player" = {{ dictionary = "players", probability = 0.7 }}
"path.currency" = {{ dictionary = "currencies", probability = 0.8 }}
"path.jackpot" = {{ dictionary = "jackpots", probability = 0.7 }}
"path.name" = {{ dictionary = "rulesets", probability = 0.7 }}
"path.key_id" = {{ dictionary = "keys", probability = 0.7 }}
"header.If-Match" = {{ dictionary = "tags", probability = 0.7 }}

[dictionaries]
rounds.values = {rounds}
tables.values = {tables}
players.values = ["anna", "boris"]
currencies.values = ["EUR"]
jackpots.values = ["grand"]
rulesets.values = {rulesets}
keys.values = {keys}
tags.values = ['"0"', '"1"']
"""


class Signing:
    """Signs what carries the marker, under the key of a role that may call the endpoint."""

    def __init__(self, house: House) -> None:
        self.house = house
        self.numbers = count()
        self.adapter = house.app.url_map.bind("house")

    def __call__(self, environ: dict[str, Any], start: Callable[..., Any]) -> Any:
        if environ.get("HTTP_AUTHORIZATION") == MARKER and set(environ) >= SIGNATURE:
            body = environ["wsgi.input"].read()
            target = environ["PATH_INFO"] + (f"?{environ['QUERY_STRING']}" if environ["QUERY_STRING"] else "")
            method = environ["REQUEST_METHOD"]
            signed = sign(self._key(environ), method, target, int(time.time()), new_nonce(), body)
            environ |= {f"HTTP_{name.upper().replace('-', '_')}": value for name, value in signed.items()}
            environ |= {"wsgi.input": BytesIO(body), "CONTENT_LENGTH": str(len(body))}
            environ |= self._fresh(environ.get("HTTP_IDEMPOTENCY_KEY", ""))
        return self.house.app(environ, start)

    def _fresh(self, name: str) -> dict[str, str]:
        """A name that the document allows, made one that was never used: each command shall be carried out."""
        return {"HTTP_IDEMPOTENCY_KEY": f"{name[:100]}{next(self.numbers)}"} if ALLOWED.fullmatch(name) else {}

    def _key(self, environ: dict[str, Any]) -> str:
        try:
            endpoint, _ = self.adapter.match(environ["PATH_INFO"], environ["REQUEST_METHOD"])
        except HTTPException:
            endpoint = ""
        roles = ROLES.get(endpoint, frozenset({Role.GAME_SERVER}))
        return self.house.keys[min(roles)]


def schemathesis(house: House, folder: Path, *options: str) -> subprocess.CompletedProcess[str]:
    """A whole run of schemathesis against a house in which something goes on."""
    rounds = [house.open_round(GAME), house.dealt(table=GAME), house.dealt(table="five-card-poker"), house.ended()]
    keys = [house.new_key(Role.REGULATOR, f"person {number}").split("_")[1] for number in range(3)]
    config = folder / "schemathesis.toml"
    tables, rulesets = ["russian-poker", GAME, "five-card-poker"], ["russian-poker@1", f"{GAME}@1"]
    lists = {"rounds": rounds, "tables": tables, "rulesets": rulesets, "keys": keys}
    config.write_text(CONFIG.format(**{name: json.dumps(values) for name, values in lists.items()}))
    with served(Signing(house)) as address:
        command = [sys.executable, "-m", "schemathesis.cli", "--config-file", str(config), "run",
                   f"{address}/v1/openapi.json",
                   "--header", f"Authorization: {MARKER}", "--checks", "all", "--mode", "all", "--no-color",
                   "--suppress-health-check", "all", "--warnings", "off", *options]  # fmt: skip
        environment = {**os.environ, "SCHEMATHESIS_HOOKS": "tests.ops.api.openapi_hooks"}
        return subprocess.run(command, cwd=REPOSITORY, env=environment, capture_output=True, text=True, check=False)


def test_the_document_is_true(new_house: House, tmp_path: Path) -> None:
    """All checks, with data that the document allows and data that it forbids."""
    ran = schemathesis(new_house, tmp_path, "--max-examples", "3", "--seed", "3", "--phases", "coverage,fuzzing")

    assert ran.returncode == 0, ran.stdout[-20_000:] + ran.stderr[-3000:]


@pytest.mark.long
@pytest.mark.timeout(900)
def test_the_document_is_true_however_long_it_is_asked(new_house: House, tmp_path: Path) -> None:
    """The same with many more examples, and with calls that follow from each other."""
    ran = schemathesis(new_house, tmp_path, "--max-examples", "8", "--seed", "5")

    assert ran.returncode == 0, ran.stdout[-20_000:] + ran.stderr[-3000:]
