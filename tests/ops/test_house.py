"""The house against a real journal: resumed at any point, refused without a trace, one writer a round.

Not here: whether the rules are right (`tests.rules`), how many rounds are played at once (`test_play`).
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from random import Random

import psycopg
import pytest

from domain.record import leaf_hash
from domain.round import choices as c
from domain.round import events as e
from domain.round.codec import append_to, decode
from domain.round.dealer import whose_turn
from domain.round.phases import Phase
from domain.round.refusals import Refusal, RefusalCode
from domain.round.state import BoxState, RoundState
from domain.ruleset import Ruleset
from domain.rulesets import released_rulesets
from ops import clock
from ops.cli.main import _mendable
from ops.house import House, LiveRound, UnknownRound
from ops.journal import Journal, JournalError, JournalUnavailable, RoundTaken, StreamConflict
from ops.keys import DataKey, SealError
from ops.simulation import next_choice, stakes
from replay.evidence import by_digest
from replay.verdict import Status
from replay.verify_round import verify_round

RULESETS = released_rulesets()
BY_DIGEST = by_digest(RULESETS.values())
KEY = DataKey("0123456789abcdef", bytes(range(32)))
OPEN = "open-russian-poker@1"
MULTIBOX = "multibox-russian-poker@1"


# -- playing, for the other tests of this folder too


def opened(house: House, ruleset: Ruleset, number: int = 1, table: str = "vip-1") -> LiveRound:
    """A fresh round."""
    live = house.open_round(ruleset, table=table, number=number, limits=ruleset.table_defaults, currency="EUR")
    assert not isinstance(live, Refusal)
    return live


def next_choices(random: Random, live: LiveRound) -> list[c.Choice]:
    """What simulated players choose next: the stakes and the deal together, then choice by choice."""
    if live.state.phase is Phase.BETTING:
        return [*stakes(random, live.ruleset, live.ruleset.table_defaults), c.Deal(jackpot=1_000)]
    return [next_choice(random, live.ruleset, live.state)]


def made(house: House, live: LiveRound, *choices: c.Choice, command_id: str | None = None) -> list[e.RoundEvent]:
    """Events of choices that the rules allow."""
    events = house.choose(live, *choices, command_id=command_id)
    assert not isinstance(events, Refusal), events
    return events


def played_out(house: House, live: LiveRound, random: Random) -> LiveRound:
    """The round, played to its end."""
    while live.state.phase is not Phase.ENDED:
        made(house, live, *next_choices(random, live))
    return live


def bodies_of(journal: Journal, stream: str) -> list[bytes]:
    """A round's stored bodies, by seq."""
    return [body for _, bodies in journal.read_rounds(stream, stream) for body in bodies]


def status_of(journal: Journal, stream: str) -> Status:
    """The verdict on a stored round."""
    return verify_round(stream, bodies_of(journal, stream), BY_DIGEST).status


def everything(live: LiveRound) -> dict[str, object]:
    """All that a round in hand says, in values that can be compared."""
    return {
        "stream": live.stream,
        "ruleset": live.ruleset.name,
        "head": live.head,
        "last_at": live.last_at,
        "state": plain(live.state),
        "turn": getattr(whose_turn(live.state, live.ruleset), "box", None),
        "deck": None if live.deck is None else list(live.deck.cards(0, 52)),
        "beacon": live.beacon,
    }


def plain(value: object) -> object:
    """A value of a state, its boxes opened up; hands are judged when they are asked for, so they are left out."""
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    if isinstance(value, RoundState | BoxState):
        fields = {*getattr(value, "__slots__", ()), *getattr(value, "__dict__", ())} - {"dealer_judged", "hand"}
        return {name: plain(getattr(value, name)) for name in fields}
    return value


# -- fixtures


@pytest.fixture
def journal(migrated_database_url: str) -> Iterator[Journal]:
    with Journal.open(migrated_database_url) as journal:
        yield journal


@pytest.fixture
def house(journal: Journal) -> House:
    return House(journal, KEY)


@pytest.fixture
def wall_clock(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[int]]:
    """The time as each event sees it, in milliseconds; a second later at each look."""
    time = [1_790_000_000_000]

    def now() -> str:
        time[0] += 1_000
        return clock.as_text(time[0])

    monkeypatch.setattr(clock, "now", now)
    yield time


# -- resuming


