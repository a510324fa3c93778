"""The examples of docs/formats/log.md, read from the page itself, so that it can't go stale."""

import re
from pathlib import Path

import pytest

from domain.log.merkle import consistency_proof, inclusion_proof, root, verify_consistency, verify_inclusion
from domain.log.tiles import TILE_WIDTH, Tile, tiles_of
from tests.reference import merkle as rfc

PAGE = (Path(__file__).parents[2] / "docs/formats/log.md").read_text("utf-8")
ENTRIES = [letter.encode() for letter in "abcdefg"]


def example(name: str) -> list[str]:
    """The lines of one example, without empty ones."""
    match = re.search(rf"^<!-- example: {name} -->\n```\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
    assert match is not None
    return [line for line in match[1].splitlines() if line]


HASHES = {name: bytes.fromhex(text) for name, text in (re.split(r" {2,}", line) for line in example("tree"))}


def nodes(level: int, index: int) -> bytes:
    """Complete subtrees, by the definition."""
    return rfc.mth(ENTRIES[index << level : (index + 1) << level])


@pytest.mark.parametrize("name", HASHES)
def test_a_hash_of_the_page(name: str) -> None:
    """A leaf, the subtree from a leaf to another, or the root of a size."""
    first, last = map(int, re.fullmatch(r"(?:leaf |root )?(\d)(?:-(\d))?", name).groups(default="-1"))  # type: ignore[union-attr]
    spans = {"leaf": (first, first + 1), "root": (0, first)}
    start, end = spans.get(name[:4], (first, last + 1))

    assert HASHES[name] == rfc.mth(ENTRIES[start:end])
    if start == 0:
        assert HASHES[name] == root(end, nodes)


@pytest.mark.parametrize("line", example("proofs"))
def test_a_proof_of_the_page(line: str) -> None:
    """Made as it is there, and accepted."""
    kind, one, _, other, names = line.split(maxsplit=4)
    proof = [] if names == "none" else [HASHES[name] for name in names.split(", ")]
    first, second = int(one), int(other)

    if kind == "inclusion":
        assert inclusion_proof(first, second, nodes) == proof
        verify_inclusion(first, second, HASHES[f"leaf {first}"], proof, HASHES[f"root {second}"])
    else:
        assert consistency_proof(first, second, nodes) == proof
        verify_consistency(first, second, HASHES[f"root {first}"], HASHES[f"root {second}"], proof)


def test_the_size_is_not_in_the_proof() -> None:
    """As the page warns: with the root of three leaves, the first one is found in a tree of four, too."""
    proof = [HASHES["leaf 1"], HASHES["leaf 2"]]

    verify_inclusion(0, 3, HASHES["leaf 0"], proof, HASHES["root 3"])
    verify_inclusion(0, 4, HASHES["leaf 0"], proof, HASHES["root 3"])


def test_the_tiles_of_the_page() -> None:
    """The first and the last of the full tiles of each level, and every partial one."""
    tiles = tiles_of(70_000)
    lines = [line.split()[:2] for line in example("tiles")]
    middle = {Tile(0, index, TILE_WIDTH).path() for index in range(1, 272)}

    assert [path for path, _ in lines] == [tile.path() for tile in tiles if tile.path() not in middle]
    for path, word in lines:
        assert (Tile.parse(path).width == TILE_WIDTH) == (word == "full")
