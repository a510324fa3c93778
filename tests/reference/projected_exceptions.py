"""What `exceptions` and `verdicts` must hold.  Source: the tables' texts and the events' own.

A kind of exception is a function that looks through the journal for its own; amounts come from postings and from the
round's facts.

Not here: money and rounds (`projected_money`, `projected_rounds`).
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import msgspec

from domain import access, activation, doctor, verification
from domain import account as a
from domain import jackpot as j
from domain import table as t
from domain.codec import Event
from domain.log import events as log_keys
from domain.round import events as e
from tests.reference.projected_journal import Journal, Row, Seen, for_tests, of_kind, of_stream

LARGE = 20
"""Times its stakes that a round brings a player net, for a large win."""

Said = dict[str, Any]


def exception(journal: Journal) -> list[Row]:
    """One row each, in the columns' order."""
    return [
        (
            seen.position, 0, seen.at, said["kind"], said.get("subject", seen.stream), said["by"],
            said.get("approver"), said.get("reason"), said.get("currency"), said.get("amount"), said.get("table"),
            said.get("round"), said.get("player"), _text(said.get("before")), _text(said.get("after")),
            said.get("test", False),
        )
        for kind in (_corrections, _large_wins, _jackpot_wins, _automatic, _voids, _interventions, _looks, _keys)
        for seen, said in kind(journal)
    ] + [
        (
            seen.position, 0, seen.at, "configuration-change", seen.stream, said["by"], said.get("approver"),
            said.get("reason"), said.get("currency"), None, said.get("table"), None, None, _text(said.get("before")),
            _text(said.get("after")), False,
        )
        for kind in (_tables, _rulesets, _jackpots, _data_keys, _log_keys, _examinations)
        for seen, said in kind(journal)
    ]  # fmt: skip


def _text(value: object) -> str | None:
    if value is None:
        return None
    return json.dumps(msgspec.to_builtins(value), sort_keys=True, separators=(",", ":"), ensure_ascii=False)


def _whose(journal: Journal, seen: Seen) -> Said:
    currency, player = seen.account
    return {"currency": currency, "player": player, "test": seen.account in for_tests(journal)}


def _tests_only(journal: Journal, round_id: str, seen: Seen) -> bool:
    """Whether somebody had staked in a round by then, and nobody but test accounts."""
    own = [other for other in of_stream(journal, f"round:{round_id}") if other.position < seen.position]
    whose = {(opened.event.currency, placed.event.player)
             for opened in of_kind(own, e.RoundOpened) for placed in of_kind(own, e.BoxPlaced)}  # fmt: skip
    return bool(whose) and whose <= for_tests(journal)


def _table_of(journal: Journal, round_id: str) -> str | None:
    """None where there is no such round."""
    opened = of_kind(of_stream(journal, f"round:{round_id}"), e.RoundOpened)
    return opened[0].event.table if opened else None


# -- money


def _corrections(journal: Journal) -> Iterator[tuple[Seen, Said]]:
    for seen in of_kind(journal, a.FundsAdjusted, a.FundsReversed):
        event = seen.event
        kind = "adjustment" if isinstance(event, a.FundsAdjusted) else "reversal"
        rest = {"approver": event.approver, "reason": event.reason, "amount": event.amount}
        yield seen, {"kind": kind, "by": event.by, **rest, **_whose(journal, seen)}


def _large_wins(journal: Journal) -> Iterator[tuple[Seen, Said]]:
    for seen in of_kind(journal, a.RoundFinished):
        round_id = seen.event.round
        own = [other for other in of_stream(journal, seen.stream) if getattr(other.event, "round", None) == round_id]
        staked, back = _posted(own, a.FundsStaked), _posted(own, a.FundsReturned, a.FundsWon)
        voided = of_kind(of_stream(journal, f"round:{round_id}"), e.RoundVoided)
        if not voided and staked and back - staked >= LARGE * staked:
            where = {"table": _table_of(journal, round_id), "round": round_id}
            yield seen, {"kind": "large-win", "by": "house", "amount": back - staked, **where, **_whose(journal, seen)}


def _posted(entries: list[Seen], *kinds: type[Event]) -> int:
    return sum(posting.amount for seen in of_kind(entries, *kinds) for posting in seen.event.postings)


