"""Every known answer of tests/vectors/merkle: the valid proofs are accepted, the forged ones refused."""

import json
from base64 import b64decode
from pathlib import Path
from typing import Any

import pytest

from domain.log.merkle import ProofError, verify_consistency, verify_inclusion

VECTORS = Path(__file__).parents[1] / "vectors/merkle"
INCLUSION = sorted((VECTORS / "inclusion").rglob("*.json"))
CONSISTENCY = sorted((VECTORS / "consistency").rglob("*.json"))

ROOTS_OF_12_BYTES = VECTORS / "consistency/additional/sizes-are-equal-one-and-proof-is-empty.json"
"""The one valid case that is refused: its roots have 12 bytes, ours 32."""


def test_all_the_vectors_are_here() -> None:
    """So that an empty folder isn't taken for a pass."""
    forged = sum(json.loads(path.read_text())["wantErr"] for path in INCLUSION + CONSISTENCY)

    assert (len(INCLUSION), len(CONSISTENCY), forged) == (98, 98, 184)


def name(path: Path) -> str:
    """From the folder of the vectors on."""
    return path.relative_to(VECTORS).as_posix()


@pytest.mark.parametrize("path", INCLUSION, ids=name)
def test_an_inclusion_vector(path: Path) -> None:
    """Accepted exactly where the vector says so."""
    case = json.loads(path.read_text())
    arguments = (case["leafIdx"], case["treeSize"], b64decode(case["leafHash"]), proof(case), b64decode(case["root"]))

    if case["wantErr"]:
        with pytest.raises(ProofError):
            verify_inclusion(*arguments)
    else:
        verify_inclusion(*arguments)


@pytest.mark.parametrize("path", CONSISTENCY, ids=name)
def test_a_consistency_vector(path: Path) -> None:
    """Accepted exactly where the vector says so, but for the one exception."""
    case = json.loads(path.read_text())
    roots = b64decode(case["root1"]), b64decode(case["root2"])

    if case["wantErr"] or path == ROOTS_OF_12_BYTES:
        with pytest.raises(ProofError):
            verify_consistency(case["size1"], case["size2"], *roots, proof(case))
    else:
        verify_consistency(case["size1"], case["size2"], *roots, proof(case))


def test_the_exception_is_refused_for_its_roots() -> None:
    """And it is there, and it is the only one."""
    case = json.loads(ROOTS_OF_12_BYTES.read_text())
    root = b64decode(case["root1"])

    with pytest.raises(ProofError, match=r"^first root: not 32 bytes$"):
        verify_consistency(1, 1, root, root, [])
    assert (len(root), case["wantErr"]) == (12, False)


def proof(case: dict[str, Any]) -> list[bytes]:
    """The vectors write an empty proof as null, too."""
    return [b64decode(step) for step in case["proof"] or []]
