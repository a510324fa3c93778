"""An administrator who pays somebody too much and makes everything agree: facts, postings, balances, totals, chains.

What he writes is what the house would have written, had it been true (docs/formats/accounts.md): only the rules of the
game, or the log, can say that it is not.

Not here: the choice of whom he pays (`ops.drill.kinds`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from domain.account import FundsDeposited, FundsWon, RoundFinished
from domain.round.events import BoxSettled, RoundClosed
from ops.drill.forging import Line, Plain, lines_of, plain, rechained, whole_change, written
from ops.drill.original import Change, Original


def higher_payout(original: Original, position: int, amount: int) -> Change | None:
    """A box is paid more, by the account's event at this position; None where it is no win of an ante or a BET."""
    record = original.at(position)
    if record.type != FundsWon.NAME:
        return None
    won = plain(record)
    posting = next((each for each in won["data"]["postings"] if each["wager"] in ("ante", "bet")), None)
    if posting is None:
        return None
    round_id, wager = won["data"]["round"], posting["wager"]
    lines = lines_of(original)
    _pay_in_round(original, lines, f"round:{round_id}", posting["seq"], wager, amount)
    posting["amount"] += amount
    _pay(won, amount, "bank")
    _set(lines, position, won)
    _pay_later(original, lines, position, amount, round_id)
    rechained(original, lines, [f"round:{round_id}", record.stream])
    return whole_change(original, f"position {position}: {amount} more for {wager} in round {round_id}", lines)


def higher_deposit(original: Original, position: int, amount: int) -> Change | None:
    """More was paid in at the desk, by the event at this position; None where it is no deposit, or one undone later."""
    record = original.at(position)
    if record.type != FundsDeposited.NAME or _is_undone(original, position):
        return None
    deposit = plain(record)
    deposit["data"]["amount"] += amount
    _pay(deposit, amount, "cash")
    lines = lines_of(original)
    _set(lines, position, deposit)
    _pay_later(original, lines, position, amount, None)
    rechained(original, lines, [record.stream])
    return whole_change(original, f"position {position}: {amount} more in a deposit of {record.stream}", lines)


def _pay_in_round(original: Original, lines: list[Line], stream: str, seq: int, wager: str, amount: int) -> None:
    """The settlement of the box, and the round's totals."""
    for position in original.streams[stream]:
        record = original.at(position)
        value = plain(record)
        if record.type == BoxSettled.NAME and record.seq == seq:
            value["data"][wager] += amount
        elif record.type != RoundClosed.NAME:
            continue
        value["data"]["returned"] += amount
        value["data"]["net"] += amount
        _set(lines, position, value)


def _pay(value: Plain, amount: int, against: str) -> None:
    for line in value["data"]["lines"]:
        if line["account"] == "player":
            line["amount"] += amount
        elif line["account"] == against:
            line["amount"] -= amount


def _pay_later(original: Original, lines: list[Line], position: int, amount: int, round_id: str | None) -> None:
    """The state after the event itself, and after each later one of its account."""
    stream, seq = original.at(position).stream, original.at(position).seq
    for value, at in _from(original, lines, stream, seq):
        data = value["data"]
        data["after"]["balance"] += amount
        for play in data["after"]["in_play"]:
            if play["round"] == round_id:
                play["returned"] += amount
            elif play["since"] > seq:
                play["before"] += amount
        if value["type"] == RoundFinished.NAME:
            if data["round"] == round_id:
                data["returned"] += amount
                data["net"] += amount
            elif data["since"] > seq:
                data["before"] += amount
        _set(lines, at, value)


def _from(original: Original, lines: list[Line], stream: str, seq: int) -> Iterator[tuple[Plain, int]]:
    for position in original.streams[stream]:
        record = lines[position - 1].record
        if record.seq >= seq:
            yield plain(record), position


def _set(lines: list[Line], position: int, value: Plain) -> None:
    lines[position - 1] = Line(position, written(value))


def _is_undone(original: Original, position: int) -> bool:
    record = original.at(position)
    mention: Callable[[Plain], bool] = lambda value: value["data"].get("reverses") == record.seq  # noqa: E731 - one use
    later = (original.at(at) for at in original.streams[record.stream] if at > position)
    return any(mention(plain(each)) for each in later if b'"reverses":' in each.body)
