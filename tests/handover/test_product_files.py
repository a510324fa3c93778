"""The reference decoder reads what the product itself makes from a journal and its log.

Not here: how a file is made (tests/ops/floor/test_evidence_files.py).
"""

from __future__ import annotations

import pytest

from domain.round.choices import Void
from ops.handover.reference import dealproof_reference as reference
from replay.evidence_file import Level
from tests.ops.floor.casino import OPEN, box
from tests.ops.floor.conftest import casino, furnished_template  # noqa: F401 - fixtures
from tests.ops.floor.test_evidence_files import LEVELS, TRUST, Site, site, stream  # noqa: F401 - fixtures

REFERENCES_TRUST = reference.read_trust(TRUST.to_json())


@pytest.mark.parametrize(("level", "player"), LEVELS)
def test_every_level_is_good(site: Site, stream: str, level: Level, player: str | None) -> None:  # noqa: F811
    data = site.file(stream, level, player).to_bytes()

    lines = reference.check_evidence(data, REFERENCES_TRUST)

    assert {each.verdict for each in lines} == {reference.GOOD}
    assert [each.check for each in lines] == [
        "bytes", "chain", "order", "sums", "commitment", "ruleset", "cards", "beside", "money", "checkpoint",
        "inclusion", "wagers",
    ]  # fmt: skip


def test_a_voided_round_is_good(site: Site) -> None:  # noqa: F811
    opened = site.casino.dealt(OPEN, box(1, "anna", 300, 100))
    site.casino.choose(opened.stream, Void("power failure"))
    site.publish()

    lines = reference.check_evidence(site.file(opened.stream).to_bytes(), REFERENCES_TRUST)

    assert {each.verdict for each in lines} == {reference.GOOD}


def test_a_round_behind_the_cosigned_checkpoint_is_open(site: Site, stream: str) -> None:  # noqa: F811
    opened = site.casino.dealt(OPEN, box(1, "anna", 300))
    site.casino.choose(opened.stream, Void("power failure"))
    site.publish(cosigned=False)

    lines = reference.check_evidence(site.file(opened.stream).to_bytes(), REFERENCES_TRUST)

    assert reference.status_of(lines) == 2
    assert [each.check for each in lines if each.verdict == reference.OPEN] == ["inclusion"]


