"""An evening in a casino from one seed: what everybody does, what goes wrong, and what each answer must be.

Two workers serve the same journal.  A client knows what it was answered; it sends a command again, under the same id,
until it gets an answer, then now and then once more, to any worker, much later.  The client keeps its own book of every
player's money, made of the answers alone.

Not here: faults (`faults`), what is checked in the journal afterwards (`checks`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from random import Random
from threading import Lock
from typing import Any, Final

import psycopg

from domain import account as a
from domain.account import Against
from domain.log.checkpoint import Checkpoint
from domain.log.merkle import leaf_hash, root_of
from domain.round import choices as c
from domain.round.phases import Phase
from domain.round.refusals import Refusal, RefusalCode
from domain.ruleset import Limits
from domain.rulesets import released_rulesets
from domain.table import Abandoned, TableSettings
from ops.cashier import AccountDone
from ops.commands import Command
from ops.floor import Floor, RoundDone
from ops.journal import Journal, JournalUnavailable, Stored
from ops.receipts import Receipts
from ops.rulesets import publish
from ops.simulation import next_choice, stakes
from tests.ops.floor.casino import KEY, house_version, limits, rendered
from tests.ops.floor.test_receipts import PRIVATE, RECEIPT_KEY
from tests.ops.logged import ORIGIN
from tests.rules.table import picture
from tests.simulation.checks import check_money, check_rounds, require
from tests.simulation.faults import Fault, Faults, Postgres, Secrets, ServerKilled, Time, draw, injected

Ask = Callable[[Floor, Command], Any]
Code = RefusalCode

PLAYERS: Final = ("anna", "boris", "clara", "dora", "egor", "fima")
JACKPOT: Final = "grand"
POOR: Final = frozenset({Code.FUNDS_TOO_LOW})
CLOSED: Final = frozenset({Code.TABLE_CLOSED})
SHARES: Final = {"ace-king": [1, 7], "pair": [1, 3], "two-pair": [1, 1]}
HOUR: Final = 3_600_000


@dataclass
class Sent:
    """A command that was answered: how to send it again, and what must come back."""

    command: Command
    ask: Ask
    answer: object


class World:
    """One evening.  Use `run`."""

    def __init__(self, seed: int, url: str, postgres: Postgres, steps: int = 120) -> None:
        self.seed = seed
        self.random = Random(seed)
        self.steps = steps
        self.story: list[str] = []
        self.time = Time()
        self.secrets = Secrets(seed)
        self.url = url
        self._postgres = postgres
        self.faults = Faults(postgres, url)
        self.floors: list[Floor] = []
        self._leaves: list[bytes] = []
        self._leaves_lock = Lock()
        self.calm = True
        self.sent: list[Sent] = []
        self.tables: dict[str, TableSettings] = {}
        self.rounds: dict[str, RoundDone] = {}
        self.cash: Counter[tuple[str, str]] = Counter()
        self.movements: list[tuple[str, int]] = []
        self.guests = 0
        self.repeated = 0
        self.kinds: set[str] = set()

    def run(self) -> None:
        """The evening, its checks, and the end of every round that was left open.  Raises Wrong."""
        with injected(self.time, self.secrets):
            self.floors = [self._new_floor(), self._new_floor()]
            try:
                self._furnish()
                self.calm = False
                for _ in range(self.steps):
                    self._step()
                self.calm = True
                self._check()
                self._finish_all()
                self._check()
                self._ask_everything_again()
                self.kinds = {stored.record.type for stored in self._everything()}
            finally:
                for floor in self.floors:
                    floor.journal.close()

    # -- sending

    def send(self, what: str, ask: Ask, refusals: frozenset[Code] = frozenset()) -> Any:
        """Send a command until it is answered, to this or that worker; None where it was refused as it may be."""
        number = len(self.sent) + 1
        name = f"command-{number}"
        command = Command(name, f"{number} {what}".encode(), self.random.choice(("kate", "leon")))
        answer = self._until_answered(what, command, ask)
        self.sent.append(Sent(command, ask, rendered(answer)))
        if isinstance(answer, Refusal):
            self.story[-1] += f" -> {answer.code}"
            require(answer.code in refusals, self.story[-1], answer.text)
            return None
        if isinstance(answer, AccountDone):
            self._book(answer)
        elif isinstance(answer, RoundDone):
            self.rounds[answer.stream] = answer
        return answer

    def _until_answered(self, what: str, command: Command, ask: Ask) -> object:
        # Of its own, so that what threads do to one command's tries leaves the rest of the evening as it is.
        random = Random(f"{self.seed} {command.id}")
        faults = [] if self.calm else list(self._drawn_faults(random))
        doubled = not self.calm and random.random() < 0.15
        lost_at_the_door = not self.calm and random.random() < 0.1
        self.story.append(f"{command.id} {what}" + "".join(f" [{fault}]" for fault in faults) + " [doubled]" * doubled)
        answers: list[object] = []
        while not answers:
            place = random.randrange(2)
            self.faults.arm(faults.pop(0) if faults else None)
            try:
                if doubled:
                    answers += self._asked_twice(command, ask)
                else:
                    answers.append(self._asked(place, command, ask))
            except ServerKilled:
                self._restart(place)
            except JournalUnavailable:
                pass
            self.faults.arm(None)
            if not answers and not doubled:
                self._tick(random)
        if lost_at_the_door:
            answers.append(self._asked(random.randrange(2), command, ask))
        first, *others = map(rendered, answers)
        for other in others:
            self.repeated += 1
            require(other == first, command.id, what, "was answered twice:", first, other)
        return answers[0]

    def _drawn_faults(self, random: Random) -> Iterator[Fault]:
        """None for half of the commands, one for many, more for some."""
        while random.random() < 0.45:
            yield draw(random, self._postgres.weights)

    def _asked(self, place: int, command: Command, ask: Ask) -> object:
        self.secrets.of_command(command.id)
        return ask(self.floors[place], command)

    def _asked_twice(self, command: Command, ask: Ask) -> list[object]:
        """At the same moment, by both workers; the fault that is drawn meets the first."""
        with ThreadPoolExecutor(1) as pool:
            other = pool.submit(self._asked_calmly, command, ask)
            try:
                answers = [self._asked(0, command, ask)]
            except (ServerKilled, JournalUnavailable) as fault:
                # The other one's answer is lost as well.
                other.result()
                raise fault
            return [*answers, other.result()]

    def _asked_calmly(self, command: Command, ask: Ask) -> object:
        while True:
            try:
                return self._asked(1, command, ask)
            except JournalUnavailable:  # the first one's fault has cut everybody's connections
                continue

    def _restart(self, place: int) -> None:
        """A worker that remembers nothing takes the place of the one that was killed."""
        self.floors[place].journal.close()
        self.floors[place] = self._new_floor()

    def _new_floor(self) -> Floor:
        journal = Journal.open(self.url)
        self.faults.watch(journal)
        return Floor(journal, KEY, receipts=Receipts(self._newest_checkpoint, RECEIPT_KEY, PRIVATE.sign))

    def _newest_checkpoint(self) -> Checkpoint:
        """A log that is never behind: it is somebody else's, so no fault of the casino's meets it."""
        while True:
            with suppress(psycopg.OperationalError), psycopg.connect(self.url) as connection:
                query = "select state from dealproof.events where notification_id > %s order by notification_id"
                with self._leaves_lock:
                    self._leaves += [leaf_hash(body) for (body,) in connection.execute(query, (len(self._leaves),))]
                    return Checkpoint(ORIGIN, len(self._leaves), root_of(self._leaves))

    # -- the client's book

    def _book(self, done: AccountDone) -> None:
        event, key = done.event, (done.currency, done.player)
        self.movements.append((done.player, done.seq))
        match event:
            case a.FundsDeposited() | a.FundsAdjusted() | a.FundsReversed():
                self.cash[key] += event.amount
            case a.FundsWithdrawn():
                self.cash[key] -= event.amount
            case _:
                self.cash[key] += 0

    def balances(self) -> dict[tuple[str, str], int]:
        """What everybody should have: cash, and what the rounds have staked and returned so far."""
        expected = Counter(self.cash)
        for done in self.rounds.values():
            opened = done.state.opened
            assert opened is not None
            for box in done.state.boxes if done.state.voided is None else ():
                came_back = box.returned_before_showdown if box.settled is None else box.settled.returned
                expected[opened.currency, box.player] += came_back - box.staked
        return dict(expected)

    # -- the evening

    def _furnish(self) -> None:
        rulesets = [*released_rulesets().values()]
        for name, shown in (("pairs", "at-deal"), ("late", "in-turn")):
            rulesets.append(house_version("frequent-jackpot", name, hands_shown=shown, jackpot_shares=SHARES))
        for ruleset in rulesets:
            publish(self.floors[0].journal, ruleset)
            self._activate(ruleset.name)
        self.send("jackpot", lambda f, k: f.pit.open_jackpot(k, JACKPOT, "EUR", 5_000))
        for ruleset in rulesets:
            self._open_table(ruleset.name)
        for player in PLAYERS:
            self._open_account(player)
            self._deposit(player, 6_000)

    def _activate(self, name: str) -> None:
        self.send("propose", lambda f, k: f.pit.propose_ruleset(k._replace(by="olga"), name, "season"))
        self.send("approve", lambda f, k: f.pit.approve_ruleset(k._replace(by="pavel"), name, "season"))

    def _step(self) -> None:
        self._tick(self.random)
        [act] = self.random.choices(
            [
                self._play, self._open_round, self._cash, self._correct, self._void, self._leave, self._again,
                self._change_table, self._replace_table, self._look, self._kill, self._intrude,
            ],
            [40, 12, 8, 5, 2, 4, 10, 3, 1, 4, 2, 2],
        )  # fmt: skip
        act()

    def _tick(self, random: Random) -> None:
        """Time goes on, jumps ahead by hours, or back by days."""
        jump = random.random()
        if jump < 0.03:
            self.time.milliseconds -= random.randrange(72 * HOUR)
        elif jump < 0.08:
            self.time.milliseconds += random.randrange(5 * HOUR)
        else:
            self.time.milliseconds += random.randrange(3_000)

    def _limits(self) -> Limits:
        ante_max, payout_max = self.random.choice((300, 1_000)), self.random.choice((None, 900))
        return limits(ante_max=ante_max, bonus_max=200, payout_max=payout_max)

    def _settings(self, ruleset: str) -> TableSettings:
        known = self.floors[0].pit.known(ruleset)
        assert known is not None
        return TableSettings(
            self.random.choice(list(Abandoned)), self.random.choice((1, 60)), "EUR",
            JACKPOT if known.jackpot_shares else None, self._limits(), ruleset,
        )  # fmt: skip

    def _open_table(self, ruleset: str) -> None:
        name, given = f"t{len(self.tables) + 1}", self._settings(ruleset)
        self.send(f"open table {name}", lambda f, k: f.pit.open_table(k, name, given, "season"))
        self.tables[name] = given

    def _change_table(self) -> None:
        name = self.random.choice(sorted(self.tables))
        given = self._settings(self.tables[name].ruleset)
        self.send(f"change table {name}", lambda f, k: f.pit.change_table(k, name, given, "prices"), CLOSED)

    def _replace_table(self) -> None:
        name = self.random.choice(sorted(self.tables))
        self.send(f"close table {name}", lambda f, k: f.pit.close_table(k, name, "broken"), CLOSED)
        self._open_table(self.tables[name].ruleset)

    def _open_account(self, player: str) -> None:
        self.send(f"open account {player}", lambda f, k: f.cashier.open_account(k, "EUR", player))

    def _deposit(self, player: str, amount: int) -> None:
        self.send(f"deposit {player} {amount}", lambda f, k: f.cashier.deposit(k, "EUR", player, amount, "till 1"))

    def _cash(self) -> None:
        if self.random.random() < 0.1:
            self.guests += 1
            self._open_account(f"guest-{self.guests}")
            return
        player, amount = self._somebody(), self.random.randint(1, 9_000)
        if self.random.random() < 0.4:
            self._deposit(player, amount)
        else:
            self.send(
                f"withdraw {player} {amount}", lambda f, k: f.cashier.withdraw(k, "EUR", player, amount, "till 1"), POOR
            )

    def _correct(self) -> None:
        player = self._somebody()
        desk: dict[str, Any] = {"approver": "olga", "reason": "typo", "reference": "n"}
        if self.random.random() < 0.5:
            amount, against = self.random.choice((-700, -1, 5, 300)), self.random.choice(list(Against))
            self.send(
                f"adjust {player} {amount}",
                lambda f, k: f.cashier.adjust(k, "EUR", player, amount, against=against, **desk), POOR,
            )  # fmt: skip
        else:
            known = [seq for name, seq in self.movements if name == player]
            seq = self.random.choice(known) if known and self.random.random() < 0.8 else self.random.randrange(12)
            self.send(
                f"reverse {player} {seq}", lambda f, k: f.cashier.reverse(k, "EUR", player, seq, **desk),
                POOR | {Code.NOT_REVERSIBLE, Code.ALREADY_REVERSED},
            )  # fmt: skip

    def _somebody(self) -> str:
        return self.random.choice(PLAYERS)

    # -- rounds

    def open_streams(self) -> list[str]:
        """Rounds that the clients are in, as they were opened."""
        return [stream for stream, done in self.rounds.items() if done.state.phase is not Phase.ENDED]

    def _open_round(self) -> None:
        table = self.random.choice(sorted(self.tables))
        self.send(f"open a round at {table}", lambda f, k: f.open_round(k, table), CLOSED)

    def _some_round(self) -> RoundDone | None:
        streams = self.open_streams()
        return self.rounds[self.random.choice(streams)] if streams else None

    def _play(self) -> None:
        """The next step of a round, as its players would take it."""
        done = self._some_round()
        if done is None:
            return self._open_round()
        if self.random.random() < 0.3:
            self._look_at(done)
        if done.state.phase is Phase.BETTING and not done.state.boxes:
            assert done.settings is not None
            players = self.random.sample(PLAYERS, 3)
            placed = stakes(self.random, done.ruleset, done.settings.limits, players)
            return self._choose(done, placed)
        if done.state.phase is Phase.BETTING:
            beacon = self.random.choice((None, self.random.randbytes(32)))
            self.send(f"deal {_short(done)}", lambda f, k: f.deal(k, done.stream, beacon))
            return None
        choice = next_choice(self.random, done.ruleset, done.state)
        return self._choose(done, [choice])

    def _choose(self, done: RoundDone, choices: Sequence[c.Choice]) -> None:
        words = ", ".join(type(choice).__name__ for choice in choices)
        made = self.send(f"{words} {_short(done)}", lambda f, k: f.choose(k, done.stream, *choices), POOR)
        if made is None:
            # Too poor: the cashier helps, and next time it will do.
            players = {getattr(choice, "player", None) for choice in choices} - {None}
            boxes = {getattr(choice, "box", None) for choice in choices}
            players |= {box.player for box in done.state.boxes if box.box in boxes}
            for player in sorted(map(str, players)):
                self._deposit(player, 5_000)

    def _void(self) -> None:
        done = self._some_round()
        if done is not None:
            self._choose(done, [c.Void("the shoe has burst")])

    def _intrude(self) -> None:
        """A choice for somebody else's box, or for none, leads to nothing."""
        done = self._some_round()
        if done is not None:
            self.send(
                f"intrude {_short(done)}", lambda f, k: f.choose(k, done.stream, c.Bet(box=1, player="nobody")),
                frozenset({Code.NOT_DEALT, Code.NOT_YOUR_BOX, Code.BOX_UNKNOWN}),
            )  # fmt: skip

    def _leave(self) -> None:
        """A player is gone, most often for long enough."""
        done = self._some_round()
        if done is not None:
            if self.random.random() < 0.7:
                self.time.milliseconds += HOUR
            self.send(f"finish {_short(done)}", lambda f, k: f.finish(k, done.stream), frozenset({Code.NOT_ABANDONED}))

    def _finish_all(self) -> None:
        """Everybody comes back after the last fault, and plays on from the same decision."""
        while self.open_streams():
            for stream in self.open_streams():
                done = self.rounds[stream]
                self._look_at(done)
                if done.state.phase is Phase.BETTING:
                    self._choose(done, [c.Void("nobody came")])
                else:
                    self._choose(done, [next_choice(self.random, done.ruleset, done.state)])

    # -- faults that have no command

    def _again(self) -> None:
        """An old command comes once more, behind all that has happened since."""
        if self.sent:
            old = self.random.choice(self.sent)
            self.story.append(f"again {old.command.id}")
            self._ask_again(self.random.randrange(2), old)

    def _kill(self) -> None:
        self.story.append("a worker is killed between two commands")
        self._restart(self.random.randrange(2))

    def _look(self) -> None:
        for stream in self.open_streams():
            self._look_at(self.rounds[stream])

    def _look_at(self, done: RoundDone) -> None:
        """Whoever is asked has the same cards at the same decision as the last answer said."""
        found = self.floors[self.random.randrange(2)].round(done.stream)
        require(found is not None, done.stream, "is lost")
        assert found is not None
        require(found.seq == done.seq, done.stream, "is at", found.seq, "not at", done.seq)
        require(picture(found.state) == picture(done.state), done.stream, "has changed")

    def _ask_again(self, place: int, old: Sent) -> None:
        self.repeated += 1
        answer = rendered(self._asked(place, old.command, old.ask))
        require(answer == old.answer, old.command.id, old.command.request, "was", old.answer, "and is now", answer)

    # -- checks

    def _everything(self) -> list[Stored]:
        journal = self.floors[0].journal
        return journal.read_positions(range(1, journal.head_position() + 1))

    def _check(self) -> None:
        journal = self.floors[0].journal
        ended = frozenset(self.rounds) - frozenset(self.open_streams())
        check_rounds(journal, {stream: done.seq for stream, done in self.rounds.items()}, ended)
        check_money(journal, self.balances())

    def _ask_everything_again(self) -> None:
        """To a worker that has just begun; nothing is written by that."""
        self._restart(0)
        before = self.floors[0].journal.head_position()
        for old in self.sent:
            self._ask_again(0, old)
        require(self.floors[0].journal.head_position() == before, "a repeated command has written")


def _short(done: RoundDone) -> str:
    opened = done.state.opened
    return "" if opened is None else f"at {opened.table}/{opened.number}"
