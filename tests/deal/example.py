"""The whole example of docs/formats/deal.md, read from the page itself, so that the page can't go stale."""

import re
from pathlib import Path

PAGE = Path(__file__).parents[2] / "docs" / "formats" / "deal.md"


def _block(heading: str) -> dict[str, str]:
    """The lines of the first code block below a heading as name -> value; an indented line continues its value."""
    match = re.search(rf"^## {heading}$.*?^```\n(.*?)^```$", PAGE.read_text("utf-8"), re.MULTILINE | re.DOTALL)
    assert match is not None, f"{PAGE} has no code block under '{heading}'"
    lines = re.sub(r"\n +", " ", match[1]).splitlines()
    return dict(line.split(maxsplit=1) for line in lines)


DEAL = _block("Example")
SEALING = _block("Sealing")

SERVER_SEED = bytes.fromhex(DEAL["S"])
ROUND_ID = bytes.fromhex(DEAL["R"])
RULESET_DIGEST = bytes.fromhex(DEAL["G"])
COMMITMENT = bytes.fromhex(DEAL["C"])
ENTROPY = bytes.fromhex(DEAL["X"])
CLIENT_SEEDS = [(1, b"alice-seed-0001"), (2, b""), (4, bytes.fromhex("00ff" * 8))]


def card_id(name: str) -> int:
    """The card id of a two-character name, spelled out here a second time."""
    return 4 * "23456789TJQKA".index(name[0]) + "cdhs".index(name[1])


DECK = [card_id(name) for name in DEAL["deck"].split()]
