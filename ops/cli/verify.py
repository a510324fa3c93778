"""`dealproof verify`: is a round's record true, are all of them?

Output and exit status: docs/formats/verdict.md.

Not here: the verification (`replay`), reading the journal (`ops.bulk_verify`).
"""

from __future__ import annotations

import sys
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import msgspec

from domain.record import BodyError
from domain.round.codec import decode
from domain.round.events import RoundOpened
from domain.rulesets import released_rulesets
from ops.cli.ladder import finding_text, print_ladder
from ops.cli.output import UsageError, data_console, progress_console, write_json_line
from ops.cli.persons import login_name, record_text
from ops.cli.progress import progress
from ops.logs import logger
from ops.settings import Settings

if TYPE_CHECKING:
    from ops.accounts_proof import Proof
    from ops.bulk_verify import Filters, Tally
    from ops.journal import Journal

SHOWN_UNCLEAN = 20
"""How many unclean verdicts are written out for people; --json has all."""


@click.command()
@click.argument("round_name", metavar="[ROUND|FILE]", required=False)
@click.option("--all", "every", is_flag=True, help="Every round that the filters let through.")
@click.option("--accounts", is_flag=True, help="Prove every balance, and that the house's books sum to zero.")
@click.option("--day", metavar="DAY", help="Prove that nothing of this day (2026-12-01) is missing, doubled or added.")
@click.option("--since", metavar="TIME", help="Rounds opened at or after this UTC time (2026-11-30 or …T12:00:00Z).")
@click.option("--until", metavar="TIME", help="Rounds opened before this UTC time.")
@click.option("--table", help="Rounds of this table.")
@click.option("--ruleset", help="Rounds under this ruleset, as in russian-poker@1.")
@click.option("--workers", type=click.IntRange(1, 256), default=1, show_default=True, help="Processes to spread over.")
@click.option("--afresh", is_flag=True, help="Begin again, even if an interrupted run could go on.")
@click.option("--trust", "trust_path", type=click.Path(path_type=Path), help="The keys that you believe.")
@click.option("--record", "kept", is_flag=True, help="With --all: keep in the journal what came out.")
@click.option("--by", metavar="NAME", callback=record_text, default="", help="Who records it; else the login name.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object a round on stdout.")
@click.pass_obj
def verify(
    settings: Settings,
    round_name: str | None,
    every: bool,
    accounts: bool,
    day: str | None,
    since: str | None,
    until: str | None,
    table: str | None,
    ruleset: str | None,
    workers: int,
    afresh: bool,
    trust_path: Path | None,
    kept: bool,
    by: str,
    as_json: bool,
) -> int:
    """Decide a round again from its recorded choices and its revealed seed, and compare byte for byte.

    ROUND is a round id or TABLE/NUMBER; a FILE of evidence is checked offline, from the keys in --trust alone.  With
    --accounts the books are proved: every event of accounts and jackpots follows from the one before it and its round.
    With --day a day (of one --table: its rounds) is held against the signed log.  Exit status: 0 verified, 1 a
    discrepancy, 2 not checkable (one round, still open or of a ruleset not known here) or unreadable input.
    """
    if (round_name is not None) + every + accounts + (day is not None) != 1:
        raise UsageError("verify: name one ROUND, or --all, or --accounts, or --day")
    _require_whole(every, bool(since or until or ruleset or (table and day is None)), kept, by)
    trust_file = trust_path or settings.trust_file
    if day is not None:
        from ops.cli.verify_day import verify_day

        return verify_day(settings, trust_file, day, table, workers=workers, as_json=as_json)
    if round_name is not None and _names_file(round_name):
        from ops.cli.verify_file import verify_file

        return verify_file(Path(round_name), trust_file, as_json=as_json)
    if accounts:
        return _verify_accounts(settings, as_json)
    from ops.site import read_journal

    filters = _filters(since, until, table, ruleset)
    with read_journal(settings) as (url, journal):
        if round_name is not None:
            return _verify_one(settings.log_folder, trust_file, journal, round_name, as_json)
        _require_known(journal, filters)
        head = journal.head_position()
        tally = run_verification(settings, url, journal, filters, workers=workers, afresh=afresh, as_json=as_json)
        told = _told(tally, as_json)
        _record(kept, journal, tally, scope=_scope(since, until, table, ruleset), to_position=head, by=by)
    return told


def _names_file(name: str) -> bool:
    """Whether an evidence file is meant.  Raises UsageError where it isn't there."""
    if name.endswith(".json") and not Path(name).exists():
        raise UsageError(f"verify: there is no file {name!r}")
    return Path(name).is_file()


