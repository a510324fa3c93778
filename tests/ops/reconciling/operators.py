"""An operator's files about a played house, made from its accounts' and rounds' events, not from projections.

Not here: what is found in them (`test_files`).
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from domain import account as a
from domain.round import events as e
from domain.streams import DECODERS
from tests.ops.played import Owner

WALLET = """
what = "wallet"
delimiter = ";"
decimal = ","
thousands = " "
[columns]
player = "Customer"
currency = "Currency"
amount = "Amount"
round = "Game"
reference = "Slip"
"""

ROUNDS = """
what = "rounds"
unit = "minor"
gain_of = "house"
[columns]
table = "Table"
number = "No"
currency = "Currency"
staked = "In"
returned = "Out"
net = "GGR"
ending = "End"
boxes = "Boxes"
[endings]
OK = "closed"
VOID = "voided"
"""


class Movement(NamedTuple):
    """Money of a player, in minor units."""

    at: str
    player: str
    currency: str
    amount: int
    round: str
    reference: str
    kind: str


def events(owner: Owner) -> list[tuple[str, Any]]:
    """(stream, record) of every event, in order."""
    rows = owner.execute("select originator_id, state from dealproof.events order by notification_id").fetchall()
    return [(stream, DECODERS[stream.partition(":")[0]](state)) for stream, state in rows]


def movements(owner: Owner) -> list[Movement]:
    """Every movement of a player's money."""
    found = []
    for stream, record in events(owner):
        event = record.data
        if isinstance(event, (a.RoundEntry, *a.CASH_EVENTS)):
            _, currency, player = stream.split(":", 2)
            amount = sum(line.amount for line in event.lines if line.account == "player")
            found.append(Movement(
                record.at, player, currency, amount, getattr(event, "round", ""), getattr(event, "reference", ""),
                event.NAME,
            ))  # fmt: skip
    return found


def wallet_lines(moved: Sequence[Movement]) -> list[list[str]]:
    """Amounts as a Continental spreadsheet writes them, with spaces between thousands."""
    return [["Customer", "Currency", "Amount", "Game", "Slip", "Time"], *(
        [each.player, each.currency, written(each.amount, each.currency), each.round, each.reference, each.at]
        for each in moved
    )]  # fmt: skip


def written(amount: int, currency: str) -> str:
    """1 234 567,89; without places in JPY."""
    whole, part = (abs(amount), "") if currency == "JPY" else (abs(amount) // 100, f",{abs(amount) % 100:02d}")
    return f"{'-' if amount < 0 else ''}{whole:,}{part}".replace(",", " ", f"{whole:,}".count(","))


class EndedRound(NamedTuple):
    """What an operator knows of a round, in minor units; `net` is his gain."""

    at: str
    table: str
    number: int
    currency: str
    staked: int
    returned: int
    net: int
    ending: str
    boxes: int


def rounds(owner: Owner) -> list[EndedRound]:
    """Every round that has ended; a void gave everything back."""
    opened: dict[str, e.RoundOpened] = {}
    boxes: dict[str, int] = {}
    staked: dict[str, int] = {}
    found = []
    for stream, record in events(owner):
        event = record.data
        if isinstance(event, e.RoundOpened):
            opened[stream] = event
        elif isinstance(event, e.BoxPlaced):
            boxes[stream] = boxes.get(stream, 0) + 1
        elif isinstance(event, a.FundsStaked):
            name = f"round:{event.round}"
            staked[name] = staked.get(name, 0) + sum(posting.amount for posting in event.postings)
        if isinstance(event, e.RoundClosed | e.RoundVoided):
            closed, first = isinstance(event, e.RoundClosed), opened[stream]
            money = (staked.get(stream, 0),) * 2
            if isinstance(event, e.RoundClosed):
                money = event.staked, event.returned
            found.append(EndedRound(
                record.at, first.table, first.number, first.currency, *money, money[0] - money[1],
                "OK" if closed else "VOID", boxes.get(stream, 0),
            ))  # fmt: skip
    return found


def round_lines(ended: Sequence[EndedRound]) -> list[list[str]]:
    return [["Time", "Table", "No", "Currency", "In", "Out", "GGR", "End", "Boxes"], *(
        [str(value) for value in each] for each in ended
    )]  # fmt: skip


def write(path: Path, lines: Sequence[Sequence[str]], delimiter: str = ",", encoding: str = "utf-8") -> Path:
    """Plain cells, none of which needs quoting."""
    path.write_bytes("".join(f"{delimiter.join(line)}\r\n" for line in lines).encode(encoding))
    return path
