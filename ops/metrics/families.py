"""The metrics by name: what each is, and its samples out of one look.

No money, no player, no seed is in any of them; labels are names of projections, of refusals, of parts of a look.  Ages
are in seconds and never below zero; a metric without a value is left out.

Not here: looking (`looking`), who reads them (docs/monitoring.md, ops/grafana, ops/alarms).
"""

from __future__ import annotations

import platform
from collections.abc import Iterable, Iterator
from importlib.metadata import PackageNotFoundError, version
from typing import Final, NamedTuple

from prometheus_client.metrics_core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import CollectorRegistry

from ops.database import newest_revision
from ops.metrics.journal import Reader
from ops.metrics.looking import Seen, Watch

Sample = tuple[str, float | None, tuple[str, ...]]
"""Name, value (None: there is none), values of the labels."""


class Family(NamedTuple):
    """A metric as Prometheus shows it; one that ends in `_total` only ever grows while the journal does."""

    name: str
    text: str
    labels: tuple[str, ...] = ()

    def empty(self) -> CounterMetricFamily | GaugeMetricFamily:
        """Without samples."""
        kind = CounterMetricFamily if self.name.endswith("_total") else GaugeMetricFamily
        return kind(self.name, self.text, labels=self.labels)


FAMILIES: Final = (
    Family("dealproof_up", "Whether the database was reached."),
    Family("dealproof_build_info", "The program that looks, always 1.", ("version", "python", "revision")),
    Family("dealproof_database_migrated", "Whether the database stands at the revision that this program knows."),
    Family("dealproof_scrape_duration_seconds", "How long the look took that these numbers come from."),
    Family("dealproof_scrape_errors_total", "Looks that could not read a part, since this program began.", ("part",)),
    Family("dealproof_journal_events_total", "Events appended to the journal."),
    Family("dealproof_journal_position", "Position of the journal's last event."),
    Family("dealproof_journal_holes", "Positions without an event at which somebody waits who reads along."),
    Family("dealproof_journal_hole_age_seconds", "Age of the oldest event behind such a hole."),
    Family("dealproof_commands_refused_total", "Commands refused for good, by the reason's code.", ("code",)),
    Family("dealproof_open_rounds", "Rounds that have not ended."),
    Family("dealproof_open_round_oldest_age_seconds", "Time since the oldest round that has not ended was opened."),
    Family("dealproof_projection_position", "Position up to which a projection has read the journal.", ("projection",)),
    Family("dealproof_projection_lag_events", "Events that a projection has not read.", ("projection",)),
    Family("dealproof_projection_lag_seconds", "Age of the oldest event of those.", ("projection",)),
    Family("dealproof_projection_stopped", "Whether a projection has stopped at an error.", ("projection",)),
    Family("dealproof_verifications_total", "Verifications recorded in the journal."),
    Family("dealproof_verification_age_seconds", "Time since the newest verification, whole or daily."),
    Family("dealproof_verification_rounds", "Rounds of the newest whole and all later daily ones.", ("verdict",)),
    Family("dealproof_verification_findings", "Findings of the newest whole verification and all later."),
    Family("dealproof_examination_age_seconds", "Time since the site was last examined."),
    Family("dealproof_examination_controls", "Controls of the last examination, by status.", ("status",)),
    Family("dealproof_log_size", "Events under the log's newest checkpoint."),
    Family("dealproof_log_checkpoint_age_seconds", "Time since the newest checkpoint was written."),
    Family("dealproof_log_lag_events", "Events that no checkpoint covers yet."),
    Family("dealproof_log_lag_seconds", "Age of the oldest event that no checkpoint covers yet."),
    Family("dealproof_log_sequencer_running", "Whether a sequencer builds the log."),
    Family("dealproof_log_cosigned_size", "Events under the newest checkpoint that a witness has signed."),
    Family("dealproof_log_cosignature_age_seconds", "Time since a witness signed that checkpoint, by its clock."),
)  # fmt: skip


class SeenCollector:
    """Looks when Prometheus asks, and only then."""

    def __init__(self, watch: Watch) -> None:
        self._watch = watch

    def describe(self) -> Iterable[Metric]:
        """Every metric there may be, for the registry to know without looking."""
        return [family.empty() for family in FAMILIES]

    def collect(self) -> Iterable[Metric]:
        """Every metric that has a sample now."""
        metrics = {family.name: family.empty() for family in FAMILIES}
        for name, value, labels in samples(self._watch.latest()):
            if value is not None:
                metrics[name].add_metric(labels, value)
        return [metric for metric in metrics.values() if metric.samples]


