"""A small casino for tests: a floor on a real journal, all games active, a jackpot, tables, players with money.

    opened = casino.open("open-russian-poker")
    casino.place(opened.stream, box(1, "anna", bonus=100))
    casino.deal(opened.stream, lambda hands: hands.main(1) == Combination.PAIR)

Hands that a test wants are found by trying public beacons: the seed stays the house's own, nothing is replaced.

Not here: what a test expects (the tests beside this file).
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import fields
from itertools import count
from pathlib import Path
from random import Random
from threading import Barrier
from typing import Any, TypeVar

import psycopg

from domain import account as a
from domain import jackpot as j
from domain.account import AccountState
from domain.deal.commitment import client_entropy
from domain.deal.shuffle import Deck, SeededDeck
from domain.hands import Combination, evaluate
from domain.round import choices as c
from domain.round import events as e
from domain.round.phases import Phase
from domain.round.refusals import Refusal, RefusalCode
from domain.ruleset import Limits, Ruleset, load_ruleset
from domain.rulesets import released_rulesets
from domain.table import Abandoned, TableSettings
from ops.accounts_proof import prove
from ops.cashier import AccountDone
from ops.commands import Command
from ops.floor import Floor, RoundDone
from ops.journal import Journal, Stored
from ops.keys import DataKey
from ops.postings import PostingsReader
from ops.rulesets import known_rulesets, publish
from ops.simulation import next_choice, stakes
from replay.evidence import by_digest
from replay.verdict import Status
from replay.verify_round import verify_round
from tests.rules.table import picture

KEY = DataKey("0123456789abcdef", bytes(range(32)))
PLAYERS = ("anna", "boris", "clara")
JACKPOT = "grand"
PURSE = 1_000_000
"""What each player has in the beginning, in minor units."""

RUSSIAN, OPEN, FIVE, MULTIBOX = "russian-poker", "open-russian-poker", "five-card-poker", "multibox-russian-poker"
GAMES = (RUSSIAN, OPEN, FIVE, MULTIBOX)
"""Of each game there is one table, named as the game."""

T = TypeVar("T")


def done(answer: T | Refusal) -> T:
    """What was done; the test is wrong where it was refused."""
    assert not isinstance(answer, Refusal), answer
    return answer


def refused(answer: object, code: RefusalCode) -> Refusal:
    """The refusal that was expected."""
    assert isinstance(answer, Refusal), answer
    assert answer.code is code, answer
    return answer


def limits(**values: int | None) -> Limits:
    """Limits of a test table: antes in hundreds, any bonus."""
    known: dict[str, Any] = {
        "ante_min": 100, "ante_max": 100_000, "ante_step": 100, "bonus_min": 1, "bonus_max": 50_000, "payout_max": None,
    }  # fmt: skip
    return Limits(**known | values)


def settings(game: str, jackpot: str | None = None, **values: Any) -> TableSettings:
    """A table's settings; the game by id or by its whole name."""
    known: dict[str, Any] = {
        "abandoned": Abandoned.FOLD, "abandoned_after": 60, "currency": "EUR", "limits": limits(), "jackpot": jackpot,
    }  # fmt: skip
    return TableSettings(**known | {"ruleset": game if "@" in game else f"{game}@1"} | values)


def box(number: int, player: str = "anna", ante: int = 100, bonus: int = 0, *, dark: bool = False) -> c.PlaceBox:
    """A stake."""
    return c.PlaceBox(number, player, e.Mode.DARK if dark else e.Mode.OPEN, ante, bonus)


def house_version(game: str, name: str, **values: Any) -> Ruleset:
    """A casino's own version of a game: its document under another id, with other values for some parameters."""
    folder = Path("domain/rulesets") if Path(f"domain/rulesets/{game}@1.json").exists() else Path("tests/rulesets")
    document = json.loads((folder / f"{game}@1.json").read_bytes())
    document["id"] = name
    for parameter, value in values.items():
        document["parameters"][parameter]["value"] = value
    return load_ruleset(json.dumps(document).encode())


