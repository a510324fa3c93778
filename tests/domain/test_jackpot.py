"""A jackpot: fed, won, started again, reversed; who was promised a share gets it, and no pot is paid twice.

Source: docs/rules, clause 5.3.

Not here: the winners' accounts (`test_account`), races for one pot (tests/ops).
"""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from domain import jackpot as j
from domain.jackpot import JackpotState
from domain.ledger import Line
from domain.money import LARGEST_POT
from domain.round import events as e
from domain.round.refusals import Refusal, RefusalCode
from domain.ruleset import load_ruleset

RULESET = load_ruleset(Path("tests/rulesets/frequent-jackpot@1.json").read_bytes())
WHOLE = next(str(kind) for kind, share in RULESET.jackpot_shares.items() if share[0] == share[1])
ROUND = "1" * 32


def names() -> dict[bool, str]:
    """A combination that wins the whole pot, and one that wins a part."""
    from domain.hands import COMBINATION_NAMES

    return {
        share[0] == share[1]: COMBINATION_NAMES[kind] for kind, share in RULESET.jackpot_shares.items()
    }


NAMES = names()


def state(pot: int, seed_amount: int = 1000) -> JackpotState:
    return JackpotState("EUR", pot, seed_amount)


def dealt(pot: int) -> e.CardsDealt:
    return e.CardsDealt(beacon=None, jackpot=pot, upcard="2c")


def won(amount: int, *, whole: bool = False, box: int = 1) -> e.JackpotWon:
    return e.JackpotWon(amount=amount, box=box, combination=NAMES[whole], pot=0)


def follow(before: JackpotState, *events: e.RoundEvent, first_seq: int = 10) -> list[j.JackpotEvent]:
    return j.follow(before, "grand", ROUND, events, first_seq, RULESET)


def test_the_bank_puts_the_seed_amount_into_a_new_pot() -> None:
    opened = j.open_jackpot(None, jackpot="grand", currency="EUR", seed_amount=1000, by="office-1")

    assert isinstance(opened, j.JackpotOpened)
    assert opened.after == state(1000)
    assert opened.lines == [Line("bank", -1000), Line("jackpot:grand", 1000)]


@pytest.mark.parametrize(
    ("name", "currency", "seed_amount", "there", "refused"),
    [
        ("a b", "EUR", 1, None, RefusalCode.TEXT_INVALID),
        ("grand", "EUX", 1, None, RefusalCode.CURRENCY_UNKNOWN),
        ("grand", "EUR", -1, None, RefusalCode.NOT_WHOLE),
        ("grand", "EUR", True, None, RefusalCode.NOT_WHOLE),
        ("grand", "EUR", LARGEST_POT + 1, None, RefusalCode.NOT_WHOLE),
        ("grand", "EUR", 1, state(1), RefusalCode.JACKPOT_EXISTS),
    ],
)
def test_a_jackpot_that_cant_be_opened(
    name: str, currency: str, seed_amount: int, there: JackpotState | None, refused: RefusalCode
) -> None:
    made = j.open_jackpot(there, jackpot=name, currency=currency, seed_amount=seed_amount, by="office-1")

    assert isinstance(made, Refusal) and made.code is refused


def test_a_deal_feeds_the_pot_with_all_contributions_at_once() -> None:
    shares = [e.JackpotContributed(amount=3, box=1), e.JackpotContributed(amount=4, box=2)]

    [fed] = follow(state(1000), dealt(1000), *shares)

    assert isinstance(fed, j.JackpotFed)
    assert (fed.amount, fed.after) == (7, state(1007))
    assert fed.lines == [Line("bank", -7), Line("jackpot:grand", 7)]


def test_a_deal_whose_contributions_round_down_to_nothing_is_noted() -> None:
    """The round's shares follow from this place in the order of the pot's events."""
    [fed] = follow(state(1000), dealt(1000))

    assert isinstance(fed, j.JackpotFed)
    assert (fed.amount, fed.lines, fed.after) == (0, [], state(1000))


