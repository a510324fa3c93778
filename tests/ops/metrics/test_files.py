"""Alarms, their pages, the dashboard and the table of metrics: they name what there is, and leave nothing out."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import click
import pytest
import yaml  # type: ignore[import-untyped]  # comes along with a tool of the tests, without types

from ops.cli.main import dealproof
from ops.metrics.families import FAMILIES

ROOT = Path(__file__).parents[3]
PAGE = (ROOT / "docs/monitoring.md").read_text()
DASHBOARD = json.loads((ROOT / "ops/grafana/dealproof.json").read_text())
ALARMS = yaml.safe_load((ROOT / "ops/alarms/dealproof.yml").read_text())["groups"][0]["rules"]
RUNBOOKS = sorted((ROOT / "docs/runbooks").glob("alarm-*.md"))

LABELS = {family.name: set(family.labels) for family in FAMILIES}
EVERYWHERE = {"instance"}
"""Labels that Prometheus itself adds."""

HEADINGS = ["What it means", "What to do first", "How to see that it is over"]


def require_known(expression: str) -> None:
    """Every metric is one of ours, with labels that it has; `by (...)` names labels of the metrics it is about."""
    names = re.findall(r"dealproof_\w+", expression)
    assert names, f"{expression}: is about nothing"
    for name in names:
        assert name in LABELS, f"{expression}: there is no metric {name}"
    for name, selector in re.findall(r"(dealproof_\w+)\{([^}]*)\}", expression):
        used = set(re.findall(r"(\w+)\s*(?:=~|!~|!=|=)", selector))
        assert used <= LABELS[name] | EVERYWHERE, f"{expression}: {name} has no such label"
    for grouped in re.findall(r"by \(([^)]*)\)", expression):
        known = set().union(*(LABELS[name] for name in names)) | EVERYWHERE
        assert set(grouped.split(", ")) <= known, f"{expression}: nothing has such a label"


# -- alarms


@pytest.mark.parametrize("alarm", ALARMS, ids=lambda alarm: str(alarm["alert"]))
def test_an_alarm_says_how_bad_it_is_and_where_its_page_is(alarm: dict[str, Any]) -> None:
    """One page an alarm, named like it, with the three headings in their order."""
    require_known(alarm["expr"])
    assert alarm["labels"]["severity"] in {"critical", "warning"}
    assert alarm["annotations"]["summary"]
    assert set(re.findall(r"\$labels\.(\w+)", alarm["annotations"]["summary"])) <= set().union(*LABELS.values())
    path = alarm["annotations"]["runbook_url"]
    words = re.findall("[A-Z][a-z]+", alarm["alert"].removeprefix("Dealproof"))
    assert path == f"docs/runbooks/alarm-{'-'.join(words).lower()}.md"
    text = (ROOT / path).read_text()
    assert text.startswith(f"# {alarm['alert']}\n")
    assert re.findall(r"^## (.*)$", text, re.M) == HEADINGS


def test_no_page_is_of_no_alarm() -> None:
    """And the overview has each with its severity."""
    assert {path.name for path in RUNBOOKS} == {Path(alarm["annotations"]["runbook_url"]).name for alarm in ALARMS}
    listed = re.findall(r"^\| \[(\w+)\]\(runbooks/(alarm-[a-z-]+\.md)\) \| (\w+) \|", PAGE, re.M)
    assert listed == [
        (alarm["alert"], Path(alarm["annotations"]["runbook_url"]).name, alarm["labels"]["severity"])
        for alarm in ALARMS
    ]


@pytest.mark.parametrize("page", [*RUNBOOKS, ROOT / "docs/monitoring.md"], ids=lambda page: page.name)
def test_a_page_names_only_what_there_is(page: Path) -> None:
    """Metrics, commands with their options, other pages."""
    text = page.read_text()
    for name in re.findall(r"dealproof_[a-z_]+", text):
        assert name in LABELS or name == "dealproof_reader", name
    for link in re.findall(r"\]\(([^)#]+)", text):
        assert (page.parent / link).exists(), link
    # A line break within code is a space.
    for line in re.findall(r"(?:`|\$ )dealproof ([a-z][^`\n|]*(?:\n +[^`\n]*)?)", text):
        require_command(line.split())


def require_command(words: list[str]) -> None:
    """The words are a command of ours with options that it has."""
    found: click.Command | None = dealproof
    context = click.Context(dealproof)
    while isinstance(found, click.Group):
        found = found.get_command(context, words[0])
        assert found is not None, f"there is no command {words[0]}"
        words = words[1:]
        if not words:
            return
    known = {option for parameter in found.params for option in parameter.opts} if found else set()
    assert {word for word in words if word.startswith("-")} <= known, words


# -- metrics and dashboard


def test_the_page_has_every_metric_with_its_labels() -> None:
    """In the order of the code."""
    rows = re.findall(r"^\| `(dealproof_\w+)` \| ([^|]*)\|", PAGE, re.M)

    assert [(name, tuple(re.findall(r"`(\w+)`", labels))) for name, labels in rows] == [
        (family.name, family.labels) for family in FAMILIES
    ]


def panels() -> list[dict[str, Any]]:
    return [panel for panel in DASHBOARD["panels"] if panel["type"] != "row"]


@pytest.mark.parametrize("panel", panels(), ids=lambda panel: str(panel["title"]))
def test_a_panel_shows_what_there_is(panel: dict[str, Any]) -> None:
    """From the data source that is chosen, with legends that its metric has labels for."""
    assert panel["datasource"] == {"type": "prometheus", "uid": "${datasource}"}
    assert panel["targets"] and panel["description"]
    for target in panel["targets"]:
        require_known(target["expr"])
        [labels] = [LABELS[name] for name in re.findall(r"dealproof_\w+", target["expr"])]
        assert set(re.findall(r"\{\{(\w+)\}\}", target["legendFormat"])) <= labels | EVERYWHERE


def test_the_dashboard_shows_every_metric() -> None:
    """One that nobody looks at is not worth its look; a hole's age stands in its alarm's page."""
    shown = set(re.findall(r"dealproof_\w+", json.dumps(DASHBOARD)))

    assert set(LABELS) - shown == {"dealproof_journal_hole_age_seconds", "dealproof_log_lag_events"}


def test_the_dashboard_can_be_imported() -> None:
    """A schema version, ids of their own, and no panel upon another."""
    assert DASHBOARD["schemaVersion"] >= 39 and DASHBOARD["title"] and DASHBOARD["uid"]
    assert [each["name"] for each in DASHBOARD["templating"]["list"]] == ["datasource", "instance"]
    ids = [panel["id"] for panel in DASHBOARD["panels"]]
    assert len(set(ids)) == len(ids)
    taken: set[tuple[int, int]] = set()
    for panel in DASHBOARD["panels"]:
        at = panel["gridPos"]
        cells = {(at["x"] + x, at["y"] + y) for x in range(at["w"]) for y in range(at["h"])}
        assert at["x"] + at["w"] <= 24 and not cells & taken, panel["title"]
        taken |= cells
