"""The released ruleset documents, one file a version, frozen for ever (tests hold their digests).

Not here: how a document is read (`domain.ruleset`).
"""

from __future__ import annotations

from functools import cache
from importlib.resources import files

from domain.ruleset import Ruleset, load_ruleset


@cache
def released_rulesets() -> dict[str, Ruleset]:
    """Every shipped ruleset by its name, `russian-poker@1` and so on, in the order of the names."""
    documents = sorted(path.name for path in files(__name__).iterdir() if path.name.endswith(".json"))
    rulesets = [load_ruleset(files(__name__).joinpath(name).read_bytes()) for name in documents]
    return {ruleset.name: ruleset for ruleset in sorted(rulesets, key=lambda r: r.name)}