def test_a_part_of_the_pot_is_paid_and_the_rest_stays() -> None:
    [paid] = follow(state(1500), won(400), first_seq=12)

    assert paid == j.JackpotPaid(after=state(1100), box=1, from_bank=0, from_pot=400, round=ROUND, seq=12)


def test_a_pot_that_was_won_as_a_whole_starts_again_from_its_seed_amount() -> None:
    paid, restarted = follow(state(1500), won(1500, whole=True))

    assert isinstance(paid, j.JackpotPaid) and paid.after == state(0)
    assert isinstance(restarted, j.JackpotRestarted)
    assert (restarted.amount, restarted.after) == (1000, state(1000))
    assert restarted.lines == [Line("bank", -1000), Line("jackpot:grand", 1000)]


def test_a_part_that_leaves_less_than_the_seed_amount_starts_nothing() -> None:
    assert len(follow(state(1500), won(1400))) == 1


def test_the_bank_pays_what_the_pot_no_longer_has() -> None:
    """Two rounds were dealt with the whole pot before them: the second winner gets it too, and the pot pays once."""
    first, again = follow(state(1500), won(1500, whole=True))
    second, *_ = follow(again.after, won(1500, whole=True))

    assert isinstance(first, j.JackpotPaid) and isinstance(second, j.JackpotPaid)
    assert (first.from_pot, first.from_bank) == (1500, 0)
    assert (second.from_pot, second.from_bank) == (1000, 500)


def test_two_boxes_of_one_append_are_paid_one_after_the_other() -> None:
    paid, other, restarted = follow(state(1500), won(1500, whole=True), won(300, box=2))

    assert isinstance(paid, j.JackpotPaid) and isinstance(other, j.JackpotPaid)
    assert (paid.from_pot, other.from_pot, other.from_bank) == (1500, 0, 300)
    assert (paid.seq, other.seq) == (10, 11)
    assert isinstance(restarted, j.JackpotRestarted) and restarted.after == state(1000)


def voided(contributions: int) -> e.RoundVoided:
    return e.RoundVoided(jackpot_reversed=contributions, reason="fire", refunds=[])


def test_a_void_undoes_what_the_round_did_to_the_pot() -> None:
    """Rule 10.2: the contributions go to the bank, the winnings come back."""
    reversed_ = j.reverse(state(607), "grand", ROUND, voided(7), 400)

    assert reversed_.after == state(1000)
    assert (reversed_.contributions, reversed_.winnings) == (7, 400)
    assert reversed_.lines == [Line("bank", 7), Line("jackpot:grand", -7)]


def test_a_void_never_takes_more_than_the_pot_has() -> None:
    reversed_ = j.reverse(state(3), "grand", ROUND, voided(7), 0)

    assert (reversed_.contributions, reversed_.after.pot) == (3, 0)


@given(
    pot=st.integers(0, 10**9),
    shares=st.lists(st.integers(0, 10**6), max_size=4),
    wins=st.lists(st.tuples(st.integers(1, 10**9), st.booleans()), max_size=3),
)
def test_no_unit_is_lost_and_no_pot_falls_below_zero(
    pot: int, shares: list[int], wins: list[tuple[int, bool]]
) -> None:
    """What came in less what went out is the pot; every winner gets the whole share."""
    contributed = [e.JackpotContributed(amount=amount, box=box) for box, amount in enumerate(shares, 1)]
    winners = [won(amount, whole=whole, box=box) for box, (amount, whole) in enumerate(wins, 1)]

    events = follow(state(pot), dealt(pot), *contributed, *winners)

    last = pot
    for event in events:
        into_pot = sum(line.amount for line in getattr(event, "lines", ()) if line.account == "jackpot:grand")
        out_of_pot = event.from_pot if isinstance(event, j.JackpotPaid) else 0
        assert sum(line.amount for line in getattr(event, "lines", ())) == 0
        assert event.after.pot == last + into_pot - out_of_pot >= 0
        last = event.after.pot
    paid = [event.from_pot + event.from_bank for event in events if isinstance(event, j.JackpotPaid)]
    assert paid == [amount for amount, _ in wins]
