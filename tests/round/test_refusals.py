"""Refusals: every code of the closed list has a request that meets it, and a sentence that a player understands.

The list has three parts; here are those of a round.  Those of the floor are met in `tests/ops/floor/test_refusals.py`,
those of the key custodian in `tests/ops/api`.

Not here: which clause forbids what (`tests/rules`).
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from domain.cards import CARD_TEXTS
from domain.deal.shuffle import FixedDeck
from domain.round import choices as c
from domain.round import events as e
from domain.round.decisions import advance, decide, open_round
from domain.round.refusals import Refusal, RefusalCode
from domain.round.state import RoundState, apply
from domain.rulesets import released_rulesets
from replay.scenario import run_scenario
from tests.round.simulated import Round, all_rulesets, simulated
from tests.rules.table import LIMITS, NO_GAME, Box, Laid, dark, game, house_version, limits, opened_state, picture

Code = RefusalCode
TRIPS = "6c 6d 6h 4s 3c"

# The parts as the list has them: a code that is added anywhere falls into one of them.
_CODES = list(RefusalCode)
_FLOOR, _KEYS = _CODES.index(Code.CURRENCY_UNKNOWN), _CODES.index(Code.KEY_UNKNOWN)
OF_A_ROUND, OF_THE_FLOOR, OF_THE_CUSTODIAN = _CODES[:_FLOOR], _CODES[_FLOOR:_KEYS], _CODES[_KEYS:]


def place(page: str, *choices: c.PlaceBox, funds: int | None = None, bonus: bool = True) -> Refusal:
    """The refusal of the last of these stakes."""
    ruleset = game(page) if bonus else house_version(page, bonus_stake=None)
    state = opened_state(ruleset)
    *earlier, last = choices
    for choice in earlier:
        assert not isinstance(advance(state, ruleset, None, choice), Refusal)
    last = c.PlaceBox(last.box, last.player, last.mode, last.ante, last.bonus, last.client_seed, funds)
    return refused(advance(state, ruleset, None, last))


def deal(choice: c.Deal, *, staked: bool = True) -> Refusal:
    """The refusal of a deal."""
    ruleset, state = game("RP"), opened_state(game("RP"))
    if staked:
        assert not isinstance(advance(state, ruleset, None, Box(1).place()), Refusal)
    return refused(advance(state, ruleset, FixedDeck(range(52)), choice))


def refused(answer: object) -> Refusal:
    """The answer, which must be a refusal."""
    assert isinstance(answer, Refusal), answer
    return answer


def opening(**values: Any) -> Refusal:
    """The refusal to open a round."""
    wanted: dict[str, Any] = {"table": "t", "number": 1, "currency": "EUR", "limits": LIMITS} | values
    return refused(open_round(game("RP"), **wanted, commitment=bytes(32), sealed_seed=""))


def scenario() -> Refusal:
    """A scenario whose box never decides; its refusal has no clause."""
    played = run_scenario(
        json.dumps(
            {
                "ruleset": "russian-poker@1",
                "deck": list(CARD_TEXTS),
                "boxes": [{"box": 1, "player": "p1", "mode": "open", "ante": 100}],
            }
        ),
        released_rulesets(),
    )
    return Refusal(played["refusal"]["code"], played["refusal"]["text"])


def of_another_player() -> Refusal:
    """Somebody decides for a box that is not his."""
    laid = Laid(game("RP"), Box(1, player="alice"))
    return refused(advance(laid.state, laid.ruleset, laid.deck, c.Bet(box=1, player="bob")))


def after_the_deal() -> Refusal:
    """A stake that comes too late."""
    laid = Laid(game("ORP"), Box(1))
    return refused(advance(laid.state, laid.ruleset, laid.deck, Box(2).place()))


MET: dict[RefusalCode, Callable[[], Refusal]] = {
    Code.NOT_WHOLE: lambda: place("RP", Box(1, ante=-1).place()),
    Code.TEXT_INVALID: lambda: opening(table="e\u0301"),
    Code.LIMITS_INVALID: lambda: opening(limits=limits(ante_min=10, ante_max=5)),
    Code.BOX_UNKNOWN: lambda: place("RP", Box(2).place()),
    Code.BOX_TAKEN: lambda: place("ORP", Box(1).place(), Box(1, player="p2").place()),
    Code.PLAYER_MISSING: lambda: place("RP", Box(1, player="").place()),
    Code.TOO_MANY_BOXES: lambda: place("FCP", *(Box(n).place() for n in (1, 2, 3))),
    Code.TOO_MANY_OPEN_BOXES: lambda: place("MRP", Box(1).place(), Box(2).place()),
    Code.TOO_MANY_DARK_BOXES: lambda: place("FCP", dark(1).place()),
    Code.BOXES_NOT_ADJACENT: lambda: place("ORP", Box(1).place(), Box(3).place()),
    Code.ANTES_NOT_EQUAL: lambda: place("ORP", Box(1).place(), Box(2, ante=20).place()),
    Code.ANTE_OFF_LIMITS: lambda: place("RP", Box(1, ante=0).place()),
    Code.ANTE_NOT_DIVISIBLE: lambda: place("FCP", Box(1, ante=11).place()),
    Code.BONUS_NOT_OFFERED: lambda: place("RP", Box(1, bonus=1).place(), bonus=False),
    Code.BONUS_OFF_LIMITS: lambda: place("RP", Box(1, bonus=11).place()),
    Code.CLIENT_SEED_TOO_LONG: lambda: place("RP", c.PlaceBox(1, "p1", e.Mode.OPEN, 10, client_seed=bytes(256))),
    Code.FUNDS_TOO_LOW: lambda: place("FCP", Box(1).place(), funds=44),
    Code.BETS_CLOSED: after_the_deal,
    Code.NO_BOXES: lambda: deal(c.Deal(), staked=False),
    Code.JACKPOT_INVALID: lambda: deal(c.Deal(jackpot=-1)),
    Code.BEACON_INVALID: lambda: deal(c.Deal(beacon=b"")),
    Code.NOT_DEALT: lambda: refused(decide(opened_state(game("RP")), game("RP"), None, c.Bet(box=1))),
    Code.NOT_YOUR_BOX: of_another_player,
    Code.OUT_OF_TURN: lambda: Laid(game("ORP"), Box(1), Box(2)).refusal("2 bet"),
    Code.ALREADY_DECIDED: lambda: Laid(game("ORP"), Box(1), Box(2)).say("1 bet").refusal("1 fold"),
    Code.NOT_OFFERED: lambda: Laid(game("FCP"), Box(1)).refusal("1 sixth"),
    Code.DARK_BOX: lambda: Laid(game("ORP"), Box(1), dark(2)).refusal("2 fold"),
    Code.ALREADY_DREW: lambda: Laid(game("RP"), Box(1)).say("1 sixth").refusal("1 sixth"),
    Code.DISCARD_INVALID: lambda: Laid(game("RP"), Box(1)).refusal("1 exchange 0 0"),
    Code.TOO_MANY_CARDS: lambda: Laid(game("FCP"), Box(1)).refusal("1 exchange 0 1 2"),
    Code.INSURED: lambda: Laid(game("RP"), Box(1, TRIPS)).say("1 insure 10").refusal("1 fold"),
    Code.HAND_TOO_LOW: lambda: Laid(game("RP"), Box(1, NO_GAME)).refusal("1 insure 10"),
    Code.INSURANCE_OFF_LIMITS: lambda: Laid(game("RP"), Box(1, TRIPS)).refusal("1 insure 61"),
    Code.DEALER_GAME_NOT_FOR_SALE: lambda: Laid(game("RP"), Box(1)).refusal("1 buy"),
    Code.ROUND_ENDED: lambda: Laid(game("RP"), Box(1)).say("1 fold").refusal("1 bet"),
    Code.TOO_LATE_TO_VOID: lambda: Laid(game("RP"), Box(1)).say("1 fold").refusal("void late"),
    Code.REASON_MISSING: lambda: Laid(game("RP"), Box(1)).refusal("void"),
    Code.DECISION_MISSING: scenario,
}


def test_every_code_of_a_round_is_met() -> None:
    """A code that nothing meets goes; a new code gets a row in MET."""
    assert set(MET) == set(OF_A_ROUND)


@pytest.mark.parametrize("code", list(MET))
def test_each_refusal_has_its_code_and_one_clear_sentence(code: RefusalCode) -> None:
    """Whole sentences with the figures of the case; nothing that only a programmer reads."""
    refusal = MET[code]()

    assert refusal.code == code
    if code is Code.LIMITS_INVALID:  # no player sees it: whoever sets a table up is told the field
        assert refusal.text == "limits.ante_min: is above ante_max."
    else:
        assert complaints(refusal.text) == []
    assert refusal.clause is None or re.fullmatch(r"(RP|ORP|FCP|MRP)-\d+\.\d+", refusal.clause)


def test_codes_are_stable_words() -> None:
    """Callers may store them: lower-case words with hyphens, each once, the name of the member in small."""
    assert [code.value for code in RefusalCode] == [code.name.lower().replace("_", "-") for code in RefusalCode]


@pytest.mark.parametrize("text", ["e\u0301", "\ud800", "x" * 1001], ids=["not composed", "half a pair", "too long"])
def test_text_that_a_record_cannot_hold_is_refused_before_it_is_recorded(text: str) -> None:
    """Names and reasons go into stored bodies: NFC, encodable, of a bounded length."""
    answers = [
        opening(table=text),
        opening(currency=text),
        place("RP", Box(1, player=text).place()),
        Laid(game("RP"), Box(1)).refusal(f"void {text}"),
    ]

    assert [answer.code for answer in answers] == [Code.TEXT_INVALID] * 4


JARGON = re.compile(r"[<>{}_]|\b(None|True|False|Mode|Box\w+\(|Struct|tuple|dict|int|str|NoneType|self|object)\b")


def complaints(text: str) -> list[str]:
    """What is wrong with a refusal's sentence."""
    found = []
    if not (text and text[0].isupper() and text.endswith(".") and "\n" not in text):
        found.append("not one line from a capital to a full stop")
    return found + [f"jargon: {word.group()}" for word in JARGON.finditer(text)]


