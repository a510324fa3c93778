"""What should somebody look at?  Corrections, voids, overrides, decisions of the house, large wins, changes, looks.

Table: `exception`, one row each; before and after are canonical JSON.  Rebuild: dealproof project rebuild exceptions.

Not here: what an examination or a verification found (`verdicts`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Final

import msgspec

from domain import access, activation, doctor
from domain import account as a
from domain import jackpot as j
from domain import table as t
from domain.codec import Event
from domain.ledger import Wager
from domain.log import events as log_keys
from domain.record import canonical_json
from domain.round import events as e
from projections.feed import Fact
from projections.projection import Handler, Projection, TestAccounts, flush
from projections.store import Table, columns

EXCEPTION: Final = Table(
    "exception",
    columns(
        "position int, nth int, at time, kind text, subject text, by text, approver text?, reason text?,"
        "currency text?, amount int?, table_name text?, round text?, player text?, before text?, after text?, test bool"
    ),
    ("position", "nth"),
    ("(kind, position)", "(at)"),
)

LARGE_WIN: Final = 20
"""A round is a large win for a player whom it brings at least so many times what he had staked in it."""

_WHOLE: Final = 2**62
"""Above every seq."""

HOUSE: Final = "house"
"""Who did what no person is named for."""

_DECISIONS: Final = (
    e.ExchangeBought, e.SixthCardBought, e.SixthCardDeclined, e.InsuranceBought, e.BetMade, e.BoxFolded,
    e.DealerGameBought, e.AnteTaken,
)  # fmt: skip
"""Decisions, which the house may have made."""


class Exceptions(Projection):
    NAME: ClassVar[str] = "exceptions"
    VERSION: ClassVar[int] = 2
    QUESTION: ClassVar[str] = "What should somebody look at?"
    TABLES: ClassVar[tuple[Table, ...]] = (EXCEPTION,)

    def __init__(self) -> None:
        self._tests = TestAccounts()
        self._rows: list[tuple[object, ...]] = []

    def handlers(self) -> Mapping[type[Event], Handler]:
        return {
            a.AccountOpened: self._account_opened, a.FundsAdjusted: self._corrected, a.FundsReversed: self._corrected,
            a.RoundFinished: self._finished, a.FundsWon: self._won,
            **dict.fromkeys(_DECISIONS, self._decided),
            e.RoundVoided: self._voided, access.RoundIntervened: self._override, access.HiddenRead: self._look,
            access.DataKeyRotated: self._rotated, access.KeyCreated: self._key, access.KeyRevoked: self._key,
            t.TableOpened: self._table, t.TableChanged: self._table, t.TableClosed: self._table_closed,
            activation.RulesetPublished: self._published, activation.ActivationProposed: self._proposed,
            activation.RulesetActivated: self._activated, j.JackpotOpened: self._jackpot,
            log_keys.LogKeyAdded: self._log_key, log_keys.LogKeyRetired: self._log_key,
            log_keys.LogKeyCompromised: self._log_key, doctor.DoctorReported: self._examined,
        }  # fmt: skip

    def forget(self) -> None:
        self._tests = TestAccounts()
        self._rows.clear()

    def write(self) -> None:
        self.store.add("exception", flush(self._rows))

    def _note(self, fact: Fact, kind: str, by: str, **rest: Any) -> None:
        """One row; what isn't said is null."""
        after, before = rest.get("after"), rest.get("before")
        self._rows.append((
            fact.position, 0, fact.at, kind, rest.get("subject", fact.stream), by, rest.get("approver"),
            rest.get("reason"), rest.get("currency"), rest.get("amount"), rest.get("table"), rest.get("round"),
            rest.get("player"), None if before is None else _text(before), None if after is None else _text(after),
            rest.get("test", False),
        ))  # fmt: skip

    # -- accounts

    def _account_opened(self, fact: Fact) -> None:
        self._tests.opened(fact.stream, fact.event.test)

    def _account(self, fact: Fact) -> dict[str, Any]:
        _, currency, player = fact.stream.split(":", 2)
        return {"currency": currency, "player": player, "test": self._tests.has(self.store, fact.stream)}

    def _corrected(self, fact: Fact) -> None:
        event: a.FundsAdjusted | a.FundsReversed = fact.event
        kind = "adjustment" if isinstance(event, a.FundsAdjusted) else "reversal"
        self._note(
            fact, kind, event.by, approver=event.approver, reason=event.reason, amount=event.amount,
            **self._account(fact),
        )  # fmt: skip

    def _finished(self, fact: Fact) -> None:
        event: a.RoundFinished = fact.event
        if event.ending is a.Ending.CLOSED and event.staked and event.net >= LARGE_WIN * event.staked:
            self._note(
                fact, "large-win", HOUSE, amount=event.net, table=event.table, round=event.round, **self._account(fact)
            )

    def _won(self, fact: Fact) -> None:
        event: a.FundsWon = fact.event
        jackpot = sum(posting.amount for posting in event.postings if posting.wager is Wager.JACKPOT)
        if jackpot:
            self._note(
                fact, "jackpot-win", HOUSE, amount=jackpot, table=self._table_of(event.round), round=event.round,
                **self._account(fact),
            )  # fmt: skip

    # -- rounds

    def _decided(self, fact: Fact) -> None:
        event: Any = fact.event
        if event.by is e.By.HOUSE:
            after = {"box": event.box, "decision": event.NAME}
            self._note(fact, "automatic-decision", HOUSE, after=after, **self._round(fact))

    def _round(self, fact: Fact) -> dict[str, Any]:
        return {"round": fact.stream.removeprefix("round:"), **self._of_round(fact.stream, fact.position)}

    def _voided(self, fact: Fact) -> None:
        event: e.RoundVoided = fact.event
        refunds = sum(refund.amount for refund in event.refunds)
        opened = self._opening(fact.stream)
        self._note(
            fact, "void", HOUSE, reason=event.reason, amount=refunds,
            currency=None if opened is None else opened.currency, **self._round(fact),
        )  # fmt: skip

    def _override(self, fact: Fact) -> None:
        event: access.RoundIntervened = fact.event
        self._note(
            fact, "override", event.by, reason=event.reason, subject=f"round:{event.round}", round=event.round,
            after={"action": event.action.value}, **self._of_round(f"round:{event.round}", fact.position),
        )  # fmt: skip

    def _look(self, fact: Fact) -> None:
        event: access.HiddenRead = fact.event
        self._note(
            fact, "hidden-read", event.by, reason=event.reason, subject=f"round:{event.round}", round=event.round,
            after={"key": event.key, "role": event.role.value, "what": event.what.value},
            **self._of_round(f"round:{event.round}", fact.position),
        )  # fmt: skip

    def _of_round(self, stream: str, position: int) -> dict[str, Any]:
        """Its table, and whether only test accounts had staked in it by then."""
        facts = [fact for fact in self.store.earlier.below(stream, _WHOLE) if fact.position < position]
        if not facts or not isinstance(facts[0].event, e.RoundOpened):
            return {"table": None}
        opened = facts[0].event
        players = {fact.event.player for fact in facts if isinstance(fact.event, e.BoxPlaced)}
        tests = [self._tests.has(self.store, a.account_stream(opened.currency, player)) for player in players]
        return {"table": opened.table, "test": bool(tests) and all(tests)}

    def _table_of(self, round_id: str) -> str | None:
        opened = self._opening(f"round:{round_id}")
        return None if opened is None else opened.table

    def _opening(self, stream: str) -> e.RoundOpened | None:
        first = self.store.earlier.first(stream)
        return first.event if first is not None and isinstance(first.event, e.RoundOpened) else None

    # -- what the house is played under

    def _changed(self, fact: Fact, by: str, reason: str | None, before: object, after: object, **rest: Any) -> None:
        self._note(fact, "configuration-change", by, reason=reason, before=before, after=after, **rest)

    def _table(self, fact: Fact) -> None:
        event: t.TableOpened | t.TableChanged = fact.event
        before = self._earlier(fact, (t.TableOpened, t.TableChanged))
        settings = None if before is None else before.settings
        self._changed(fact, event.by, event.reason, settings, event.settings, table=_name(fact))

    def _table_closed(self, fact: Fact) -> None:
        event: t.TableClosed = fact.event
        self._changed(fact, event.by, event.reason, {"closed": False}, {"closed": True}, table=_name(fact))

    def _published(self, fact: Fact) -> None:
        self._changed(fact, HOUSE, None, None, {"digest": fact.event.digest})

    def _proposed(self, fact: Fact) -> None:
        self._changed(fact, fact.event.by, fact.event.reason, None, {"proposed": True})

    def _activated(self, fact: Fact) -> None:
        event: activation.RulesetActivated = fact.event
        self._changed(
            fact, event.proposed_by, event.reason, {"active": False}, {"active": True}, approver=event.by
        )

    def _jackpot(self, fact: Fact) -> None:
        event: j.JackpotOpened = fact.event
        after = {"currency": event.after.currency, "seed_amount": event.after.seed_amount}
        self._changed(fact, event.by, None, None, after, currency=event.after.currency)

    def _rotated(self, fact: Fact) -> None:
        event: access.DataKeyRotated = fact.event
        before = self._earlier(fact, (access.DataKeyRotated,))
        old = None if before is None else {"data_key": before.data_key}
        self._changed(fact, event.by, event.reason, old, {"data_key": event.data_key})

    def _log_key(self, fact: Fact) -> None:
        event: Any = fact.event
        after = msgspec.structs.asdict(event)
        by, reason = after.pop("by"), after.pop("reason")
        self._changed(fact, by, reason, None, {**after, "event": event.NAME})

    def _examined(self, fact: Fact) -> None:
        event: doctor.DoctorReported = fact.event
        earlier = self._earlier(fact, (doctor.DoctorReported,))
        before, after = None if earlier is None else _digests(earlier), _digests(event)
        if before != after:
            self._changed(fact, event.by, None, before, after)

    def _key(self, fact: Fact) -> None:
        event: access.KeyCreated | access.KeyRevoked = fact.event
        key = {"label": event.label, "person": event.person, "role": event.role.value}
        if isinstance(event, access.KeyCreated):
            self._note(fact, "access-change", event.by, after=key)
        else:
            self._note(fact, "access-change", event.by, reason=event.reason, before=key)

    def _earlier(self, fact: Fact, kinds: Sequence[type[Event]]) -> Any:
        """The last event of these kinds before this one in its stream."""
        found = self.store.earlier.newest(fact.stream, fact.seq, kinds) if fact.seq else None
        return None if found is None else found.event


def _name(fact: Fact) -> str:
    return fact.stream.partition(":")[2]


def _digests(event: doctor.DoctorReported) -> dict[str, str]:
    return {
        "configuration": event.configuration.digest, "software": event.software.digest,
        "version": event.software.version,
    }  # fmt: skip


def _text(value: object) -> str:
    return canonical_json(msgspec.to_builtins(value)).decode()