@pytest.mark.parametrize("name", RULESETS)
@pytest.mark.parametrize("one_by_one", [False, True], ids=["together", "one-by-one"])
def test_a_round_goes_on_from_its_record_alone_after_every_append(
    journal: Journal, name: str, one_by_one: bool
) -> None:
    """Rule 10.1: the same cards at the same decision, whoever takes it up."""
    resumed = 0
    for seed in range(3):
        random = Random(f"{name} {seed}")
        live = opened(House(journal, KEY), RULESETS[name], number=seed + 1)
        while live.state.phase is not Phase.ENDED:
            choices = next_choices(random, live)
            for command in [[choice] for choice in choices] if one_by_one else [choices]:
                made(House(journal, KEY), live, *command)
                resumed += 1
                taken_up = House(journal, KEY).load(live.stream, BY_DIGEST)
                assert everything(taken_up) == everything(live)
                live = taken_up
        assert status_of(journal, live.stream) is Status.VERIFIED
    assert resumed > 6


def test_boxes_may_be_placed_in_any_order(house: House, journal: Journal) -> None:
    """The client seeds stand in ascending order of the boxes, whoever came first."""
    live = opened(house, RULESETS[MULTIBOX])
    for box in (3, 1, 2):
        made(house, live, place(box, player=f"p{box}", client_seed=bytes([box] * 8)))
    made(house, live, c.Deal())
    taken_up = house.load(live.stream, BY_DIGEST)

    assert everything(taken_up) == everything(live)
    assert status_of(journal, played_out(house, taken_up, Random(1)).stream) is Status.VERIFIED


def test_a_beacon_is_taken_up_with_the_round(house: House, journal: Journal) -> None:
    live = opened(house, RULESETS[OPEN])
    made(house, live, place(1), c.Deal(beacon=b"b" * 32))
    taken_up = house.load(live.stream, BY_DIGEST)

    assert everything(taken_up) == everything(live)
    assert taken_up.beacon == b"b" * 32
    assert status_of(journal, played_out(house, taken_up, Random(1)).stream) is Status.VERIFIED


def test_an_unknown_round_is_named(house: House) -> None:
    with pytest.raises(UnknownRound, match=r"^round 00ff: there is no such round$"):
        house.load("round:00ff", BY_DIGEST)


def test_a_round_of_a_ruleset_that_is_not_known_is_not_taken_up(house: House) -> None:
    live = opened(house, RULESETS[OPEN])

    with pytest.raises(UnknownRound, match=r"^round [0-9a-f]{32}: its ruleset is not known here$"):
        house.load(live.stream, {})


@pytest.mark.parametrize("commands", [0, 1, 2], ids=["betting", "deciding", "later"])
def test_a_round_can_be_voided_while_no_box_is_settled(house: House, journal: Journal, commands: int) -> None:
    """Rule 10.2: the fault ends the round, and its seed is revealed all the same."""
    live, random = opened(house, RULESETS[MULTIBOX]), Random(5)
    for _ in range(commands):
        made(house, live, *next_choices(random, live))
    taken_up = house.load(live.stream, BY_DIGEST)

    events = made(house, taken_up, c.Void("the shoe has burst"))

    assert [type(event) for event in events] == [e.RoundVoided, e.SeedRevealed]
    assert status_of(journal, live.stream) is Status.VERIFIED


def place(box: int, player: str = "p1", client_seed: bytes = b"", ante: int | None = None) -> c.PlaceBox:
    """An open box at a stake that every released game takes."""
    smallest = 2 * RULESETS[OPEN].table_defaults.ante_min
    return c.PlaceBox(box, player, e.Mode.OPEN, smallest if ante is None else ante, client_seed=client_seed)


# -- refusals


def test_a_refused_choice_writes_nothing_and_changes_nothing(house: House, journal: Journal) -> None:
    """In every phase, whatever is asked that can't be."""
    live, random = opened(house, RULESETS[OPEN]), Random(2)
    refused = 0
    while True:
        before, told = journal.head_position(), everything(live)
        for choice in CHOICES_OF_BOX_9:
            assert isinstance(house.choose(live, choice), Refusal), choice
            refused += 1
        assert (journal.head_position(), everything(live)) == (before, told)
        if live.state.phase is Phase.ENDED:
            break
        made(house, live, *next_choices(random, live))

    assert refused > 3 * len(CHOICES_OF_BOX_9)
    assert status_of(journal, live.stream) is Status.VERIFIED