@pytest.mark.parametrize(
    "choice",
    [
        Box(1).place(), c.Deal(), c.Exchange(box=1, discard=(0,)), c.SixthCard(box=1), c.DeclineSixthCard(box=1),
        c.Insure(box=1, stake=10), c.Bet(box=1), c.Fold(box=1), c.BuyDealerGame(box=1), c.TakeAnte(box=1),
        c.Void("a fault"),
    ],
    ids=lambda choice: type(choice).__name__,
)  # fmt: skip
def test_a_round_that_was_not_opened_takes_no_choice(choice: c.Choice) -> None:
    """The first fact of a round is its opening (rule 4.4); there is nothing to stake on, decide or void before it."""
    for page in ("RP", "ORP", "FCP", "MRP"):
        refused(decide(RoundState(), game(page), None, choice))


# -- whatever is asked for, at whatever moment


def any_choice(random: Random) -> c.Choice:
    """A request from somebody who does not know the rules."""
    box = random.randint(0, 5)
    funds = random.choice((None, None, None, 0, 150, 10_000))
    player = random.choice((None, None, "player-1", "player-2", "nobody"))
    asked: dict[str, Any] = {"box": box, "funds": funds, "player": player}
    return random.choice(
        (
            lambda: c.PlaceBox(box, player or "", random.choice(list(e.Mode)), random.choice((0, 75, 100, 101, 300))),
            lambda: c.Deal(random.choice((-1, 0, 10**15)), random.choice((None, b"", bytes(32)))),
            lambda: c.Exchange(**asked, discard=tuple(random.choices(range(-1, 6), k=random.randint(0, 6)))),
            lambda: c.SixthCard(**asked),
            lambda: c.DeclineSixthCard(**asked),
            lambda: c.Insure(**asked, stake=random.choice((-1, 0, 100, 150, 500, 10**9))),
            lambda: c.Bet(**asked),
            lambda: c.Fold(**asked),
            lambda: c.BuyDealerGame(**asked),
            lambda: c.TakeAnte(**asked),
            lambda: c.Void(random.choice(("", "a fault"))),
        )
    )()


