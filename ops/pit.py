"""The pit: tables and jackpots are opened and changed, rulesets activated by two people.

Not here: what may be done (`domain.table`, `domain.jackpot`, `domain.activation`), the rounds (`ops.floor`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

from domain import activation as v
from domain import jackpot as j
from domain import table as t
from domain.account import is_name, name_refusal
from domain.activation import RulesetActivated, RulesetEvent, ruleset_stream
from domain.jackpot import JackpotState, jackpot_stream
from domain.round.refusals import Refusal, RefusalCode
from domain.ruleset import Ruleset
from domain.table import TableSettings, TableState, table_stream
from ops.commands import Command, carry_out_one, newest
from ops.journal import Journal, Stored
from ops.rulesets import known_rulesets


@dataclass(frozen=True)
class TableDone:
    """A table after an event of its own: its state, the settings that hold, the event's place and time."""

    table: str
    seq: int
    at: str
    state: TableState
    settings: TableSettings


@dataclass(frozen=True)
class JackpotDone:
    """A jackpot after an event of its own."""

    jackpot: str
    seq: int
    at: str
    state: JackpotState


@dataclass(frozen=True)
class RulesetDone:
    """A ruleset version after an event of its own: who proposed it, who approved it, if anybody has."""

    name: str
    seq: int
    at: str
    event: RulesetEvent

    @property
    def active(self) -> bool:
        """Whether tables may be set to it."""
        return isinstance(self.event, RulesetActivated)


