"""What `balances`, `cash`, `players` and `jackpots` must hold.  Source: docs/formats/accounts.md and the tables' texts.

What a player has is counted from the amounts of his desk and the postings of his rounds, never from the state that an
event carries, nor from its lines; what the house has, from the lines.  Each row looks through the whole journal.

Not here: rounds (`projected_rounds`).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from domain import account as a
from domain import jackpot as j
from tests.reference.projected_journal import (
    Journal,
    Row,
    Seen,
    for_tests,
    of_kind,
    of_stream,
    quarter,
    streams_of,
    summed,
)


class Side(NamedTuple):
    """What one of the house's accounts got by one event."""

    position: int
    currency: str
    account: str
    amount: int


class Stake(NamedTuple):
    """What a player put into a round by one event, and where the round ended for him (None: it has not)."""

    position: int
    currency: str
    player: str
    amount: int
    until: int | None


def got(seen: Seen) -> int:
    """What the player got by an event of his account; less than nothing where he gave."""
    event = seen.event
    match event:
        case a.FundsDeposited() | a.FundsAdjusted() | a.FundsReversed():
            return int(event.amount)
        case a.FundsWithdrawn():
            return -int(event.amount)
        case a.FundsReturned() | a.FundsWon():
            return sum(posting.amount for posting in event.postings)
        case a.FundsStaked() | a.FundsTakenBack():
            return -sum(posting.amount for posting in event.postings)
    return 0


def balance_at(journal: Journal, account: tuple[str, str], position: int) -> int:
    """What a player had after the event at a position."""
    stream = f"account:{account[0]}:{account[1]}"
    return sum(got(seen) for seen in journal if seen.stream == stream and seen.position <= position)


def house_sides(journal: Journal) -> list[Side]:
    """What the accounts of the house got."""
    currencies = {seen.stream: seen.event.after.currency for seen in of_kind(journal, j.JackpotOpened)}
    return [
        Side(seen.position, currencies.get(seen.stream) or seen.account[0], line.account, line.amount)
        for seen in journal
        if seen.kind in ("account", "jackpot")
        for line in getattr(seen.event, "lines", ())
        if line.account != "player"
    ]


def stakes_in_play(journal: Journal) -> list[Stake]:
    """All that was staked, and for how long it was in play."""
    finished = {(seen.stream, seen.event.round): seen.position for seen in of_kind(journal, a.RoundFinished)}
    return [
        Stake(seen.position, *seen.account, -got(seen), finished.get((seen.stream, seen.event.round)))
        for seen in of_kind(journal, a.FundsStaked)
    ]


def in_play_at(stakes: list[Stake], currency: str, position: int, player: str | None = None) -> int:
    """The funds in play after the event at a position, of one player or of all."""
    return sum(
        stake.amount
        for stake in stakes
        if stake.currency == currency and player in (None, stake.player)
        and stake.position <= position and (stake.until is None or stake.until > position)
    )  # fmt: skip


# -- balances


def balance(journal: Journal) -> list[Row]:
    """One row an account."""
    sides, stakes, tests, end = house_sides(journal), stakes_in_play(journal), for_tests(journal), journal[-1].position
    rows: list[Row] = []
    for stream in streams_of(journal, "account"):
        own = of_stream(journal, stream)
        currency, player = account = own[0].account
        rows.append((
            currency, f"player:{player}", account in tests, balance_at(journal, account, end),
            in_play_at(stakes, currency, end, player), len(own), own[-1].position,
        ))  # fmt: skip
    for currency, name in {(side.currency, side.account) for side in sides}:
        moved = [side for side in sides if (side.currency, side.account) == (currency, name)]
        amount = sum(side.amount for side in moved)
        rows.append((currency, name, False, amount, 0, len(moved), max(side.position for side in moved)))
    return rows


def ledger_entry(journal: Journal) -> list[Row]:
    """One row an event of an account or a jackpot."""
    sides, stakes, tests = house_sides(journal), stakes_in_play(journal), for_tests(journal)
    own = [seen for seen in journal if seen.kind == "account"]
    players = [Side(seen.position, seen.account[0], seen.stream, got(seen)) for seen in own]
    currencies = {seen.stream: seen.event.after.currency for seen in of_kind(journal, j.JackpotOpened)}
    rows: list[Row] = []
    for seen in journal:
        position, round_id = seen.position, getattr(seen.event, "round", None)
        if seen.kind == "account":
            currency, player = seen.account
            pots = [side.account for side in sides if side.position == position and side.account.startswith("jackpot:")]
            pot = pots[0].removeprefix("jackpot:") if pots else None
            whose: Row = player, pot, round_id, seen.account in tests
            after: Row = balance_at(journal, seen.account, position), in_play_at(stakes, currency, position, player)
        elif seen.kind == "jackpot":
            currency = currencies[seen.stream]
            whose, after = (None, seen.name, round_id, False), (None, None)
        else:
            continue
        here = [side for side in players + sides if side.position == position]
        before = [side for side in players + sides if side.position <= position and side.currency == currency]
        gained, totals = _five(here), _five(before)
        rows.append((
            position, seen.at, currency, seen.event.NAME, *whose, *gained, *after,
            totals[0], in_play_at(stakes, currency, position), *totals[1:],
        ))  # fmt: skip
    return rows