def registry(watch: Watch) -> CollectorRegistry:
    """A registry that holds our metrics and nothing else."""
    ours = CollectorRegistry()
    ours.register(SeenCollector(watch))
    return ours


def samples(seen: Seen) -> Iterator[Sample]:
    """All that one look has to say."""
    yield "dealproof_up", seen.up, ()
    yield "dealproof_build_info", 1, (_version(), platform.python_version(), newest_revision())
    yield "dealproof_scrape_duration_seconds", seen.seconds, ()
    for part, count in seen.errors.items():
        yield "dealproof_scrape_errors_total", count, (part,)
    if seen.revision is not None:
        yield "dealproof_database_migrated", seen.revision == newest_revision(), ()
    for code, count in (seen.refusals or {}).items():
        yield "dealproof_commands_refused_total", count, (code,)
    if seen.open_rounds is not None:
        yield "dealproof_open_rounds", seen.open_rounds.total, ()
        yield "dealproof_open_round_oldest_age_seconds", _age(seen, seen.open_rounds.oldest), ()
    yield from _of_journal(seen)
    yield from _of_log(seen)
    yield from _of_verifications(seen)
    if seen.examination is not None:
        yield "dealproof_examination_age_seconds", _age(seen, seen.examination.at), ()
        for status, count in seen.examination.controls.items():
            yield "dealproof_examination_controls", count, (status.value,)


def _of_journal(seen: Seen) -> Iterator[Sample]:
    journal = seen.journal
    if journal is None:
        return
    yield "dealproof_journal_events_total", journal.head, ()
    yield "dealproof_journal_position", journal.head, ()
    yield "dealproof_journal_holes", len(journal.holes), ()
    ages = [age for hole in journal.holes if (age := _age(seen, hole.at)) is not None]
    yield "dealproof_journal_hole_age_seconds", max(ages, default=None), ()
    for projection in journal.projections:
        reader, label = projection.reader, (projection.name,)
        yield "dealproof_projection_position", reader.position, label
        yield "dealproof_projection_lag_events", reader.waiting, label
        yield "dealproof_projection_lag_seconds", _lag(seen, reader), label
        yield "dealproof_projection_stopped", projection.stopped, label


def _of_log(seen: Seen) -> Iterator[Sample]:
    log, journal = seen.log, seen.journal
    if log is None:
        return
    yield "dealproof_log_size", log.size, ()
    yield "dealproof_log_checkpoint_age_seconds", _age(seen, log.published_at), ()
    yield "dealproof_log_sequencer_running", log.sequencer_runs, ()
    if log.cosigned is not None:
        yield "dealproof_log_cosigned_size", log.cosigned.size, ()
        yield "dealproof_log_cosignature_age_seconds", _age(seen, log.cosigned.at), ()
    if journal is not None and journal.log is not None:
        yield "dealproof_log_lag_events", journal.log.waiting, ()
        yield "dealproof_log_lag_seconds", _lag(seen, journal.log), ()


def _of_verifications(seen: Seen) -> Iterator[Sample]:
    found = seen.verifications
    if found is None:
        return
    yield "dealproof_verifications_total", found.recorded, ()
    yield "dealproof_verification_age_seconds", _age(seen, found.at), ()
    yield "dealproof_verification_rounds", found.verified, ("verified",)
    yield "dealproof_verification_rounds", found.not_checkable, ("not-checkable",)
    yield "dealproof_verification_rounds", found.discrepancies, ("discrepancy",)
    yield "dealproof_verification_findings", found.findings, ()


def _age(seen: Seen, at: int | None) -> float | None:
    """Seconds since then; a clock that is a little ahead of ours makes nothing younger than new."""
    return None if at is None else max(seen.at - at, 0) / 1000


def _lag(seen: Seen, reader: Reader) -> float | None:
    """How long the oldest unread event has waited: none is 0, one whose time can't be read is unknown."""
    return 0.0 if reader.waiting == 0 else _age(seen, reader.since)


def _version() -> str:
    try:
        return version("dealproof")
    except PackageNotFoundError:
        return "unknown"  # run from its source