def _jackpot_wins(journal: Journal) -> Iterator[tuple[Seen, Said]]:
    """The round's own facts say what was won; the posting says which of them it pays."""
    for seen in of_kind(journal, a.FundsWon):
        round_id, paid = seen.event.round, {posting.seq for posting in seen.event.postings}
        won = [
            fact.event.amount for fact in of_kind(of_stream(journal, f"round:{round_id}"), e.JackpotWon)
            if fact.seq in paid
        ]  # fmt: skip
        if sum(won):
            where = {"table": _table_of(journal, round_id), "round": round_id}
            yield seen, {"kind": "jackpot-win", "by": "house", "amount": sum(won), **where, **_whose(journal, seen)}


# -- rounds


def _automatic(journal: Journal) -> Iterator[tuple[Seen, Said]]:
    for seen in journal:
        if seen.kind == "round" and getattr(seen.event, "by", None) == "house":
            after = {"box": seen.event.box, "decision": seen.event.NAME}
            tests = _tests_only(journal, seen.name, seen)
            where = {"table": _table_of(journal, seen.name), "round": seen.name, "test": tests}
            yield seen, {"kind": "automatic-decision", "by": "house", "after": after, **where}


def _voids(journal: Journal) -> Iterator[tuple[Seen, Said]]:
    """The amount is what the boxes still lacked: stakes and fees less what they had been paid before the void."""
    for seen in of_kind(journal, e.RoundVoided):
        before = [other for other in of_kind(journal, a.RoundEntry) if other.position < seen.position]
        own = [other for other in before if other.event.round == seen.name]
        lacking = _posted(own, a.FundsStaked) - _posted(own, a.FundsReturned, a.FundsWon)
        currency = of_stream(journal, seen.stream)[0].event.currency
        yield seen, {
            "kind": "void", "by": "house", "reason": seen.event.reason, "amount": lacking, "currency": currency,
            "table": _table_of(journal, seen.name), "round": seen.name, "test": _tests_only(journal, seen.name, seen),
        }  # fmt: skip


def _interventions(journal: Journal) -> Iterator[tuple[Seen, Said]]:
    for seen in of_kind(journal, access.RoundIntervened):
        yield seen, {
            "kind": "override", "by": seen.event.by, "reason": seen.event.reason, "round": seen.event.round,
            "subject": f"round:{seen.event.round}", "table": _table_of(journal, seen.event.round),
            "after": {"action": str(seen.event.action)}, "test": _tests_only(journal, seen.event.round, seen),
        }  # fmt: skip


def _looks(journal: Journal) -> Iterator[tuple[Seen, Said]]:
    for seen in of_kind(journal, access.HiddenRead):
        event = seen.event
        yield seen, {
            "kind": "hidden-read", "by": event.by, "reason": event.reason, "round": event.round,
            "subject": f"round:{event.round}", "table": _table_of(journal, event.round),
            "after": {"key": event.key, "role": str(event.role), "what": str(event.what)},
            "test": _tests_only(journal, event.round, seen),
        }  # fmt: skip


# -- access and configuration


def _keys(journal: Journal) -> Iterator[tuple[Seen, Said]]:
    for seen in of_kind(journal, access.KeyCreated, access.KeyRevoked):
        key = {"label": seen.event.label, "person": seen.event.person, "role": str(seen.event.role)}
        if isinstance(seen.event, access.KeyCreated):
            yield seen, {"kind": "access-change", "by": seen.event.by, "after": key}
        else:
            yield seen, {"kind": "access-change", "by": seen.event.by, "reason": seen.event.reason, "before": key}


def _before(journal: Journal, seen: Seen, *kinds: type[Event]) -> Any:
    """The last event of these types before one in its stream, None if there is none."""
    earlier = [other for other in of_kind(of_stream(journal, seen.stream), *kinds) if other.position < seen.position]
    return earlier[-1].event if earlier else None


def _tables(journal: Journal) -> Iterator[tuple[Seen, Said]]:
    for seen in of_kind(journal, t.TableOpened, t.TableChanged, t.TableClosed):
        said = {"by": seen.event.by, "reason": seen.event.reason, "table": seen.name}
        if isinstance(seen.event, t.TableClosed):
            yield seen, {**said, "before": {"closed": False}, "after": {"closed": True}}
            continue
        old = _before(journal, seen, t.TableOpened, t.TableChanged)
        yield seen, {**said, "before": None if old is None else old.settings, "after": seen.event.settings}


