"""A player's account: what each decision gives or refuses, and that money only moves.

Not here: what a round moves (`test_ledger`), whole journals (tests/replay), the appends (tests/ops).
"""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from domain import account as a
from domain.account import LARGEST_BALANCE, NEW_ACCOUNT, AccountState, Against, Ending, InPlay
from domain.ledger import Entry, Line, Move, Wager
from domain.round.refusals import Refusal, RefusalCode

R1, R2 = "1" * 32, "2" * 32
ROUND = a.Round(R1, "vip-1", 7, "grand")


def state(balance: int, *plays: InPlay) -> AccountState:
    return AccountState(balance, list(plays))


def play(round_id: str = R1, *, before: int = 0, reserved: int = 0, returned: int = 0, staked: int = 0) -> InPlay:
    return InPlay(before, reserved, returned, round_id, 0, staked)


def code(made: object) -> RefusalCode | None:
    return made.code if isinstance(made, Refusal) else None


# -- opening


def test_an_account_opens_empty() -> None:
    opened = a.open_account(None, player="ann", currency="EUR", by="till-1", test=True)

    assert opened == a.AccountOpened(after=NEW_ACCOUNT, by="till-1", currency="EUR", player="ann", test=True)


@pytest.mark.parametrize(
    ("player", "currency", "there", "refused"),
    [
        ("", "EUR", None, RefusalCode.TEXT_INVALID),
        ("a:b", "EUR", None, RefusalCode.TEXT_INVALID),
        (".ann", "EUR", None, RefusalCode.TEXT_INVALID),
        ("ann\n", "EUR", None, RefusalCode.TEXT_INVALID),
        ("änn", "EUR", None, RefusalCode.TEXT_INVALID),
        ("a" * 65, "EUR", None, RefusalCode.TEXT_INVALID),
        ("ann", "EUX", None, RefusalCode.CURRENCY_UNKNOWN),
        ("ann", "eur", None, RefusalCode.CURRENCY_UNKNOWN),
        ("ann", "EUR", NEW_ACCOUNT, RefusalCode.ACCOUNT_EXISTS),
    ],
)
def test_an_account_that_cant_be_opened(
    player: str, currency: str, there: AccountState | None, refused: RefusalCode
) -> None:
    assert code(a.open_account(there, player=player, currency=currency, by="till-1", test=False)) is refused


@pytest.mark.parametrize("name", ["a", "7", "A.b_c-d", "a" * 64])
def test_names_of_players_tables_and_jackpots(name: str) -> None:
    assert a.is_name(name)


# -- cash


def deposit(before: AccountState, amount: int) -> a.FundsDeposited | Refusal:
    return a.deposit(before, amount=amount, by="till-1", reference="r")


def withdraw(before: AccountState, amount: int) -> a.FundsWithdrawn | Refusal:
    return a.withdraw(before, amount=amount, by="till-1", reference="r")


def adjust(before: AccountState, amount: int, **others: str) -> a.FundsAdjusted | Refusal:
    texts = {"by": "ann", "approver": "bob", "reason": "why", "reference": "r"} | others
    return a.adjust(before, amount=amount, against=Against.BONUS, **texts)


def test_money_comes_in_from_outside() -> None:
    made = deposit(state(5), 100)

    assert isinstance(made, a.FundsDeposited)
    assert made.after == state(105)
    assert made.lines == [Line("cash", -100), Line("player", 100)]


def test_money_goes_out() -> None:
    made = withdraw(state(105), 100)

    assert isinstance(made, a.FundsWithdrawn)
    assert made.after == state(5)
    assert made.lines == [Line("cash", 100), Line("player", -100)]


def test_a_gift_comes_from_the_bonus_fund_and_a_charge_goes_there() -> None:
    gift, charge = adjust(state(5), 100), adjust(state(105), -100)

    assert isinstance(gift, a.FundsAdjusted) and isinstance(charge, a.FundsAdjusted)
    assert (gift.after, gift.lines) == (state(105), [Line("bonus", -100), Line("player", 100)])
    assert (charge.after, charge.lines) == (state(5), [Line("bonus", 100), Line("player", -100)])


