"""What a site does once a day by itself: it closes the days that are over, examines itself, verifies what ended.

Source: GLI-19 2.3.2 for the daily examination.  Done by `ops.log.daily`, beside the sequencer.

Not here: what these mean (`ops.day_close`, `ops.doctor`, `ops.verification_record`).
"""

from __future__ import annotations

import threading
from typing import Final

from ops import clock
from ops.day_close import close_days
from ops.doctor.examine import examine, record
from ops.journal import Journal
from ops.log.daily import Duty
from ops.log.store import LogStore
from ops.logs import logger
from ops.settings import Settings
from ops.verification_record import verify_ended

KEEPER: Final = "keeper"
"""Who does what nobody was asked to do, for the record."""


def daily_duties(settings: Settings, url: str, journal: Journal, until: threading.Event) -> list[Duty]:
    """The duties of a site, in the order in which they are done; a long one stops when `until` is set."""

    def close_days_that_are_over() -> None:
        # The log may not have all of the day yet; then this is told, and tried again in a minute.
        store = LogStore(settings.log_folder)
        size = store.size()
        for closed in close_days(journal, store.nodes(size), size, clock.now(), KEEPER):
            logger().info("day_closed", day=closed.day, events=closed.events.count)

    def examine_the_site() -> None:
        report = examine(url, settings, journal)
        record(journal, report)
        findings = {check.name: check.findings for check in report.checks if check.findings}
        if findings:
            # A person must hear of it: this goes to the standard error of whoever serves.
            logger().warning("site_examined", status=report.status, findings=findings)
        else:
            logger().info("site_examined", status=report.status)

    def verify_rounds_that_ended() -> None:
        for run in verify_ended(journal, url, until):
            told = logger().warning if run.discrepancies else logger().info
            told(
                "rounds_verified", rounds=run.rounds, discrepancies=run.discrepancies,
                not_checkable=run.not_checkable, to_position=run.to_position,
            )  # fmt: skip

    return [close_days_that_are_over, examine_the_site, verify_rounds_that_ended]