def _require_whole(every: bool, filtered: bool, kept: bool, by: str) -> None:
    """Raise UsageError for filters or a record of anything but a run over the rounds."""
    if filtered and not every:
        raise UsageError("verify: --since, --until, --table and --ruleset go with --all")
    if kept and not every:
        raise UsageError("verify: --record goes with --all")
    if by and not kept:
        raise UsageError("verify: --by goes with --record")


def _record(kept: bool, journal: Journal, tally: Tally, *, scope: str, to_position: int, by: str) -> None:
    """Keep what came out, if that was asked for."""
    if not kept:
        return
    from domain.verification import VERIFICATION
    from ops.record_line import record_line
    from ops.verification_record import record

    sys.stdout.flush()  # the verdict is told, whatever becomes of its record
    seq = record(journal, tally, scope=record_line(scope), to_position=to_position, by=by or login_name()).record.seq
    print(f"Recorded as event {seq} of {VERIFICATION}.", file=sys.stderr)


def _scope(since: str | None, until: str | None, table: str | None, ruleset: str | None) -> str:
    """The filters in words."""
    from domain.verification import WHOLE

    filters = {"opened since": since, "opened before": until, "table": table, "ruleset": ruleset}
    return ", ".join(f"{name} {value}" for name, value in filters.items() if value is not None) or WHOLE


def _told(tally: Tally, as_json: bool) -> int:
    """Tell what the rounds came to; gives the exit status."""
    if not as_json:
        print_tally(tally)
    if not sum(tally.counts.values()):
        print("dealproof: no round matches", file=sys.stderr)
    return 1 if tally.counts["discrepancy"] else 0


def run_verification(
    settings: Settings,
    url: str,
    journal: Journal,
    filters: Filters | None = None,
    *,
    workers: int = 1,
    afresh: bool = False,
    as_json: bool = False,
) -> Tally:
    """Verify with a progress bar; with `as_json` every verdict goes to stdout as it comes."""
    from ops.bulk_verify import Filters, Manifest, RangeDone, Tally, verify_all

    wanted = filters or Filters()
    # A report on stdout must hold every round, so a run with --json always begins again.
    manifest = Manifest.open(settings.home / "verify", journal, wanted, version("dealproof"), afresh=afresh or as_json)
    if manifest.finished:
        before = sum(sum(old.counts.values()) for old in manifest.finished)
        when = datetime.fromtimestamp(manifest.path.stat().st_mtime, UTC)
        text = (
            f"Going on with an interrupted run: {before:,} rounds were verified before "
            f"(last at {when:%Y-%m-%d %H:%M} UTC; --afresh begins again)."
        )
        progress_console().print(text, soft_wrap=True)
    tally = Tally()
    logger().info("verification_started", ranges=len(manifest.ranges), workers=workers)
    with progress("Verifying", len(manifest.ranges)) as advance:

        def done(result: RangeDone) -> None:
            tally.add(result)
            for line in result.verdicts:
                sys.stdout.buffer.write(line + b"\n")
            advance()

        verify_all(journal, url, wanted, workers=workers, every_verdict=as_json, manifest=manifest, done=done)
    logger().info("verification_finished", **tally.counts)
    return tally


def print_tally(tally: Tally) -> None:
    """Counts by status, then the unclean verdicts with their first failing event."""
    console = data_console()
    counts = tally.counts
    console.print(
        f"{sum(counts.values()):,} rounds: {counts['verified']:,} verified, "
        f"{counts['discrepancy']:,} with a discrepancy, {counts['not-checkable']:,} not checkable"
    )
    for line in tally.unclean[:SHOWN_UNCLEAN]:
        console.print(f"  {_in_one_line(msgspec.json.decode(line))}", soft_wrap=True)
    if len(tally.unclean) > SHOWN_UNCLEAN:
        console.print(f"  … and {len(tally.unclean) - SHOWN_UNCLEAN:,} more (--json has them all)")


def _in_one_line(verdict: dict[str, Any]) -> str:
    for check in verdict["checks"]:
        if check["status"] == verdict["verdict"]:
            return f"{verdict['round']}  {verdict['verdict']} at {check['check']}: {finding_text(check)}"
    return f"{verdict['round']}  {verdict['verdict']}"