CHOICES_OF_BOX_9: Sequence[c.Choice] = (
    place(9, ante=-100), c.Deal(jackpot=-1), c.Exchange(box=9, discard=(0, 0)), c.SixthCard(box=9),
    c.DeclineSixthCard(box=9), c.Insure(box=9, stake=-1), c.Bet(box=9), c.Fold(box=9), c.BuyDealerGame(box=9),
    c.TakeAnte(box=9), c.Void(""),
)  # fmt: skip


def test_of_choices_made_together_all_are_kept_or_none(house: House, journal: Journal) -> None:
    live = opened(house, RULESETS[OPEN])
    told = everything(live)

    refusal = house.choose(live, place(1), c.Deal(), c.Fold(box=2))

    assert isinstance(refusal, Refusal)
    assert everything(live) == told
    assert len(bodies_of(journal, live.stream)) == 1
    made(house, live, place(1), c.Deal(), c.Fold(box=1))


def test_a_beacon_of_another_size_is_refused(house: House, journal: Journal) -> None:
    live = opened(house, RULESETS[OPEN])
    made(house, live, place(1))

    refusal = house.choose(live, c.Deal(beacon=b"short"))

    assert isinstance(refusal, Refusal)
    assert refusal.code is RefusalCode.BEACON_INVALID
    assert len(bodies_of(journal, live.stream)) == 2


def test_a_round_that_the_rules_refuse_is_not_opened(house: House, journal: Journal) -> None:
    ruleset = RULESETS[OPEN]

    refusal = house.open_round(ruleset, table=" ", number=1, limits=ruleset.table_defaults, currency="EUR")

    assert isinstance(refusal, Refusal)
    assert journal.head_position() == 0


def test_a_number_is_used_once_at_a_table(house: House, journal: Journal) -> None:
    opened(house, RULESETS[OPEN], number=1)

    with pytest.raises(RoundTaken, match=r"^round: number vip-1, 1 is taken$"):
        opened(house, RULESETS[OPEN], number=1)

    assert (journal.head_position(), journal.count_rounds()) == (1, 1)


# -- an error of the journal, a lost answer, a repeated command


def test_after_a_conflict_the_round_in_hand_is_as_it_was(house: House, journal: Journal) -> None:
    live = dealt(house)
    told = everything(live)
    foreign = e.BetMade(bet=1, box=1, by=e.By.PLAYER)
    journal.append("another writer", b"", append_to(live.stream, live.head, [foreign], live.last_at))

    with pytest.raises(StreamConflict):
        house.choose(live, c.Fold(box=1))

    assert everything(live) == told
    assert bodies_of(journal, live.stream)[-1].find(b"bet-made.v1") > 0


def test_after_a_lost_connection_the_round_goes_on(migrated_database_url: str, house: House) -> None:
    live = dealt(house)
    told = everything(live)
    house.journal.close()
    with pytest.raises(JournalUnavailable):
        house.choose(live, c.Fold(box=1))
    assert everything(live) == told

    with Journal.open(migrated_database_url) as again:
        made(House(again, KEY), live, c.Fold(box=1))

        assert status_of(again, live.stream) is Status.VERIFIED


def dealt(house: House, number: int = 1) -> LiveRound:
    """A round in which box 1 has to choose."""
    live = opened(house, RULESETS[OPEN], number)
    made(house, live, place(1), c.Deal())
    return live


@pytest.mark.usefixtures("wall_clock")
def test_a_command_whose_answer_was_lost_may_be_sent_again(house: House, journal: Journal) -> None:
    """A retry decides anew, at another time of day; it gets the first answer, writes nothing, and the round goes on."""
    live = opened(house, RULESETS[OPEN])
    unanswered = house.load(live.stream, BY_DIGEST)  # as it was in the hands of who never heard of the commit
    first = made(house, live, place(1), c.Deal(), command_id="c1")
    written = journal.head_position()

    again = made(house, unanswered, place(1), c.Deal(), command_id="c1")

    assert again == first
    assert journal.head_position() == written
    assert everything(unanswered) == everything(live)
    assert status_of(journal, played_out(house, unanswered, Random(1)).stream) is Status.VERIFIED


def test_a_command_id_is_not_taken_for_another_choice(house: House, journal: Journal) -> None:
    live = dealt(house)
    late = house.load(live.stream, BY_DIGEST)
    made(house, live, c.Bet(box=1), command_id="c1")
    written = journal.head_position()

    with pytest.raises(JournalError):
        house.choose(late, c.Fold(box=1), command_id="c1")

    assert journal.head_position() == written


# -- time


