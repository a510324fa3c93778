"""Fill the examples of docs/formats/accounts.md with real bytes.

    python -m tests.domain.account_examples

A test compares the page with what this writes.  The evenings are those of `tests.replay.casino`, from fixed seeds.

Not here: whether the bytes are true (`test_account_examples` asks the whole proof).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from random import Random
from typing import Final

import msgspec

from domain import account as a
from domain import activation
from domain import table as t
from domain.record import Record, leaf_hash
from domain.round.refusals import Refusal
from domain.round.state import RoundState
from domain.ruleset import load_ruleset
from tests.replay.casino import JACKPOT, Casino

PAGE: Final = Path(__file__).parents[2] / "docs" / "formats" / "accounts.md"
EXAMPLE: Final = re.compile(r"(<!-- example: (\w+) -->\n```\w*\n)(.*?)(```\n<!-- end -->)", re.DOTALL)
GAME: Final = load_ruleset(Path("tests/rulesets/frequent-jackpot@1.json").read_bytes())
TABLE: Final = "vip-1"


def page_with_examples() -> str:
    """The page with its examples as they should be."""
    text = PAGE.read_text(encoding="utf-8")
    return EXAMPLE.sub(lambda found: found[1] + _lines(examples()[found[2]]) + found[4], text)


def _lines(records: Sequence[Record]) -> str:
    return "".join(record.body.decode() + "\n" for record in records)


@cache
def examples() -> dict[str, list[Record]]:
    """The records of every example, by its name on the page."""
    played, voided = played_evening(), voided_evening()
    player = next(r.stream for r in played.records if r.type == "funds-won.v1")
    back = next(r.stream for r in voided.records if r.type == "funds-taken-back.v1")
    return {
        "account": [record for record in played.records if record.stream == player],
        "void": [r for r in voided.records if r.stream in (back, f"jackpot:{JACKPOT}")][-4:],
        "jackpot": [r for r in played.records if r.stream == f"jackpot:{JACKPOT}"],
        "table": [record for record in played.records if record.stream == f"table:{TABLE}"],
        "activation": activation_records(),
    }


@cache
def played_evening() -> Casino:
    """One round in which a box won the whole jackpot; before and after it the cashier."""
    for seed in range(10_000):
        house = _evening(seed, lambda _: False)
        names = {record.type for record in house.records}
        if {"funds-returned.v1", "funds-won.v1", "jackpot-restarted.v1"} <= names and _players(house) == 1:
            _cashier(house)
            _office(house)
            return house
    raise LookupError("no such round")


@cache
def voided_evening() -> Casino:
    """One round that was voided after a box had won of the jackpot."""
    for seed in range(10_000):
        house = _evening(seed, lambda state: any(box.jackpot for box in state.boxes))
        if {"funds-taken-back.v1", "jackpot-reversed.v1"} <= {r.type for r in house.records} and _players(house) == 1:
            return house
    raise LookupError("no such round")


def _evening(seed: int, void_when: Callable[[RoundState], bool]) -> Casino:
    house = Casino(seed_amount=10_000, together=0)
    house.welcome("player-1", "player-2", "player-3", amount=100_000)
    house.open_table(TABLE, GAME)
    for _ in house.play(Random(seed), GAME, TABLE, void_when):
        pass
    return house


def _players(house: Casino) -> int:
    return len({record.stream for record in house.records if record.type == "funds-staked.v1"})


def _cashier(house: Casino) -> None:
    player = next(record.stream for record in house.records if record.type == "funds-won.v1").rpartition(":")[2]

    def state() -> a.AccountState:
        return house.balance(player)

    house.cash(player, a.withdraw(state(), amount=20_000, by="cashier-1", reference="till 7"))
    house.cash(player, a.adjust(
        state(), amount=500, against=a.Against.BONUS, by="office-1", approver="office-2",
        reason="birthday", reference="campaign 12",
    ))  # fmt: skip
    seq = house.heads[house.account(player)][0]
    house.cash(player, a.reverse(
        state(), seq, a.CODEC.decode(house.bodies(house.account(player))[-1]).data, by="office-2",
        approver="office-1", reason="given to the wrong player", reference="campaign 12",
    ))  # fmt: skip


def _office(house: Casino) -> None:
    stream = t.table_stream(TABLE)
    state, settings = house.states[stream], house.settings[TABLE]
    pot = house.states[f"jackpot:{JACKPOT}"]
    changed = t.change_table(
        state, house.heads[stream][0] + 1, settings, settings, table=TABLE, ruleset=GAME, jackpot=pot,
        by="office-1", reason="new season",
    )  # fmt: skip
    assert not isinstance(changed, Refusal)
    house.next_append()
    house.append(t.CODEC, stream, [changed])
    closed = t.close_table(changed.after, table=TABLE, by="office-1", reason="end of season")
    assert not isinstance(closed, Refusal)
    house.next_append()
    house.append(t.CODEC, stream, [closed])


def activation_records() -> list[Record]:
    """Who proposed a ruleset version and who approved; the document before them has a page of its own."""
    stream = activation.ruleset_stream(GAME.name)
    published = activation.RulesetPublished(digest=GAME.digest.hex(), document=msgspec.to_builtins(GAME.document))
    proposed = activation.propose(published, name=GAME.name, by="manager-1", reason="tested in June")
    assert not isinstance(proposed, Refusal)
    approved = activation.approve(proposed, name=GAME.name, by="manager-2", reason="report 14 read")
    assert not isinstance(approved, Refusal)
    at = "2026-09-21T14:13:20.000Z"
    first = activation.CODEC.append_to(stream, None, [published], at)[0]
    return activation.CODEC.append_to(stream, (0, leaf_hash(first.body)), [proposed, approved], at)


def main() -> None:
    """Write the page."""
    PAGE.write_text(page_with_examples(), encoding="utf-8")


if __name__ == "__main__":
    main()
