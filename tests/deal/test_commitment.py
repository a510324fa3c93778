"""Commitment and client entropy: the published example, the limits, and what binds what."""

from hashlib import sha256

import pytest
from hypothesis import given
from hypothesis import strategies as st

from domain.deal.commitment import client_entropy, commitment
from tests.deal import example

Boxes = dict[int, bytes]

box_seeds = st.dictionaries(st.integers(0, 255), st.binary(max_size=255), max_size=8)


def test_the_published_example() -> None:
    assert sha256(example.DEAL["rules"].encode()).digest() == example.RULESET_DIGEST
    assert commitment(example.ROUND_ID, example.RULESET_DIGEST, example.SERVER_SEED) == example.COMMITMENT
    assert client_entropy(example.CLIENT_SEEDS) == example.ENTROPY


def test_the_page_agrees_with_the_frozen_answers() -> None:
    """The page must not drift together with the code."""
    assert example.COMMITMENT.hex() == "256d585afbc7d47e8ed0d51e5603963432941485b7156027243da388713603a3"
    assert example.ENTROPY.hex() == "154da758deb70343c2bb0852b2517aa57941eb6646551370acdb506485efcdf9"
    assert example.DEAL["box1"] == example.CLIENT_SEEDS[0][1].hex()
    assert example.DEAL["box4"] == example.CLIENT_SEEDS[2][1].hex()


@pytest.mark.parametrize(
    ("field", "sizes"),
    [
        ("round id", (15, 32, 32)),
        ("round id", (17, 31, 32)),
        ("ruleset digest", (16, 31, 32)),
        ("ruleset digest", (16, 33, 31)),
        ("server seed", (16, 32, 31)),
        ("server seed", (16, 32, 0)),
    ],
)
def test_a_field_of_a_wrong_size_is_refused_by_name(field: str, sizes: tuple[int, int, int]) -> None:
    with pytest.raises(ValueError, match=f"^{field}: "):
        commitment(*map(bytes, sizes))


@pytest.mark.parametrize(
    ("boxes", "message"),
    [
        ([(256, b"")], "box: 256"),
        ([(-1, b"")], "box: -1"),
        ([(1, bytes(256))], "client seed of box 1: 256 bytes"),
        ([(2, b""), (1, b"")], "box: 1 follows 2"),
        ([(1, b"a"), (1, b"b")], "box: 1 follows 1"),
    ],
)
def test_client_seeds_outside_the_format_are_refused(boxes: list[tuple[int, bytes]], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        client_entropy(boxes)


def test_the_widest_fields_are_accepted() -> None:
    """Boxes 0 and 255, seeds of 0 and 255 bytes, spelled out."""
    expected = b"dp1/clients\0" + b"\x00\x02" + b"\x00\x00" + b"\xff\xff" + b"z" * 255

    assert client_entropy([(0, b""), (255, b"z" * 255)]) == sha256(expected).digest()
    assert client_entropy([]) == sha256(b"dp1/clients\0\0\0").digest()


@given(box_seeds, box_seeds)
def test_other_client_seeds_give_another_entropy(one: Boxes, other: Boxes) -> None:
    same = client_entropy(sorted(one.items())) == client_entropy(sorted(other.items()))

    assert same == (one == other)
