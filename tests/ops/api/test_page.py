"""docs/api.md is true: its routes, its codes, and its example, which runs."""

from __future__ import annotations

import contextlib
import io
import re
from pathlib import Path

from domain.access import Role
from domain.round.refusals import RefusalCode
from ops.api.app import table_of_routes
from ops.api.problems import _HTTP, status_of
from ops.api_keys import DenialCode
from tests.http import served
from tests.ops.api.houses import House

REPOSITORY = Path(__file__).parents[3]
PAGE = (REPOSITORY / "docs/api.md").read_text("utf-8")


def part(begin: str) -> str:
    """What stands on the page between a mark and its end."""
    found = re.search(rf"^<!-- {begin} -->\n(.*?)^<!-- end -->$", PAGE, re.M | re.S)
    assert found is not None, begin
    return found[1]


def test_the_page_has_every_route_with_its_roles(house: House) -> None:
    """As the program has them."""
    assert part("routes") == table_of_routes(house.app), "replace the table by this one"


def test_the_page_has_every_code_under_its_status() -> None:
    """Refusals of the rules, of the door, and of the API itself."""
    listed = {
        (int(status), code)
        for status, codes in re.findall(r"^\| (\d{3}) \| (.*) \|$", part("codes"), re.M)
        for code in re.findall(r"`([a-z-]+)`", codes)
    }
    source = "".join(path.read_text() for path in (REPOSITORY / "ops/api").glob("*.py"))
    own = {(int(status), code) for status, code in re.findall(r'Problem\((\d{3}), "([a-z-]+)"', source)}
    own |= {(status, code) for status, (code, _) in _HTTP.items()} | {(400, "bad-request")}
    door = {(429 if code is DenialCode.TOO_MANY_REQUESTS else 401, code.value) for code in DenialCode}

    assert listed == own | door | {(status_of(code), code.value) for code in RefusalCode}


def test_the_example_of_the_page_runs(new_house: House) -> None:
    """Word for word, over HTTP."""
    example = part("example: round").removeprefix("```python\n").removesuffix("```\n")
    with served(new_house.app) as address, contextlib.redirect_stdout(io.StringIO()) as said:
        names = {"address": address, "game_server_key": new_house.keys[Role.GAME_SERVER]}
        exec(compile(example, "docs/api.md", "exec"), names)

    first, money, seed = said.getvalue().splitlines()
    assert re.fullmatch(r"1 [0-9a-f]{64}", first) and re.fullmatch("[0-9a-f]{64}", seed)
    assert money.startswith("{'staked': 300, ") and money.endswith(str(new_house.casino.balance()))