class Pit:
    """Works on a journal; safe to share among threads."""

    def __init__(self, journal: Journal) -> None:
        self.journal = journal
        self._by_digest: dict[str, Ruleset] = {}
        # What an event says never changes, so it may be remembered.
        self.settings_at = lru_cache(maxsize=4096)(self._settings_at)

    # -- reading

    def table(self, table: str) -> TableDone | None:
        """A table as it stands, None if there is none."""
        stored = newest(self.journal, table_stream(table))
        return None if stored is None else self.read_table(stored)

    def tables(self, after: str, limit: int) -> list[TableDone]:
        """Tables in the order of their names, behind `after`."""
        found = self.journal.heads_between(table_stream(after), "table;", limit)
        return [self.read_table(stored) for stored in found]

    def jackpot(self, jackpot: str) -> JackpotDone | None:
        """A jackpot as it stands, None if there is none."""
        stored = newest(self.journal, jackpot_stream(jackpot))
        return None if stored is None else read_jackpot(stored)

    def jackpots(self, after: str, limit: int) -> list[JackpotDone]:
        """Jackpots in the order of their names, behind `after`."""
        found = self.journal.heads_between(jackpot_stream(after), "jackpot;", limit)
        return [read_jackpot(stored) for stored in found]

    def ruleset(self, name: str) -> RulesetDone | None:
        """A ruleset version as it stands, None if it isn't published."""
        stored = newest(self.journal, ruleset_stream(name))
        return None if stored is None else _read_ruleset(stored)

    def rulesets(self, after: str, limit: int) -> list[RulesetDone]:
        """Published ruleset versions in the order of their names, behind `after`."""
        found = self.journal.heads_between(ruleset_stream(after), "ruleset;", limit)
        return [_read_ruleset(stored) for stored in found]

    def known(self, name: str) -> Ruleset | None:
        """The published ruleset of this name, as the engine reads it."""
        for afresh in (False, True):
            for ruleset in self.known_by_digest(afresh=afresh).values():
                if ruleset.name == name:
                    return ruleset
        return None

    def known_as(self, digest: str) -> Ruleset | None:
        """The published ruleset whose document has this hex digest."""
        return self.known_by_digest().get(digest) or self.known_by_digest(afresh=True).get(digest)

    def known_by_digest(self, *, afresh: bool = False) -> dict[str, Ruleset]:
        """Every published ruleset by the hex digest of its document; what was published lately is read `afresh`."""
        if afresh or not self._by_digest:
            self._by_digest = {ruleset.digest.hex(): ruleset for ruleset in known_rulesets(self.journal)}
        return self._by_digest

    def read_table(self, stored: Stored) -> TableDone:
        """An event of a table as a value."""
        record = t.CODEC.decode(stored.record.body)
        table, state = stored.record.stream.removeprefix("table:"), record.data.after
        settings = getattr(record.data, "settings", None) or self.settings_at(table, state.settings)
        return TableDone(table, stored.record.seq, record.at, state, settings)

    def settings_of_round(self, stream: str, opening: int) -> TableSettings | None:
        """The settings under which a table numbered a round; None where no table was kept.

        They stand in the event right behind the opening one, whose position is `opening`.
        """
        for behind in self.journal.read_positions([opening + 1]):
            kind, _, table = behind.record.stream.partition(":")
            numbered = t.CODEC.decode(behind.record.body).data if kind == "table" else None
            if isinstance(numbered, t.RoundNumbered) and f"round:{numbered.round}" == stream:
                return self.settings_at(table, numbered.after.settings)
        return None

    def _settings_at(self, table: str, seq: int) -> TableSettings:
        stored = self.journal.read_event(table_stream(table), seq)
        if stored is None:
            raise LookupError(f"table {table}: its settings, event {seq}, are missing")
        settings: TableSettings = t.CODEC.decode(stored.record.body).data.settings  # type: ignore[attr-defined]
        return settings

    # -- tables

    def open_table(self, command: Command, table: str, settings: TableSettings, reason: str) -> TableDone | Refusal:
        """A new table; its rounds are numbered on from those that were opened under its name before."""

        def decide(head: TableDone | None) -> t.TableEvent | Refusal:
            if not is_name(table):
                return name_refusal("table's name")
            ruleset = self._active(settings.ruleset)
            if isinstance(ruleset, Refusal):
                return ruleset
            return t.open_table(
                None if head is None else head.state,
                settings,
                table=table,
                ruleset=ruleset,
                jackpot=self._jackpot_of(settings),
                by=command.by,
                reason=reason,
                number=self.journal.next_round_number(table) - 1,
            )

        return self._on_table(command, table, decide)

    def change_table(
        self, command: Command, table: str, settings: TableSettings, reason: str, expected: int | None = None
    ) -> TableDone | Refusal:
        """New settings for rounds opened from now on.  `expected`: the seq of the settings that the sender has seen."""

        def decide(head: TableDone | None) -> t.TableEvent | Refusal:
            if head is None:
                return unknown_table(table)
            if expected is not None and expected != head.state.settings:
                text = f"Table {table} was changed meanwhile (event {head.state.settings}, not {expected})."
                return Refusal(RefusalCode.TABLE_CHANGED, text)
            ruleset = self._active(settings.ruleset)
            if isinstance(ruleset, Refusal):
                return ruleset
            return t.change_table(
                head.state,
                head.seq + 1,
                head.settings,
                settings,
                table=table,
                ruleset=ruleset,
                jackpot=self._jackpot_of(settings),
                by=command.by,
                reason=reason,
            )

        return self._on_table(command, table, decide)

    def close_table(self, command: Command, table: str, reason: str) -> TableDone | Refusal:
        """No more rounds at this table; those that run are finished."""

        def decide(head: TableDone | None) -> t.TableEvent | Refusal:
            if head is None:
                return unknown_table(table)
            return t.close_table(head.state, table=table, by=command.by, reason=reason)

        return self._on_table(command, table, decide)

    def _active(self, name: str) -> Ruleset | Refusal:
        """Tables are set to active rulesets only."""
        done, ruleset = self.ruleset(name), self.known(name)
        if done is None or ruleset is None:
            return v.unknown_ruleset(name)
        if not done.active:
            text = f"Ruleset {name} is not active: two people must activate it first."
            return Refusal(RefusalCode.RULESET_NOT_ACTIVE, text)
        return ruleset

    def _jackpot_of(self, settings: TableSettings) -> JackpotState | None:
        done = None if settings.jackpot is None else self.jackpot(settings.jackpot)
        return None if done is None else done.state

    def _on_table(
        self, command: Command, table: str, decide: Callable[[TableDone | None], t.TableEvent | Refusal]
    ) -> TableDone | Refusal:
        def decide_here(stored: Stored | None) -> t.TableEvent | Refusal:
            return decide(None if stored is None else self.read_table(stored))

        carried = carry_out_one(self.journal, command, t.CODEC, table_stream(table), decide_here)
        return carried if isinstance(carried, Refusal) else self.read_table(carried.last)

    # -- jackpots and rulesets

    def open_jackpot(self, command: Command, jackpot: str, currency: str, seed_amount: int) -> JackpotDone | Refusal:
        """A new jackpot, its pot filled with the seed amount by the bank."""
        def decide(stored: Stored | None) -> j.JackpotEvent | Refusal:
            state = None if stored is None else read_jackpot(stored).state
            return j.open_jackpot(state, jackpot=jackpot, currency=currency, seed_amount=seed_amount, by=command.by)

        carried = carry_out_one(self.journal, command, j.CODEC, jackpot_stream(jackpot), decide)
        return carried if isinstance(carried, Refusal) else read_jackpot(carried.last)

    def propose_ruleset(self, command: Command, name: str, reason: str) -> RulesetDone | Refusal:
        """The first of two people who activate a ruleset version."""
        return self._on_ruleset(command, name, lambda head: v.propose(head, name=name, by=command.by, reason=reason))

    def approve_ruleset(self, command: Command, name: str, reason: str) -> RulesetDone | Refusal:
        """The second of two people who activate a ruleset version."""
        return self._on_ruleset(command, name, lambda head: v.approve(head, name=name, by=command.by, reason=reason))

    def _on_ruleset(
        self, command: Command, name: str, decide: Callable[[RulesetEvent | None], RulesetEvent | Refusal]
    ) -> RulesetDone | Refusal:
        def decide_here(stored: Stored | None) -> RulesetEvent | Refusal:
            return decide(None if stored is None else _read_ruleset(stored).event)

        carried = carry_out_one(self.journal, command, v.CODEC, ruleset_stream(name), decide_here)
        return carried if isinstance(carried, Refusal) else _read_ruleset(carried.last)


def read_jackpot(stored: Stored) -> JackpotDone:
    """An event of a jackpot as a value."""
    record = j.CODEC.decode(stored.record.body)
    jackpot = stored.record.stream.removeprefix("jackpot:")
    return JackpotDone(jackpot, stored.record.seq, record.at, record.data.after)


def _read_ruleset(stored: Stored) -> RulesetDone:
    record = v.CODEC.decode(stored.record.body)
    return RulesetDone(stored.record.stream.removeprefix("ruleset:"), stored.record.seq, record.at, record.data)


def unknown_table(table: str) -> Refusal:
    """There is no such table."""
    return Refusal(RefusalCode.TABLE_UNKNOWN, f"There is no table {table!r}.")
