"""Journals with every kind of event in them, the same for the same seed, to be held against the reference.

A house is furnished, then scenes are played that no chance would bring (`scenes`), with an evening of chance between
them.  The rounds' seeds and ids follow from the house's seed, as does the time, which jumps ahead by hours and now and
then back.

Not here: what the tables should hold of it (`tests.reference.projected`).
"""

from __future__ import annotations

from collections.abc import Iterator
from random import Random
from typing import Any, Final

import msgspec

from domain import access
from domain.access import DataKeyRotated, Hidden, HiddenRead, KeyCreated, KeyRevoked, Role
from domain.account import Against
from domain.codec import Codec
from domain.day import CODEC as DAYS_CODEC
from domain.day import DAYS, DayBegun, DayFold
from domain.doctor import CODEC as DOCTOR_CODEC
from domain.doctor import DOCTOR, Configuration, ControlExamined, ControlStatus, DoctorReported, Software
from domain.hands import Combination
from domain.log import events as k
from domain.round import choices as c
from domain.round.phases import Phase
from domain.rulesets import released_rulesets
from domain.table import Abandoned
from domain.verification import CODEC as VERIFICATION_CODEC
from domain.verification import ENDED, VERIFICATION, WHOLE, Finding, RoundsVerified
from domain.wager import CODEC as WAGER_CODEC
from domain.wager import WagersAccepted, receipt_stream, wagers_in
from ops.commands import Command, carry_out_one
from ops.floor import RoundDone
from ops.journal import Journal
from ops.simulation import next_choice, stakes
from tests.ops.floor.casino import Casino, box, done, house_version, limits, settings
from tests.simulation.faults import Secrets, Time, injected

EUROS: Final = ("anna", "boris", "clara", "tess", "tom")
DOLLARS: Final = ("anna", "tess")
TESTS: Final = {("EUR", "tess"), ("EUR", "tom"), ("USD", "anna")}
"""One player may be a guest in one currency and a test in another."""

PURSE: Final = 5_000_000
SHARES: Final = {"ace-king": [1, 7], "pair": [1, 3], "two-pair": [1, 1]}
MINUTE: Final = 60_000


def make_house(url: str, seed: int, steps: int) -> None:
    """Fill the journal of a migrated database: the scenes, and so many steps of an evening."""
    time, secrets = Time(), Secrets(seed)
    with injected(time, secrets), Journal.open(url) as journal:
        house = House(url, journal, time, secrets, Random(seed))
        house.furnish()
        others = house.scenes()
        for step in range(steps):
            if step % 10 == 0:
                next(others, None)
            house.step()
        for _ in others:
            house.tick()
        house.leave_open()