def test_a_clock_set_back_does_not_make_time_run_backwards(
    house: House, journal: Journal, wall_clock: list[int]
) -> None:
    live, random = opened(house, RULESETS[OPEN]), Random(4)
    while live.state.phase is not Phase.ENDED:
        wall_clock[0] -= 3_600_000
        made(house, live, *next_choices(random, live))
        live = house.load(live.stream, BY_DIGEST)

    times = [decode(body).at for body in bodies_of(journal, live.stream)]
    assert times == sorted(times)
    assert status_of(journal, live.stream) is Status.VERIFIED


# -- two houses


def test_who_comes_second_gets_a_conflict_and_can_go_on(house: House, journal: Journal) -> None:
    live = dealt(house)
    late, other = house.load(live.stream, BY_DIGEST), House(journal, KEY)
    made(house, live, c.SixthCard(box=1))
    written = journal.head_position()

    with pytest.raises(StreamConflict):
        other.choose(late, c.Fold(box=1))

    assert journal.head_position() == written
    late = other.load(late.stream, BY_DIGEST)
    assert everything(late) == everything(live)
    assert status_of(journal, played_out(other, late, Random(1)).stream) is Status.VERIFIED


def test_of_two_houses_at_once_exactly_one_makes_the_choice(house: House, journal: Journal) -> None:
    for number in range(1, 11):
        live = dealt(house, number)
        start = threading.Barrier(2)
        with ThreadPoolExecutor(2) as pool:
            choosing = [
                pool.submit(at_once, House(journal, KEY), house.load(live.stream, BY_DIGEST), choice, start)
                for choice in (c.Bet(box=1), c.Fold(box=1))
            ]
        answers = [future.result() for future in choosing]

        assert sorted(answers) == ["StreamConflict", "made"]
        # A BET against a dealer without a game leaves the round open, at the question who buys.
        assert status_of(journal, live.stream) is not Status.DISCREPANCY


def at_once(house: House, live: LiveRound, choice: c.Choice, start: threading.Barrier) -> str:
    """What becomes of a choice that another house makes at the same moment."""
    start.wait(timeout=30)
    try:
        house.choose(live, choice)
    except JournalError as error:
        return type(error).__name__
    return "made"


# -- keys


@pytest.mark.parametrize("key", [DataKey(KEY.id, bytes(32)), DataKey("f" * 16, bytes(32))], ids=["secret", "id"])
def test_a_seed_sealed_under_another_key_is_an_error_of_one_line(
    house: House, journal: Journal, key: DataKey
) -> None:
    live = dealt(house)
    stranger = House(journal, key)
    written = journal.head_position()

    for use in (lambda: stranger.load(live.stream, BY_DIGEST), lambda: stranger.choose(live, c.Fold(box=1))):
        with pytest.raises(Exception) as refused:  # of which type is asked below
            use()
        assert _mendable(refused.value), repr(refused.value)
        assert len(str(refused.value).splitlines()) == 1
    assert journal.head_position() == written


def test_a_round_sealed_under_an_older_key_is_taken_up(house: House, journal: Journal) -> None:
    live = dealt(house)
    newer = DataKey("f" * 16, bytes(range(1, 33)))
    keys = {key.id: key for key in (KEY, newer)}

    taken_up = House(journal, newer, keys.__getitem__).load(live.stream, BY_DIGEST)

    assert everything(taken_up) == everything(live)


def test_a_changed_sealed_seed_does_not_open(house: House, journal: Journal, migrated_database_url: str) -> None:
    live = dealt(house)
    with psycopg.connect(migrated_database_url, autocommit=True) as owner:
        owner.execute("alter table dealproof.events disable trigger user")
        [(body,)] = owner.execute("select state from dealproof.events where originator_version = 0").fetchall()
        sealed = live.state.opened.sealed_seed.encode() if live.state.opened else b""
        changed = sealed[:-1] + (b"0" if sealed[-1:] != b"0" else b"1")
        owner.execute(
            "update dealproof.events set state = %s where originator_version = 0", (body.replace(sealed, changed),)
        )

    with pytest.raises(SealError, match="another data key, round or commitment, or changed bytes"):
        house.load(live.stream, BY_DIGEST)


def test_the_records_head_is_the_hash_of_its_last_body(house: House, journal: Journal) -> None:
    live = dealt(house)

    assert live.head == (len(bodies_of(journal, live.stream)) - 1, leaf_hash(bodies_of(journal, live.stream)[-1]))