def at_some_moment(whole: Round, random: Random) -> RoundState:
    """The round as it stood after one of its appends, the seed not revealed yet or already."""
    state = RoundState()
    for append in whole.appends[: random.randint(1, len(whole.appends))]:
        for event in append:
            apply(state, event)
    return state


@given(name=st.sampled_from(sorted(all_rulesets())), seed=st.integers(0, 9), asked=st.integers(0, 2**32))
@settings(max_examples=300, deadline=None)
def test_any_request_is_decided_or_refused_without_touching_the_state(name: str, seed: int, asked: int) -> None:
    """`decide` never moves the state it is given; `advance` moves it as the events say, or not at all."""
    whole, random = simulated(name, seed), Random(asked)
    state = at_some_moment(whole, random)
    before = picture(state)
    for choice in (any_choice(random) for _ in range(6)):
        answer = decide(state, whole.ruleset, whole.deck, choice)
        assert picture(state) == before

        moved = state.copy()
        assert advance(moved, whole.ruleset, whole.deck, choice) == answer
        if isinstance(answer, Refusal):
            assert complaints(answer.text) == [], answer
            assert picture(moved) == before
        else:
            told = state.copy()
            for event in answer:
                apply(told, event)
            assert picture(told) == picture(moved)
            assert picture(state) == before


def test_decide_never_moves_the_state_of_a_whole_round() -> None:
    """Each step of the rounds of the rule tests, decided twice from the same state."""
    laid = Laid(game("ORP"), Box(1, TRIPS, bonus=10), dark(2, bonus=10), dealer=NO_GAME, draws="Ts 9s")
    for choice in (c.SixthCard(box=1), c.Insure(box=1, stake=10), c.Bet(box=1), c.BuyDealerGame(box=1)):
        before = picture(laid.state)
        first = decide(laid.state, laid.ruleset, laid.deck, choice)
        assert picture(laid.state) == before
        assert decide(laid.state, laid.ruleset, laid.deck, choice) == first
        assert laid.choose(choice) == first