def _rulesets(journal: Journal) -> Iterator[tuple[Seen, Said]]:
    for seen in of_kind(journal, activation.RulesetPublished):
        yield seen, {"by": "house", "after": {"digest": seen.event.digest}}
    for seen in of_kind(journal, activation.ActivationProposed):
        yield seen, {"by": seen.event.by, "reason": seen.event.reason, "after": {"proposed": True}}
    for seen in of_kind(journal, activation.RulesetActivated):
        proposed = _before(journal, seen, activation.ActivationProposed)
        yield seen, {
            "by": proposed.by, "approver": seen.event.by, "reason": seen.event.reason, "before": {"active": False},
            "after": {"active": True},
        }  # fmt: skip


def _jackpots(journal: Journal) -> Iterator[tuple[Seen, Said]]:
    for seen in of_kind(journal, j.JackpotOpened):
        currency, seed_amount = seen.event.after.currency, seen.event.after.seed_amount
        after = {"currency": currency, "seed_amount": seed_amount}
        yield seen, {"by": seen.event.by, "currency": currency, "after": after}


def _data_keys(journal: Journal) -> Iterator[tuple[Seen, Said]]:
    for seen in of_kind(journal, access.DataKeyRotated):
        old = _before(journal, seen, access.DataKeyRotated)
        yield seen, {
            "by": seen.event.by, "reason": seen.event.reason, "after": {"data_key": seen.event.data_key},
            "before": None if old is None else {"data_key": old.data_key},
        }  # fmt: skip


def _log_keys(journal: Journal) -> Iterator[tuple[Seen, Said]]:
    for seen in of_kind(journal, log_keys.LogKeyAdded):
        event = seen.event
        after = {"event": event.NAME, "first_size": event.first_size, "key": event.key, "use": str(event.use)}
        yield seen, {"by": event.by, "reason": event.reason, "after": after}
    for seen in of_kind(journal, log_keys.LogKeyRetired, log_keys.LogKeyCompromised):
        event = seen.event
        after = {"event": event.NAME, "key": event.key, "last_size": event.last_size}
        yield seen, {"by": event.by, "reason": event.reason, "after": after}


def _examinations(journal: Journal) -> Iterator[tuple[Seen, Said]]:
    """Only where the program or what it works under is another than the examination before had found."""
    reports = of_kind(journal, doctor.DoctorReported)
    for nth, seen in enumerate(reports):
        before = _found_there(reports[nth - 1]) if nth else None
        if _found_there(seen) != before:
            yield seen, {"by": seen.event.by, "before": before, "after": _found_there(seen)}


def _found_there(seen: Seen) -> dict[str, str]:
    software, configuration = seen.event.software, seen.event.configuration
    return {"configuration": configuration.digest, "software": software.digest, "version": software.version}


# -- verdicts


def verification_(journal: Journal) -> list[Row]:
    """One row a run."""
    return [
        (
            seen.position, seen.at, seen.event.by, seen.event.scope, seen.event.whole, seen.event.to_position,
            seen.event.rounds, seen.event.verified, seen.event.not_checkable, seen.event.discrepancies,
        )
        for seen in of_kind(journal, verification.RoundsVerified)
    ]  # fmt: skip


def finding(journal: Journal) -> list[Row]:
    """One row a discrepancy, numbered in its run."""
    rows: list[Row] = []
    for seen in of_kind(journal, verification.RoundsVerified):
        for one in seen.event.findings:
            nth = len([row for row in rows if row[0] == seen.position])
            rows.append((
                seen.position, nth, one.round, one.check, one.place, one.field, one.recorded, one.recomputed,
            ))  # fmt: skip
    return rows


def examination(journal: Journal) -> list[Row]:
    """One row a look; its status is the worst of its controls."""
    rows: list[Row] = []
    for seen in of_kind(journal, doctor.DoctorReported):
        found = {str(control.status) for control in seen.event.checks}
        worst = next((status for status in ("finding", "not-checkable", "note") if status in found), "ok")
        findings = [text for control in seen.event.checks for text in control.findings]
        rows.append((
            seen.position, seen.at, seen.event.by, worst, len(findings), seen.event.software.version,
            seen.event.software.digest, seen.event.configuration.digest,
        ))  # fmt: skip
    return rows