class House(Casino):
    """A casino whose clock and chance are the seed's."""

    def __init__(self, url: str, journal: Journal, time: Time, secrets: Secrets, random: Random) -> None:
        super().__init__(url, journal)
        self.time, self.secrets, self.random = time, secrets, random
        self.running: list[str] = []
        self.tables: list[str] = []

    def command(self, by: str = "server-1", request: bytes | None = None) -> Command:
        """A new command; what is drawn from now on is drawn for it."""
        command = super().command(by, request)
        self.secrets.of_command(command.id)
        return command

    def tick(self) -> None:
        """Some minutes; now and then hours, or back."""
        minutes = self.random.choice((0, 0, 1, 1, 3, 10, 40, -30))
        self.time.milliseconds += minutes * MINUTE + self.random.randrange(60_000)

    def tell(self, codec: Codec[Any], stream: str, event: Any) -> None:
        """An event that needs no decision of the house."""
        done(carry_out_one(self.journal, self.command(), codec, stream, lambda _: event))

    # -- furnishing

    def furnish(self) -> None:
        """Games, jackpots, tables, accounts."""
        for ruleset in released_rulesets().values():
            self.activate(ruleset)
        for name, shown in (("pairs", "at-deal"), ("late", "in-turn")):
            self.activate(house_version("frequent-jackpot", name, hands_shown=shown, jackpot_shares=SHARES))
        self.activate(house_version("free-draws", "free", jackpot_shares={}))
        done(self.floor.pit.open_jackpot(self.command("olga"), "grand", "EUR", 5_000))
        done(self.floor.pit.open_jackpot(self.command("olga"), "small", "USD", 0))
        games = ("russian-poker", "five-card-poker", "multibox-russian-poker", "pairs", "late", "free")
        for number, game in enumerate(games):
            self._table(game, game, "EUR", list(Abandoned)[number % 3])
        self._table("dollars", "pairs", "USD", Abandoned.BET)
        self._table("dollars-2", "russian-poker", "USD", Abandoned.FOLD)
        for currency, players in (("EUR", EUROS), ("USD", DOLLARS)):
            for player in players:
                self.tick()
                test = (currency, player) in TESTS
                done(self.floor.cashier.open_account(self.command("kate"), currency, player, test=test))
                self.deposit(player, PURSE, currency)
        done(self.floor.cashier.open_account(self.command("kate"), "JPY", "never-came"))

    def _table(self, table: str, game: str, currency: str, policy: Abandoned) -> None:
        jackpot = {"EUR": "grand", "USD": "small"}[currency] if game in ("pairs", "late") else None
        given = settings(
            game, jackpot, currency=currency, abandoned=policy, limits=limits(ante_max=1_000, bonus_max=200)
        )
        self.open_table(table, given)
        self.tables.append(table)

    # -- an evening

    def step(self) -> None:
        """What somebody does next."""
        self.tick()
        [act] = self.random.choices(
            [self._play, self._open, self._cash, self._correct, self._void, self._leave, self._change],
            [60, 10, 8, 6, 2, 3, 2],
        )  # fmt: skip
        act()

    def _open(self) -> None:
        self.running.append(self.open(self.random.choice(self.tables)).stream)

    def _some(self) -> RoundDone | None:
        """A round that runs; what has ended is forgotten."""
        found = [self.floor.round(stream) for stream in self.running]
        rounds = [each for each in found if each is not None and each.state.phase is not Phase.ENDED]
        self.running = [each.stream for each in rounds]
        return self.random.choice(rounds) if rounds else None

    def _play(self) -> None:
        made = self._some()
        if made is None:
            return self._open()
        if made.state.phase is Phase.BETTING and not made.state.boxes:
            assert made.settings is not None
            known = EUROS if made.settings.currency == "EUR" else DOLLARS
            players = self.random.sample(known, min(3, len(known)))
            self.place(made.stream, *stakes(self.random, made.ruleset, made.settings.limits, players))
        elif made.state.phase is Phase.BETTING:
            self.deal(made.stream)
        else:
            self.choose(made.stream, next_choice(self.random, made.ruleset, made.state))
        return None

    def _cash(self) -> None:
        currency, player = self._account()
        amount, desk = self.random.randint(1, 30_000), self.floor.cashier
        if self.random.random() < 0.5:
            self.deposit(player, amount, currency)
        else:
            desk.withdraw(self.command("kate"), currency, player, amount, "till 2")  # may be refused

    def _account(self) -> tuple[str, str]:
        return self.random.choice([("EUR", player) for player in EUROS] + [("USD", player) for player in DOLLARS])

    def _correct(self) -> None:
        (currency, player), desk = self._account(), self.floor.cashier
        said: dict[str, Any] = {"approver": "olga", "reason": "Tippfehler – zu groß", "reference": "n 7"}
        if self.random.random() < 0.5:
            amount, against = self.random.choice((-700, -1, 5, 300)), self.random.choice(list(Against))
            done(desk.adjust(self.command("kate"), currency, player, amount, against=against, **said))
        else:
            # Most are refused: no event of the desk has this number, or it was reversed before.
            desk.reverse(self.command("kate"), currency, player, self.random.randrange(2, 10), **said)

    def _void(self) -> None:
        made = self._some()
        if made is not None:
            self.choose(made.stream, c.Void("the shoe has burst"))

    def _leave(self) -> None:
        made = self._some()
        if made is not None:
            self.abandon(made)

    def abandon(self, made: RoundDone) -> None:
        """Everybody is gone for hours; the house ends the round."""
        self.time.milliseconds += 200 * MINUTE
        done(self.floor.finish(self.command("leon"), made.stream))

    def _change(self) -> None:
        table = self.floor.pit.table(self.random.choice(self.tables))
        assert table is not None
        given = settings(
            table.settings.ruleset, table.settings.jackpot, currency=table.settings.currency,
            abandoned=self.random.choice(list(Abandoned)), limits=limits(ante_max=1_000, bonus_max=200, payout_max=900),
        )  # fmt: skip
        self.change(table.table, given)

    # -- scenes

    def scenes(self) -> Iterator[None]:
        """One after the other, whenever the next one is asked for."""
        for scene in (
            self._voids, self._bought, self._pot_won_twice, self._dollars, self._voided_jackpot, self._abandoned,
            self._won_much, self._keys, self._looks, self._data_keys, self._log_keys, self._examined,
            self._corrections, self._verified, self._table_gone, self._days, self._receipts, self._examined,
            self._verified,
        ):  # fmt: skip
            self.tick()
            scene()
            yield

    def _voids(self) -> None:
        """Before any stake, before the deal, and with the dealer's hand open."""
        self.choose(self.open("russian-poker").stream, c.Void("nobody came"))
        opened = self.open("pairs")
        self.place(opened.stream, box(1, "anna", bonus=150), box(2, "tess", bonus=7))
        self.choose(opened.stream, c.Void("the lights went out"))
        made = self.dealt("free", box(1, "tom"), box(2, "anna"), wanted=lambda hands: (
            hands.main(1) >= Combination.THREE_OF_A_KIND and hands.dealer is Combination.NO_GAME
        ))  # fmt: skip
        self.choose(made.stream, c.Insure(box=1, stake=100))
        made = self.choose(made.stream, c.Bet(box=1), c.Bet(box=2))
        assert made.state.phase is Phase.REVEALED
        self.choose(made.stream, c.Void("a card fell"))

    def _pot_won_twice(self) -> None:
        """A round was dealt under a pot that another one empties; what the pot has no more, the bank pays."""
        fed = self.dealt("pairs", box(1, "tom", bonus=200), wanted=lambda hands: hands.main(1) is Combination.NO_GAME)
        self.choose(fed.stream, c.Fold(box=1))
        boxes = box(1, "anna"), box(2, "clara", bonus=40)
        late = self.dealt("late", *boxes, wanted=lambda hands: hands.main(2) is Combination.TWO_PAIR)
        first = self.dealt(
            "pairs", box(1, "boris", bonus=150), box(2, "anna", dark=True),
            wanted=lambda hands: hands.main(1) is Combination.TWO_PAIR,
        )  # fmt: skip
        for made in (first, late):
            self.tick()
            self.played_out(made, self.random)

    def _bought(self) -> None:
        """A dark box's sixth card, and the dealer's game, bought by one and not by the other."""
        made = self.dealt(
            "pairs", box(1, "boris"), box(2, "tess"), box(3, "tess", dark=True),
            wanted=lambda hands: hands.dealer is Combination.NO_GAME,
        )  # fmt: skip
        made = self.choose(made.stream, c.Bet(box=1), c.Bet(box=2), c.SixthCard(box=3))
        self.choose(made.stream, c.BuyDealerGame(box=1), c.TakeAnte(box=2))

    def _dollars(self) -> None:
        """Who is a guest in euros is a test in dollars, and the other way round; and a pot that began with nothing."""
        for bonus in (200, 3):
            made = self.dealt("dollars", box(1, "anna", bonus=bonus), box(2, "tess", 200, bonus=50))
            self.played_out(made, self.random)

    def _voided_jackpot(self) -> None:
        """What had been won goes back into the pot."""
        made = self.dealt(
            "pairs", box(1, "anna", bonus=200), box(2, "tess", bonus=9),
            wanted=lambda hands: hands.main(1) is Combination.PAIR,
        )  # fmt: skip
        self.tick()
        self.choose(made.stream, c.Void("wrong cards"))

    def _abandoned(self) -> None:
        """One round of each policy, at each decision that the house must make."""
        for table in ("russian-poker", "five-card-poker", "multibox-russian-poker", "pairs", "late"):
            dark = table in ("pairs", "late")
            self.abandon(self.dealt(table, box(1, "boris"), *([box(2, "tom", dark=True)] if dark else [])))
        made = self.dealt("russian-poker", box(1, "clara"), wanted=lambda hands: hands.dealer is Combination.NO_GAME)
        self.abandon(self.choose(made.stream, c.Bet(box=1)))

    def _won_much(self) -> None:
        """The whole pot for one unit of bonus, and the ante given up."""
        made = self.dealt("pairs", box(1, "clara", bonus=1), wanted=lambda hands: hands.main(1) is Combination.TWO_PAIR)
        self.choose(made.stream, c.Fold(box=1))

    def _keys(self) -> None:
        key = KeyCreated(by="olga", label="", person="Ольга", role=Role.REGULATOR, secret_sha256="ab" * 32)
        self.tell(access.KEY_CODEC, access.key_stream("k1"), key)
        other = msgspec.structs.replace(key, label="till 1", role=Role.CASHIER)
        self.tell(access.KEY_CODEC, access.key_stream("k2"), other)
        self.tell(access.KEY_CODEC, access.key_stream("k1"), KeyRevoked.of(key, by="pavel", reason="left"))

    def _looks(self) -> None:
        """At a round that there is, and at one that there is not."""
        for round_id in (self.open("late").round_id, "0" * 32):
            look = HiddenRead(
                by="rita", key="k1", reason="dispute", role=Role.DISPUTE_OFFICER, round=round_id, what=Hidden.DECK
            )
            self.tell(access.ACCESS_CODEC, access.access_stream(round_id), look)

    def _data_keys(self) -> None:
        for number in (1, 2):
            event = DataKeyRotated(by="kim", data_key=f"{number:016x}", reason=f"year {number}")
            self.tell(access.ACCESS_CODEC, access.DATA_KEYS, event)

    def _log_keys(self) -> None:
        for number, use in enumerate(k.KeyUse):
            added = k.LogKeyAdded(by="clara", first_size=number, key=f"log+{number}+key", reason="first use", use=use)
            self.tell(k.CODEC, k.LOG_KEYS, added)
        ends: tuple[type[Any], ...] = (k.LogKeyRetired, k.LogKeyCompromised)
        for number, kind in enumerate(ends):
            event = kind(by="clara", key=f"log+{number}+key", last_size=90, reason="found on a stick")
            self.tell(k.CODEC, k.LOG_KEYS, event)

    def _examined(self) -> None:
        """Without a control, then the same, then something else; all four statuses."""
        statuses = list(ControlStatus)
        for version, found in (("1", []), ("1", statuses[:2]), ("2", statuses[:3]), ("2", statuses)):
            checks = [ControlExamined([f"mend {status}", "and"], f"c-{status}", ["n"], status) for status in found]
            report = DoctorReported(
                by="cron", checks=checks, configuration=Configuration("aa", "bb", "cc", "dd"),
                software=Software(["x 1"], f"digest {version}", "ff", "3.11", version),
            )  # fmt: skip
            self.tell(DOCTOR_CODEC, DOCTOR, report)

    def _corrections(self) -> None:
        """A deposit, a withdrawal and an adjustment, each undone."""
        desk = self.floor.cashier
        said: dict[str, Any] = {"approver": "olga", "reason": "again", "reference": "n 8"}
        for currency, player in (("EUR", "anna"), ("EUR", "tom"), ("USD", "anna")):
            for move in (
                desk.deposit(self.command("kate"), currency, player, 1_234, "till 1"),
                desk.withdraw(self.command("lisa"), currency, player, 321, "till 1"),
                desk.adjust(self.command("lisa"), currency, player, -55, against=Against.BANK, **said),
                desk.adjust(self.command("kate"), currency, player, 70, against=Against.BONUS, **said),
            ):
                done(desk.reverse(self.command("kate"), currency, player, done(move).seq, **said))
                self.tick()

    def _verified(self) -> None:
        found = [Finding("bytes", field, "event 3", "1", "2", "0" * 32) for field in ("at", None)]
        for findings, scope in (([], ENDED), (found, WHOLE)):
            run = RoundsVerified(
                by="auditor", discrepancies=len(findings), findings=findings, found=len(findings), not_checkable=1,
                rounds=9, scope=scope, software="1", to_position=self.written(), verified=8 - len(findings),
                whole=scope == WHOLE,
            )  # fmt: skip
            self.tell(VERIFICATION_CODEC, VERIFICATION, run)

    def _table_gone(self) -> None:
        self.change("dollars-2", settings("russian-poker", currency="USD", limits=limits(ante_max=500)))
        done(self.floor.pit.close_table(self.command("pavel"), "dollars-2", "broken"))
        self.tables.remove("dollars-2")

    def _days(self) -> None:
        self.tell(DAYS_CODEC, DAYS, DayBegun(by="cron", day="2026-09-22"))
        fold = DayFold(None)
        for position, record in self.everything():
            fold.take(position, record)
        self.tell(DAYS_CODEC, DAYS, fold.comes_to(day="2026-09-21", by="cron", root="00" * 32))

    def _receipts(self) -> None:
        """No log is kept here, so the house would not say it."""
        opened = self.open("pairs")
        placed = self.place(opened.stream, box(1, "boris"))
        accepted = WagersAccepted(
            checkpoint_root="11" * 32, checkpoint_size=5, round=opened.round_id, wagers=wagers_in(placed.events, 1)
        )
        self.tell(WAGER_CODEC, receipt_stream(opened.round_id), accepted)

    def leave_open(self) -> None:
        """Rounds that nobody ends: opened, staked, dealt, and with a decision made."""
        self.open("late")
        self.open("dollars")
        self.place(self.open("pairs").stream, box(1, "anna", bonus=10), box(2, "tess", 300))
        self.dealt("multibox-russian-poker", box(1, "boris"), box(2, "boris", dark=True))
        made = self.dealt("pairs", box(1, "clara"), box(2, "tess", bonus=30))
        made = self.choose(made.stream, c.Exchange(box=1, discard=(0, 4)))
        assert made.state.phase is not Phase.ENDED