def _five(sides: list[Side]) -> tuple[int, int, int, int, int]:
    """What players, bank, bonus, cash and jackpots got."""
    def of(name: str) -> int:
        return sum(side.amount for side in sides if side.account.split(":", 1)[0] == name)

    return of("account"), of("bank"), of("bonus"), of("cash"), of("jackpot")


# -- cash and players


def cash(journal: Journal) -> list[Row]:
    """One row an event of the desk."""
    tests = for_tests(journal)
    rows: list[Row] = []
    for seen in of_kind(journal, a.FundsDeposited, a.FundsWithdrawn, a.FundsAdjusted, a.FundsReversed):
        event = seen.event
        approver = against = reason = reverses = None
        if isinstance(event, a.FundsAdjusted):
            approver, against, reason = event.approver, str(event.against), event.reason
        if isinstance(event, a.FundsReversed):
            approver, reason, reverses = event.approver, event.reason, event.reverses
        after = balance_at(journal, seen.account, seen.position)
        rows.append((
            seen.position, seen.at, *seen.account, event.NAME, got(seen), after,
            event.by, approver, against, reason, event.reference, reverses, seen.account in tests,
        ))  # fmt: skip
    return rows


def player_activity(journal: Journal, block: int) -> list[Row]:
    """Sums of a block of positions and a quarter of an hour."""
    tests = for_tests(journal)

    def said() -> Iterator[tuple[Row, list[int]]]:
        for seen in journal:
            if seen.kind == "account" and not isinstance(seen.event, a.AccountOpened):
                key = (seen.position // block, quarter(seen.at), *seen.account, seen.account in tests)
                yield key, _activity(seen)

    return summed(said())


def _activity(seen: Seen) -> list[int]:
    """Deposited, withdrawn, adjusted, reversed, to games, from games, rounds."""
    event, amount = seen.event, got(seen)
    return [
        amount if isinstance(event, a.FundsDeposited) else 0,
        -amount if isinstance(event, a.FundsWithdrawn) else 0,
        amount if isinstance(event, a.FundsAdjusted) else 0,
        amount if isinstance(event, a.FundsReversed) else 0,
        -amount if isinstance(event, a.FundsStaked) else 0,
        amount if isinstance(event, a.FundsReturned | a.FundsWon | a.FundsTakenBack) else 0,
        1 if isinstance(event, a.RoundFinished) else 0,
    ]


# -- jackpots


def jackpot_entry(journal: Journal) -> list[Row]:
    """One row an event of a jackpot; the pot is what all up to it have put in and taken out."""
    rows: list[Row] = []
    for stream in streams_of(journal, "jackpot"):
        own = of_stream(journal, stream)
        opened = own[0].event.after
        for seen in own:
            pot = sum(_grown(other) for other in own if other.position <= seen.position)
            rows.append((
                seen.position, seen.at, seen.name, opened.currency, seen.event.NAME, *_moved(seen), pot,
                getattr(seen.event, "round", None), getattr(seen.event, "box", None),
            ))  # fmt: skip
    return rows


def _moved(seen: Seen) -> tuple[int, int, int, int, int, int]:
    """Fed, paid, from the bank, restarted (a first start too), contributions reversed, winnings reversed."""
    event = seen.event
    return (
        event.amount if isinstance(event, j.JackpotFed) else 0,
        event.from_pot if isinstance(event, j.JackpotPaid) else 0,
        event.from_bank if isinstance(event, j.JackpotPaid) else 0,
        event.amount if isinstance(event, j.JackpotRestarted) else _seed_amount(seen),
        event.contributions if isinstance(event, j.JackpotReversed) else 0,
        event.winnings if isinstance(event, j.JackpotReversed) else 0,
    )


def _seed_amount(seen: Seen) -> int:
    """What the lines of an opening put into the pot; none are written where it is nothing."""
    lines = seen.event.lines if isinstance(seen.event, j.JackpotOpened) else ()
    return sum(line.amount for line in lines if line.account == seen.stream)


def _grown(seen: Seen) -> int:
    fed, paid, _, restarted, contributions, winnings = _moved(seen)
    return fed - paid + restarted - contributions + winnings


def jackpot(journal: Journal) -> list[Row]:
    """One row a pot, as it is now."""
    entries = jackpot_entry(journal)
    rows: list[Row] = []
    for stream in streams_of(journal, "jackpot"):
        own = of_stream(journal, stream)
        [pot] = [row[11] for row in entries if row[0] == own[-1].position]
        rows.append((
            own[0].name, own[0].event.after.currency, own[0].event.after.seed_amount, pot, own[0].position,
            own[-1].position,
        ))  # fmt: skip
    return rows