class Casino:
    """A floor and what a test asks of it."""

    def __init__(self, url: str, journal: Journal) -> None:
        self.url = url
        self.journal = journal
        self.floor = Floor(journal, KEY)
        self._numbers = count(journal.head_position() + 1)  # above those of the commands that furnished it

    def furnish(self) -> None:
        """Games, jackpot, tables, accounts."""
        for ruleset in released_rulesets().values():
            self.activate(ruleset)
        done(self.floor.pit.open_jackpot(self.command(), JACKPOT, "EUR", 100_000))
        for game in GAMES:
            self.open_table(game, settings(game, JACKPOT if game == OPEN else None))
        for player in PLAYERS:
            self.welcome(player)

    def command(self, by: str = "server-1", request: bytes | None = None) -> Command:
        """A command that nobody has sent before."""
        name = f"c-{next(self._numbers)}"
        return Command(name, name.encode() if request is None else request, by)

    @contextmanager
    def another_worker(self) -> Iterator[Floor]:
        """A floor of its own, with its own connections and an empty memory, on the same journal."""
        with Journal.open(self.url) as journal:
            yield Floor(journal, KEY)

    # -- furnishing

    def activate(self, ruleset: Ruleset) -> str:
        """Publish a ruleset and have two people activate it."""
        publish(self.journal, ruleset)
        done(self.floor.pit.propose_ruleset(self.command("olga"), ruleset.name, "new season"))
        done(self.floor.pit.approve_ruleset(self.command("pavel"), ruleset.name, "checked"))
        return ruleset.name

    def open_table(self, table: str, given: TableSettings) -> None:
        done(self.floor.pit.open_table(self.command("olga"), table, given, "new season"))

    def welcome(self, player: str, amount: int = PURSE, currency: str = "EUR") -> None:
        """An account with money."""
        done(self.floor.cashier.open_account(self.command("kate"), currency, player))
        if amount:
            self.deposit(player, amount, currency)

    def deposit(self, player: str, amount: int, currency: str = "EUR") -> None:
        done(self.floor.cashier.deposit(self.command("kate"), currency, player, amount, "till 1"))

    def change(self, table: str, given: TableSettings) -> None:
        done(self.floor.pit.change_table(self.command("olga"), table, given, "new prices"))

    def withdraw(self, player: str, amount: int) -> bool:
        done(self.floor.cashier.withdraw(self.command("kate"), "EUR", player, amount, "till 1"))
        return True

    # -- playing

    def open(self, table: str) -> RoundDone:
        return done(self.floor.open_round(self.command(), table))

    def place(self, stream: str, *boxes: c.PlaceBox) -> RoundDone:
        return done(self.floor.choose(self.command(), stream, *boxes))

    def deal(self, stream: str, wanted: Callable[[Hands], bool] | None = None) -> RoundDone:
        """Close the bets and deal; hands as they are wanted."""
        beacon = None if wanted is None else self.beacon(stream, wanted)
        return done(self.floor.deal(self.command(), stream, beacon))

    def choose(self, stream: str, *choices: c.Choice) -> RoundDone:
        return done(self.floor.choose(self.command(), stream, *choices))

    def dealt(self, table: str, *boxes: c.PlaceBox, wanted: Callable[[Hands], bool] | None = None) -> RoundDone:
        """A round in which the cards are dealt."""
        opened = self.open(table)
        self.place(opened.stream, *boxes)
        return self.deal(opened.stream, wanted)

    def played_out(self, made: RoundDone, random: Random) -> RoundDone:
        """The round, played to its end by careless players."""
        while made.state.phase is not Phase.ENDED:
            made = self.choose(made.stream, next_choice(random, made.ruleset, made.state))
        return made

    def played(self, table: str, random: Random) -> RoundDone:
        """A whole round of careless players."""
        opened = self.open(table)
        known = self.floor.pit.table(table)
        assert known is not None
        self.place(opened.stream, *stakes(random, opened.ruleset, known.settings.limits, PLAYERS))
        return self.played_out(self.deal(opened.stream), random)

    def beacon(self, stream: str, wanted: Callable[[Hands], bool]) -> bytes:
        """A public beacon under which the round's cards fall as they are wanted."""
        live = self.floor.house.load(stream, self.floor.pit.known_by_digest())
        seed = self.floor.house._server_seed(live)
        seeds = [(each.box, bytes.fromhex(each.client_seed)) for each in live.state.boxes]
        numbers = [each.box for each in live.state.boxes]
        for number in range(200_000):
            beacon = number.to_bytes(32, "big")
            deck = SeededDeck(seed, live.round_id, live.ruleset.digest, client_entropy(seeds), beacon)
            if wanted(Hands(live.ruleset, numbers, deck)):
                return beacon
        raise AssertionError("no beacon gives these hands")

    # -- looking

    def account(self, player: str = "anna", currency: str = "EUR") -> AccountState:
        found = self.floor.cashier.account(currency, player)
        assert found is not None
        return found.state

    def account_at(self, player: str) -> AccountDone:
        """An account with the place and time of its newest event."""
        found = self.floor.cashier.account("EUR", player)
        assert found is not None
        return found

    def balance(self, player: str = "anna") -> int:
        return self.account(player).balance

    def pot(self, jackpot: str = JACKPOT) -> int:
        found = self.floor.pit.jackpot(jackpot)
        assert found is not None
        return found.state.pot

    def events_of(self, stream: str) -> list[Any]:
        """The facts of an account, a jackpot or a table, in order."""
        codecs: dict[str, Any] = {"account": a.CODEC, "jackpot": j.CODEC}
        codec = codecs[stream.partition(":")[0]]
        return [codec.decode(stored.record.body).data for stored in self.journal.read_stream(stream)]

    def jackpot_events(self, jackpot: str = JACKPOT) -> list[Any]:
        return self.events_of(f"jackpot:{jackpot}")

    def account_events(self, player: str = "anna") -> list[Any]:
        return self.events_of(f"account:EUR:{player}")

    def written(self) -> int:
        """How many events there are."""
        return self.journal.head_position()

    def everything(self) -> list[Stored]:
        """The whole journal."""
        return self.journal.read_positions(range(1, self.written() + 1))

    def totals(self) -> Counter[tuple[str, str]]:
        """What every ledger account has, by (currency, name), from the lines alone."""
        currencies = {f"jackpot:{done.jackpot}": done.state.currency for done in self.floor.pit.jackpots("", 1000)}
        found: Counter[tuple[str, str]] = Counter()
        for _, record in self.everything():
            kind, _, rest = record.stream.partition(":")
            if kind in ("account", "jackpot"):
                currency = rest.partition(":")[0] if kind == "account" else currencies[record.stream]
                data = (a.CODEC if kind == "account" else j.CODEC).decode(record.body).data
                for line in getattr(data, "lines", ()):
                    found[currency, line.account] += line.amount
        return found

    def assert_balanced(self) -> None:
        """Zero sum in each currency; pots and balances are what the lines say, and the journal proves them."""
        proof = prove(self.journal, lambda _: None)
        assert proof.status is Status.VERIFIED, [finding.as_json() for finding in proof.findings[:3]]
        totals = self.totals()
        for currency in {currency for currency, _ in totals}:
            assert sum(amount for (other, _), amount in totals.items() if other == currency) == 0
        pots = {(done.state.currency, f"jackpot:{done.jackpot}"): done.state.pot
                for done in self.floor.pit.jackpots("", 1000)}  # fmt: skip
        assert {key: amount for key, amount in totals.items() if key[1].startswith("jackpot:") and amount} == {
            key: pot for key, pot in pots.items() if pot
        }
        heads = self.journal.heads_between("account:", "account;", 10_000)
        assert sum(amount for (_, name), amount in totals.items() if name == "player") == sum(
            a.CODEC.decode(stored.record.body).data.after.balance for stored in heads
        )

    def status(self, stream: str) -> Status:
        """The verdict on a round, its money included."""
        rulesets = by_digest(known_rulesets(self.journal))
        [(_, bodies, postings)] = PostingsReader(self.journal).read_rounds(stream, stream)
        assert postings is not None
        return verify_round(stream, bodies, rulesets, postings).status


