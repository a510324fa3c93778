"""The rulesets of tests/rulesets: games that nobody plays here, in the format of the released ones.

Not here: the four released games (`domain.rulesets`).
"""

from functools import cache
from pathlib import Path

from domain.ruleset import Ruleset, load_ruleset

FOLDER = Path(__file__).parents[1] / "rulesets"


@cache
def unreleased_rulesets() -> dict[str, Ruleset]:
    """Every test ruleset by its name, `caribbean-stud@1` and so on."""
    rulesets = [load_ruleset(path.read_bytes()) for path in sorted(FOLDER.glob("*.json"))]
    return {ruleset.name: ruleset for ruleset in rulesets}