@pytest.mark.parametrize("amount", [0, -1, LARGEST_BALANCE + 1, True, 1.0, "1", None])
@pytest.mark.parametrize("made", [deposit, withdraw])
def test_an_amount_is_a_whole_number_above_zero(
    made: Callable[[AccountState, int], object], amount: int
) -> None:
    assert code(made(state(LARGEST_BALANCE // 2), amount)) is RefusalCode.NOT_WHOLE


@pytest.mark.parametrize(
    ("made", "refused"),
    [
        (deposit(state(LARGEST_BALANCE), 1), RefusalCode.BALANCE_TOO_LARGE),
        (deposit(state(1), LARGEST_BALANCE), RefusalCode.BALANCE_TOO_LARGE),
        (adjust(state(LARGEST_BALANCE), 1), RefusalCode.BALANCE_TOO_LARGE),
        (withdraw(state(99), 100), RefusalCode.FUNDS_TOO_LOW),
        (adjust(state(99), -100), RefusalCode.FUNDS_TOO_LOW),
        (withdraw(state(100, play(returned=1)), 100), RefusalCode.FUNDS_TOO_LOW),
        (withdraw(state(100, play(reserved=1)), 100), RefusalCode.FUNDS_TOO_LOW),
        (adjust(state(9), 5, approver="ann"), RefusalCode.SAME_PERSON),
        (adjust(state(9), 5, reason=" "), RefusalCode.REASON_MISSING),
        (adjust(state(9), 5, reference=""), RefusalCode.TEXT_INVALID),
        (adjust(state(9), 5, approver=""), RefusalCode.TEXT_INVALID),
        (adjust(state(9), 5, reason="x" * 1001), RefusalCode.TEXT_INVALID),
        (adjust(state(9), 0), RefusalCode.NOT_WHOLE),
        (a.deposit(state(0), amount=1, by="t", reference="\ud800"), RefusalCode.TEXT_INVALID),
    ],
)
def test_cash_that_is_refused(made: object, refused: RefusalCode) -> None:
    assert code(made) is refused


def test_the_last_unit_may_be_withdrawn() -> None:
    assert isinstance(withdraw(state(100), 100), a.FundsWithdrawn)
    assert isinstance(deposit(state(LARGEST_BALANCE - 1), 1), a.FundsDeposited)


@given(balance=st.integers(0, 10**9), amount=st.integers(1, 10**9))
def test_a_reversal_brings_the_balance_back(balance: int, amount: int) -> None:
    """Whatever was done; the lines are those of the undone event with the other sign."""
    before = state(balance + amount)
    for made in (deposit(before, amount), withdraw(before, amount), adjust(before, amount), adjust(before, -amount)):
        assert isinstance(made, a.CashEvent)
        undone = a.reverse(made.after, 3, made, by="ann", approver="bob", reason="typo", reference="r")
        assert isinstance(undone, a.FundsReversed)
        assert undone.after == before
        assert undone.reverses == 3
        assert undone.lines == [Line(line.account, -line.amount) for line in made.lines]
        assert undone.amount == before.balance - made.after.balance


@pytest.mark.parametrize(
    "event",
    [
        None,
        a.AccountOpened(after=NEW_ACCOUNT, by="x", currency="EUR", player="p", test=False),
        a.FundsReversed(
            after=NEW_ACCOUNT, amount=1, approver="x", by="y", lines=[], reason="r", reference="r", reverses=1
        ),
        a.FundsStaked(after=NEW_ACCOUNT, lines=[], postings=[], round=R1),
    ],
)
def test_what_is_no_cash_cant_be_reversed(event: a.AccountEvent | None) -> None:
    made = a.reverse(state(100), 3, event, by="ann", approver="bob", reason="typo", reference="r")

    assert code(made) is RefusalCode.NOT_REVERSIBLE


def test_a_reversal_needs_two_people_a_reason_and_the_money() -> None:
    made = deposit(state(0), 100)
    assert isinstance(made, a.FundsDeposited)

    def reverse(before: AccountState, approver: str = "bob", reason: str = "typo") -> RefusalCode | None:
        return code(a.reverse(before, 1, made, by="ann", approver=approver, reason=reason, reference="r"))

    assert reverse(state(100), approver="ann") is RefusalCode.SAME_PERSON
    assert reverse(state(100), reason="") is RefusalCode.REASON_MISSING
    assert reverse(state(99)) is RefusalCode.FUNDS_TOO_LOW
    assert reverse(state(100)) is None


# -- what is available


@pytest.mark.parametrize(
    ("plays", "outside", "in_the_first"),
    [
        ((), 1000, 1000),
        ((play(R1, returned=300),), 700, 1000),
        ((play(R1, reserved=200),), 800, 1000),
        ((play(R1, returned=300, reserved=200),), 700, 1000),
        ((play(R1, returned=100, reserved=200),), 800, 1000),
        ((play(R1, returned=100), play(R2, returned=50)), 850, 950),
        ((play(R1), play(R2, reserved=50)), 950, 950),
    ],
)
def test_what_a_round_holds_is_not_available_elsewhere(
    plays: tuple[InPlay, ...], outside: int, in_the_first: int
) -> None:
    """Of what was returned and what is reserved the larger, so that a void can always take back what was paid."""
    account = state(1000, *plays)

    assert account.available() == outside
    assert account.available(R1) == in_the_first


def test_funds_in_play_are_the_stakes_of_open_rounds() -> None:
    account = state(100, play(R1, staked=300), play(R2, staked=50))

    assert account.funds_in_play == 350
    assert account.playing(R2) == play(R2, staked=50)
    assert account.playing("3" * 32) is None


# -- a round


def move(entry: Entry, amount: int, wager: Wager = Wager.ANTE, seq: int = 1, box: int = 1) -> Move:
    return Move(seq, box, "ann", entry, wager, amount)


def post(
    before: AccountState, *moved: Move, reserved: int = 0, ending: Ending | None = None, **others: object
) -> list[a.AccountEvent]:
    return a.post(before, 5, ROUND, moved, reserved=reserved, ending=ending, **others)  # type: ignore[arg-type]


def test_the_first_stake_notes_what_was_before() -> None:
    [staked] = post(state(1000), move(Entry.STAKED, 300), reserved=40)

    assert staked == a.FundsStaked(
        after=state(700, InPlay(1000, 40, 0, R1, 5, 300)),
        lines=[Line("bank", 300), Line("player", -300)],
        postings=[a.Posting(300, 1, 1, Wager.ANTE)],
        round=R1,
    )


def test_an_append_posts_once_a_kind_in_the_order_of_kinds() -> None:
    """Staked, returned, won, taken back, then the end; each follows from the one before."""
    moved = [
        move(Entry.STAKED, 100, seq=1), move(Entry.WON, 50, seq=2), move(Entry.RETURNED, 100, seq=3),
        move(Entry.WON, 7, Wager.BET, seq=3), move(Entry.TAKEN_BACK, 5, seq=4),
    ]  # fmt: skip

    events = post(state(1000), *moved, ending=Ending.CLOSED)

    assert [type(event) for event in events] == [
        a.FundsStaked, a.FundsReturned, a.FundsWon, a.FundsTakenBack, a.RoundFinished
    ]  # fmt: skip
    assert [event.after.balance for event in events] == [900, 1000, 1057, 1052, 1052]
    finished = events[-1]
    assert isinstance(finished, a.RoundFinished)
    assert (finished.before, finished.staked, finished.returned, finished.net) == (1000, 100, 152, 52)
    assert (finished.since, finished.number, finished.table, finished.after.in_play) == (5, 7, "vip-1", [])


def test_what_is_staked_after_a_payment_of_the_same_append_comes_after_it() -> None:
    """A bonus that was won may be bet at once by one who has nothing else: no balance is below zero on the way."""
    moved = [
        move(Entry.STAKED, 100, seq=1), move(Entry.WON, 60, Wager.BONUS, seq=2),
        move(Entry.STAKED, 60, Wager.BET, seq=3), move(Entry.RETURNED, 160, seq=4),
    ]  # fmt: skip

    events = post(state(100), *moved)

    assert [type(event) for event in events] == [a.FundsStaked, a.FundsWon, a.FundsStaked, a.FundsReturned]
    assert [event.after.balance for event in events] == [0, 60, 0, 160]


def test_a_round_that_moved_nothing_posts_nothing() -> None:
    assert post(state(1000)) == []


def test_other_rounds_in_play_are_kept_in_the_order_of_their_ids() -> None:
    other = play("0" * 32, returned=9)

    [staked] = post(state(1000, play(R2), other), move(Entry.STAKED, 1))

    assert [each.round for each in staked.after.in_play] == ["0" * 32, R1, R2]
    assert other in staked.after.in_play


@pytest.mark.parametrize(
    ("from_bank", "expected"),
    [
        ({}, [Line("jackpot:grand", -90), Line("player", 90)]),
        ({1: 30}, [Line("bank", -30), Line("jackpot:grand", -60), Line("player", 90)]),
        ({1: 90}, [Line("bank", -90), Line("player", 90)]),
        ({2: 30}, [Line("jackpot:grand", -90), Line("player", 90)]),
    ],
)
def test_a_jackpot_is_paid_by_the_pot_and_the_rest_by_the_bank(
    from_bank: dict[int, int], expected: list[Line]
) -> None:
    [won] = post(state(0), move(Entry.WON, 90, Wager.JACKPOT), from_bank=from_bank)

    assert isinstance(won, a.FundsWon)
    assert won.lines == expected


def test_a_jackpot_that_is_taken_back_goes_to_the_pot_as_a_whole() -> None:
    [taken] = post(state(90), move(Entry.TAKEN_BACK, 90, Wager.JACKPOT), from_bank={1: 30})

    assert isinstance(taken, a.FundsTakenBack)
    assert taken.lines == [Line("jackpot:grand", 90), Line("player", -90)]


MOVES = st.lists(
    st.builds(
        Move,
        st.integers(0, 30), st.integers(1, 6), st.just("ann"), st.sampled_from(Entry), st.sampled_from(Wager),
        st.integers(1, 10**11),
    ),
    max_size=12,
)  # fmt: skip


@given(moved=MOVES, balance=st.integers(0, 10**15), reserved=st.integers(0, 10**6), ending=st.sampled_from(Ending))
def test_money_is_only_moved(moved: list[Move], balance: int, reserved: int, ending: Ending) -> None:
    """The lines of every event sum to zero, the player's line is what the balance changed by, nothing is left over."""
    before = state(balance, play(R2, returned=5))
    events = post(before, *moved, reserved=reserved, ending=ending, from_bank={1: 0})

    last = before
    for event in events[:-1]:
        assert isinstance(event, a.RoundEntry)
        assert sum(line.amount for line in event.lines) == 0
        assert all(line.amount for line in event.lines)
        player = sum(line.amount for line in event.lines if line.account == "player")
        assert event.after.balance - last.balance == player
        playing = event.after.playing(R1)
        assert playing is not None and playing.reserved == reserved
        assert event.after.playing(R2) == play(R2, returned=5)
        last = event.after
    finished = events[-1]
    assert isinstance(finished, a.RoundFinished)
    assert finished.after.in_play == [play(R2, returned=5)]
    assert finished.net == finished.after.balance - balance
    assert sum(len(event.postings) for event in events if isinstance(event, a.RoundEntry)) == len(moved)
