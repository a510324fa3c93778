"""Look at a house afresh and read what it says, as Prometheus would.

Not here: what is expected (the tests).
"""

from __future__ import annotations

from contextlib import closing

from prometheus_client.exposition import generate_latest
from prometheus_client.parser import text_string_to_metric_families

from ops.metrics.families import registry
from ops.metrics.looking import Seen, Watch
from ops.metrics.readiness import checks
from ops.settings import Settings


def look(settings: Settings, url: str) -> Seen:
    """One look, which nobody shares."""
    with closing(Watch(settings, url)) as watch:
        return watch.latest()


def text_of(settings: Settings, url: str) -> str:
    """The whole text of one scrape."""
    with closing(Watch(settings, url)) as watch:
        return generate_latest(registry(watch)).decode()


def numbers(settings: Settings, url: str) -> dict[str, float]:
    """Each sample of one scrape, as `name` or `name{the label's value}`."""
    found = {}
    for family in text_string_to_metric_families(text_of(settings, url)):
        for sample in family.samples:
            label = ",".join(sample.labels.values())
            found[f"{sample.name}{{{label}}}" if label else sample.name] = sample.value
    return found


def troubles(settings: Settings, url: str) -> dict[str, str]:
    """The checks that are not well, and why."""
    return {check.name: check.reason for check in checks(look(settings, url)) if not check.ok}