def _verify_one(log_folder: Path, trust_file: Path, journal: Journal, name: str, as_json: bool) -> int:
    from ops.cli.rounds import find_stream
    from ops.evidence_file import gather, log_evidence
    from ops.log.store import LogStore
    from ops.log.trusting import read_trust
    from ops.rulesets import known_rulesets
    from replay.evidence import by_digest
    from replay.verify_round import verify_round

    gathered = gather(journal, find_stream(journal, name))
    stream, bodies, postings, _ = gathered
    store = LogStore(log_folder)
    log = None if store.checkpoint() is None else log_evidence(gathered, store, read_trust(trust_file))
    verdict = verify_round(stream, bodies, by_digest(known_rulesets(journal)), postings, log)
    if as_json:
        write_json_line(verdict.as_json())
    else:
        print_ladder(verdict.as_json())
    if _is_another_round(name, bodies):
        print(f"dealproof: the journal's list calls it {name}, its own record doesn't", file=sys.stderr)
        return 1
    return {"verified": 0, "discrepancy": 1, "not-checkable": 2}[verdict.status]


def _is_another_round(name: str, bodies: list[bytes]) -> bool:
    """Whether a round found by TABLE/NUMBER says itself that it is another one: the list of rounds is no record."""
    table, slash, number = name.rpartition("/")
    if not slash or not bodies:
        return False
    try:
        opened = decode(bodies[0]).data
    except BodyError:
        return False  # the rung bytes has named it
    return isinstance(opened, RoundOpened) and (opened.table, str(opened.number)) != (table, number)


# -- accounts


def _verify_accounts(settings: Settings, as_json: bool) -> int:
    from ops.accounts_proof import prove
    from ops.site import read_journal

    with read_journal(settings) as (_, journal):
        head = journal.head_position()
        logger().info("accounts_proof_started", events=head)
        with progress("Proving the accounts", head) as advance:
            proof = prove(journal, advance)
    logger().info("accounts_proof_finished", **proof.counts)
    if as_json:
        for report in proof.as_json():
            write_json_line(report)
    else:
        _print_proof(proof)
    if proof.findings:
        return 1
    return 2 if proof.unchecked else 0


def _print_proof(proof: Proof) -> None:
    from domain.currency import EXPONENTS, in_major_units

    console = data_console()
    for currency, book in sorted(proof.books.items()):
        console.print(f"{currency}: {book.accounts:,} accounts, {book.events:,} events", soft_wrap=True)
        amounts = [(name, book.totals[name]) for name in sorted(book.totals)] + [("sum", book.sum)]
        for name, amount in amounts:
            text = in_major_units(amount, currency) if currency in EXPONENTS else str(amount)
            console.print(f"  {name:<24} {text:>24}", soft_wrap=True)
    if not proof.books:
        print("No accounts.")
    for finding in proof.findings[:SHOWN_UNCLEAN]:
        console.print(f"  {finding_text({**finding.as_json(), 'discrepancies': ()})}", soft_wrap=True)
    if len(proof.findings) > SHOWN_UNCLEAN:
        console.print(f"  … and {len(proof.findings) - SHOWN_UNCLEAN:,} more (--json has them all)")
    if proof.unchecked:
        print(f"dealproof: {proof.unchecked:,} rounds are of rulesets that are not known here", file=sys.stderr)


# -- filters


def _require_known(journal: Journal, filters: Filters) -> None:
    """A name with a typo in it must not look like a clean table."""
    from ops.rulesets import known_rulesets

    if filters.table is not None and not journal.last_rounds(1, filters.table):
        raise UsageError(f"--table: no round was ever opened at a table {filters.table!r}")
    names = [ruleset.name for ruleset in known_rulesets(journal)]
    if filters.ruleset is not None and filters.ruleset not in names:
        raise UsageError(f"--ruleset: {filters.ruleset!r} is not known; there are {', '.join(names)}")


def _filters(since: str | None, until: str | None, table: str | None, ruleset: str | None) -> Filters:
    from ops.bulk_verify import Filters
    from ops.journal import FIRST_ROUND, LAST_ROUND

    if ruleset is not None and "@" not in ruleset:
        known = ", ".join(released_rulesets())
        raise UsageError(f"--ruleset: {ruleset!r} has no version; a ruleset is named as one of {known}")
    first = FIRST_ROUND if since is None else f"round:{_milliseconds('--since', since):012x}"
    # The name before the first one of that moment: streams of the moment itself sort behind it.
    last = LAST_ROUND if until is None else f"round:{_milliseconds('--until', until):012x}"
    if first > last:
        raise UsageError("--since: lies after --until")
    return Filters(first, last, table, ruleset)


def _milliseconds(option: str, text: str) -> int:
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        raise UsageError(f"{option}: {text!r} is not a time as 2026-11-30 or 2026-11-30T12:00:00Z") from None
    moment = moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment
    since_epoch = moment - datetime(1970, 1, 1, tzinfo=UTC)
    milliseconds = (since_epoch.days * 86_400 + since_epoch.seconds) * 1000 + since_epoch.microseconds // 1000
    if milliseconds < 0:
        raise UsageError(f"{option}: {text!r} lies before 1970")
    return milliseconds