class Hands:
    """What a deck gives to the boxes of a round and to its dealer."""

    def __init__(self, ruleset: Ruleset, boxes: Sequence[int], deck: Deck) -> None:
        self.ruleset = ruleset
        self.boxes = boxes
        self.deck = deck

    def main(self, number: int) -> Combination:
        """The main combination of a box's first five cards."""
        return self._main(self.boxes.index(number))

    @property
    def dealer(self) -> Combination:
        return self._main(len(self.boxes))

    def _main(self, slot: int) -> Combination:
        hands = len(self.boxes) + 1
        dealt = self.deck.cards(0, 5 * hands)
        return evaluate(dealt[slot::hands] if self.ruleset.one_by_one else dealt[5 * slot : 5 * slot + 5]).main


def rendered(answer: object) -> object:
    """An answer as values that can be compared: whatever a client may be shown."""
    if not isinstance(answer, RoundDone):
        return answer
    shown: dict[str, object] = {each.name: getattr(answer, each.name) for each in fields(answer)}
    return shown | {"state": picture(answer.state), "ruleset": answer.ruleset.name, "accounts": dict(answer.accounts)}


def all_at_once(*tasks: Callable[[], T]) -> list[T | Exception]:
    """What each of these came to, begun at the same moment in threads of their own."""
    start = Barrier(len(tasks))

    def run(task: Callable[[], T]) -> T | Exception:
        start.wait(timeout=60)
        try:
            return task()
        except Exception as error:
            return error

    with ThreadPoolExecutor(len(tasks)) as pool:
        return list(pool.map(run, tasks))


def count_rows(url: str, table: str) -> int:
    """Rows of a table of the store."""
    with psycopg.connect(url) as connection:
        [[rows]] = connection.execute(f"select count(*) from dealproof.{table}".encode()).fetchall()
    return int(rows)
