"""The tree and its proofs against a second implementation, and every forgery of a proof that we could think of.

To see that each mutant of domain/log/merkle.py is found, with mutmut 3 in an environment of its own (three minutes):

    mkdir -p /tmp/mutants/tests && cp -r domain /tmp/mutants
    cp -r tests/{__init__.py,log,reference} /tmp/mutants/tests
    cd /tmp/mutants && touch pytest.ini && cat > setup.cfg
        [mutmut]
        source_paths = domain
        only_mutate = domain/log/merkle.py
        pytest_add_cli_args_test_selection = tests/log/test_merkle.py
        also_copy = tests
    mutmut run && mutmut results

The last run: 355 mutants, none lived; a few of `root_of` never end and are stopped.
"""

from collections.abc import Iterator, Sequence
from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from domain.log.merkle import (
    EMPTY_ROOT,
    HASH_SIZE,
    LARGEST_SIZE,
    Nodes,
    ProofError,
    consistency_proof,
    inclusion_proof,
    leaf_hash,
    node_hash,
    root,
    root_of,
    verify_consistency,
    verify_inclusion,
)
from domain.record import leaf_hash as hex_leaf_hash
from tests.reference import merkle as rfc

UP_TO = 17
ENTRIES = [f"entry {number}".encode() for number in range(UP_TO + 2)]
LEAVES = [leaf_hash(entry) for entry in ENTRIES]
ROOTS = [rfc.mth(ENTRIES[:size]) for size in range(UP_TO + 2)]
STRAY = leaf_hash(b"of no tree")

SIZES = range(1, UP_TO + 1)
IN_TREE = [(index, size) for size in SIZES for index in range(size)]
GROWTH = [(first, second) for second in SIZES for first in range(1, second + 1)]

Proof = Sequence[bytes]


def nodes(level: int, index: int) -> bytes:
    """Complete subtrees over the entries, by the definition."""
    start, end = index << level, (index + 1) << level
    assert end <= len(ENTRIES)
    return rfc.mth(ENTRIES[start:end])


def includes(index: int, size: int, leaf: bytes, proof: Proof, root: bytes) -> bool:
    """Whether the verifier accepts."""
    try:
        verify_inclusion(index, size, leaf, proof, root)
    except ProofError:
        return False
    return True


def extends(first: int, second: int, first_root: bytes, second_root: bytes, proof: Proof) -> bool:
    """Whether the verifier accepts."""
    try:
        verify_consistency(first, second, first_root, second_root, proof)
    except ProofError:
        return False
    return True


# -- the tree


def test_the_hashes_are_those_of_rfc_6962() -> None:
    """The first answers of Certificate Transparency's own test: no leaf, an empty leaf; and prefix 1 for a node."""
    assert EMPTY_ROOT.hex() == "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
    assert leaf_hash(b"").hex() == "6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d"
    assert node_hash(LEAVES[0], LEAVES[1]) == rfc.parent(LEAVES[0], LEAVES[1])
    assert HASH_SIZE == len(EMPTY_ROOT) == 32


def test_the_leaf_of_the_tree_is_the_link_of_the_chain() -> None:
    """One hash serves both (docs/formats/event-record.md)."""
    assert leaf_hash(b'{"v":1}').hex() == hex_leaf_hash(b'{"v":1}')


@pytest.mark.parametrize("size", range(UP_TO + 1))
def test_the_root_is_the_merkle_tree_hash(size: int) -> None:
    """From nodes, and from the leaves."""
    assert root(size, nodes) == root_of(LEAVES[:size]) == ROOTS[size]


def test_a_root_of_no_size_is_refused() -> None:
    """Below nothing, above the largest, or no number."""
    for size in (-1, LARGEST_SIZE + 1, True, False, 1.0, "1", None):
        with pytest.raises(ProofError, match=r"^size: not a whole number from 0 to 9223372036854775808$"):
            root(size, nodes)  # type: ignore[arg-type]


# -- every proof of every small tree


@pytest.mark.parametrize(("index", "size"), IN_TREE)
def test_an_inclusion_proof_is_the_audit_path(index: int, size: int) -> None:
    """RFC 6962, 2.1.1; and both verifiers accept it."""
    proof = inclusion_proof(index, size, nodes)

    assert proof == rfc.path(index, ENTRIES[:size])
    verify_inclusion(index, size, LEAVES[index], proof, ROOTS[size])
    verify_inclusion(index, size, LEAVES[index], tuple(proof), ROOTS[size])
    assert rfc.accepts_inclusion(index, size, LEAVES[index], proof, ROOTS[size])


@pytest.mark.parametrize(("first", "second"), GROWTH)
def test_a_consistency_proof_is_the_one_of_the_rfc(first: int, second: int) -> None:
    """RFC 6962, 2.1.2; and both verifiers accept it."""
    proof = consistency_proof(first, second, nodes)

    assert proof == rfc.proof(first, ENTRIES[:second])
    verify_consistency(first, second, ROOTS[first], ROOTS[second], proof)
    verify_consistency(first, second, ROOTS[first], ROOTS[second], tuple(proof))
    assert rfc.accepts_consistency(first, second, ROOTS[first], ROOTS[second], proof)


# -- every forgery of every small proof


def flipped(hash_: bytes) -> Iterator[bytes]:
    """One bit of the first and of the last byte, all bits, and a hash from elsewhere."""
    yield bytes((hash_[0] ^ 0x80, *hash_[1:]))
    yield bytes((*hash_[:-1], hash_[-1] ^ 1))
    yield bytes(byte ^ 0xFF for byte in hash_)
    yield STRAY


def forged(proof: Proof, near: Proof) -> Iterator[list[bytes]]:
    """The proof with each hash changed, dropped, doubled, exchanged for another, and with one more at each place."""
    for at, hash_ in enumerate(proof):
        before, after = list(proof[:at]), list(proof[at + 1 :])
        yield from ([*before, other, *after] for other in flipped(hash_))
        yield from ([*before, other, *after] for other in (hash_[:-1], hash_ + b"\0", b""))
        yield [*before, *after]
        yield [*before, hash_, hash_, *after]
    for one, other in combinations(range(len(proof)), 2):
        swapped = list(proof)
        swapped[one], swapped[other] = swapped[other], swapped[one]
        yield swapped
    for at in range(len(proof) + 1):
        yield from ([*proof[:at], more, *proof[at:]] for more in (*near, STRAY, bytes(HASH_SIZE), b""))
    for length in range(len(proof)):
        yield list(proof[:length])
    if len(proof) > 1:
        yield list(reversed(proof))


@pytest.mark.parametrize("size", SIZES)
def test_no_forged_inclusion_proof_is_accepted(size: int) -> None:
    """Each hash of each proof of the tree."""
    for index in range(size):
        leaf, proof = LEAVES[index], inclusion_proof(index, size, nodes)
        for other in forged(proof, (leaf, ROOTS[size])):
            assert not includes(index, size, leaf, other, ROOTS[size]), (index, other)


@pytest.mark.parametrize("second", SIZES)
def test_no_forged_consistency_proof_is_accepted(second: int) -> None:
    """Each hash of each proof to this tree."""
    for first in range(1, second + 1):
        proof, roots = consistency_proof(first, second, nodes), (ROOTS[first], ROOTS[second])
        for other in forged(proof, roots):
            assert not extends(first, second, *roots, other), (first, other)


@pytest.mark.parametrize("size", SIZES)
def test_no_other_leaf_root_or_index_is_accepted(size: int) -> None:
    """A proof is of one leaf, at one place, under one root."""
    for index in range(size):
        leaf, proof, top = LEAVES[index], inclusion_proof(index, size, nodes), ROOTS[size]
        for other in (*flipped(leaf), *LEAVES[:index], *LEAVES[index + 1 :], leaf[:-1], leaf + b"\0", b""):
            assert not includes(index, size, other, proof, top)
        for other in (*flipped(top), *ROOTS[:size], *ROOTS[size + 1 :], top[:-1], top + b"\0", b""):
            assert not includes(index, size, leaf, proof, other)
        for elsewhere in {*range(-2, UP_TO + 2), index + 2**32, index + 2**64} - {index}:
            assert not includes(elsewhere, size, leaf, proof, top)


@pytest.mark.parametrize("second", SIZES)
def test_no_other_roots_are_accepted(second: int) -> None:
    """Neither the older nor the newer one may be another, nor may they change places."""
    for first in range(1, second + 1):
        proof, old, new = consistency_proof(first, second, nodes), ROOTS[first], ROOTS[second]
        for other in (*flipped(old), *ROOTS[:first], *ROOTS[first + 1 :], old[:-1], old + b"\0", b""):
            assert not extends(first, second, other, new, proof)
        for other in (*flipped(new), *ROOTS[:second], *ROOTS[second + 1 :], new[:-1], new + b"\0", b""):
            assert not extends(first, second, old, other, proof)
        assert extends(first, second, new, old, proof) == (first == second)


NUMBERS = (*range(-1, UP_TO + 2), 2**31, 2**32, 2**53, LARGEST_SIZE, LARGEST_SIZE + 1, 2**64, 10**5000)


@pytest.mark.parametrize("size", SIZES)
def test_under_another_size_an_inclusion_proof_is_read_as_the_rfc_reads_it(size: int) -> None:
    """Refused with that size's own root; with the old root both verifiers agree.

    A proof doesn't bind the size where the path turns alike: the first of three leaves has the path of the first of
    four.  That is RFC 6962, and why the size comes from a signed checkpoint alone.
    """
    for index in range(size):
        leaf, proof, top = LEAVES[index], inclusion_proof(index, size, nodes), ROOTS[size]
        for other in NUMBERS:
            alike = 0 <= index < other <= LARGEST_SIZE and rfc.accepts_inclusion(index, other, leaf, proof, top)
            assert includes(index, other, leaf, proof, top) == alike
        for other in set(range(UP_TO + 2)) - {size}:
            assert not includes(index, other, leaf, proof, ROOTS[other])


@pytest.mark.parametrize("second", SIZES)
def test_under_other_sizes_a_consistency_proof_is_read_as_the_rfc_reads_it(second: int) -> None:
    """Refused with those sizes' own roots unless it is their proof, too; with the old roots both verifiers agree."""
    for first in range(1, second + 1):
        proof, roots = consistency_proof(first, second, nodes), (ROOTS[first], ROOTS[second])
        for one, other in ((one, other) for one in NUMBERS for other in NUMBERS):
            possible = 0 < one <= other <= LARGEST_SIZE
            alike = possible and rfc.accepts_consistency(one, other, *roots, proof)
            assert extends(one, other, *roots, proof) == alike, (one, other)
        for one, other in GROWTH:
            own = rfc.proof(one, ENTRIES[:other]) == proof
            assert extends(one, other, ROOTS[one], ROOTS[other], proof) == own, (one, other)


# -- trees too large to build


def like(level: int) -> bytes:
    """The complete subtree over leaves that are all the same."""
    hash_ = LEAVES[0]
    for _ in range(level):
        hash_ = node_hash(hash_, hash_)
    return hash_


LIKE = [like(level) for level in range(64)]


def marked(leaf: int) -> Nodes:
    """A tree of any size: all leaves are the same but one."""

    def node(level: int, index: int) -> bytes:
        if leaf >> level != index:
            return LIKE[level]
        if level == 0:
            return STRAY
        return node_hash(node(level - 1, 2 * index), node(level - 1, 2 * index + 1))

    return node


sizes = st.one_of(st.integers(1, LARGEST_SIZE), st.integers(0, 63).map(lambda bits: 1 << bits))


@given(sizes, st.data())
def test_a_leaf_of_a_tree_of_any_size_is_proved(size: int, data: st.DataObject) -> None:
    """Up to 2^63 leaves, at its own place only."""
    index, other = data.draw(st.integers(0, size - 1)), data.draw(st.integers(0, size - 1))
    proof, top = inclusion_proof(index, size, marked(index)), root(size, marked(index))

    assert len(proof) <= 63
    assert includes(other, size, STRAY, proof, top) == (other == index)
    assert rfc.accepts_inclusion(index, size, STRAY, proof, top)


@given(sizes, st.data())
def test_the_growth_of_a_tree_of_any_size_is_proved(second: int, data: st.DataObject) -> None:
    """Up to 2^63 leaves; the mark lies in the old tree or in what was added, and a tree without it is another tree."""
    first = data.draw(st.integers(1, second))
    tree = marked(data.draw(st.integers(0, second - 1)))
    proof, old, new = consistency_proof(first, second, tree), root(first, tree), root(second, tree)

    assert len(proof) <= 64
    assert extends(first, second, old, new, proof)
    assert rfc.accepts_consistency(first, second, old, new, proof)
    assert not extends(first, second, old, root(second, marked(second)), proof)


def test_the_largest_tree_has_two_to_the_63_leaves() -> None:
    """Accepted at the limit, refused one behind it."""
    last = LARGEST_SIZE - 1
    tree = marked(last)
    top = root(LARGEST_SIZE, tree)

    verify_inclusion(last, LARGEST_SIZE, STRAY, inclusion_proof(last, LARGEST_SIZE, tree), top)
    verify_consistency(last, LARGEST_SIZE, root(last, tree), top, consistency_proof(last, LARGEST_SIZE, tree))
    with pytest.raises(ProofError, match=r"^size: "):
        inclusion_proof(0, LARGEST_SIZE + 1, tree)
    with pytest.raises(ProofError, match=r"^second size: "):
        consistency_proof(1, LARGEST_SIZE + 1, tree)


# -- the reason is said

WHOLE = "not a whole number from"
OUTSIDE: list[tuple[object, object, str]] = [
    (0, 0, f"size: {WHOLE} 1 to 9223372036854775808"),
    (0, -1, f"size: {WHOLE} 1 to 9223372036854775808"),
    (0, 2**63 + 1, f"size: {WHOLE} 1 to 9223372036854775808"),
    (0, True, f"size: {WHOLE} 1 to 9223372036854775808"),
    (0, 3.0, f"size: {WHOLE} 1 to 9223372036854775808"),
    (0, "3", f"size: {WHOLE} 1 to 9223372036854775808"),
    (0, None, f"size: {WHOLE} 1 to 9223372036854775808"),
    (3, 3, f"index: {WHOLE} 0 to 2"),
    (-1, 3, f"index: {WHOLE} 0 to 2"),
    (False, 3, f"index: {WHOLE} 0 to 2"),
    (0.0, 3, f"index: {WHOLE} 0 to 2"),
    (b"0", 3, f"index: {WHOLE} 0 to 2"),
]
NO_GROWTH: list[tuple[object, object, str]] = [
    (1, 0, f"second size: {WHOLE} 1 to 9223372036854775808"),
    (0, 0, f"second size: {WHOLE} 1 to 9223372036854775808"),
    (1, -1, f"second size: {WHOLE} 1 to 9223372036854775808"),
    (1, 2**63 + 1, f"second size: {WHOLE} 1 to 9223372036854775808"),
    (1, True, f"second size: {WHOLE} 1 to 9223372036854775808"),
    (1, 3.0, f"second size: {WHOLE} 1 to 9223372036854775808"),
    (0, 3, f"first size: {WHOLE} 1 to 3"),
    (-1, 3, f"first size: {WHOLE} 1 to 3"),
    (4, 3, f"first size: {WHOLE} 1 to 3"),
    (True, 3, f"first size: {WHOLE} 1 to 3"),
    ("1", 3, f"first size: {WHOLE} 1 to 3"),
]
NO_HASHES: list[object] = [
    b"", bytes(12), bytes(31), bytes(33), bytes(64), "0" * 32, bytearray(32), 32, None, [bytes(32)],
]  # fmt: skip


def refusal(check: object, *arguments: object) -> str:
    """The reason that ProofError gives; anything else that is raised is a mistake."""
    with pytest.raises(ProofError) as refused:
        check(*arguments)  # type: ignore[operator]
    return str(refused.value)


@pytest.mark.parametrize(("index", "size", "reason"), OUTSIDE)
def test_numbers_outside_of_the_tree_are_refused(index: object, size: object, reason: str) -> None:
    """By prover and verifier alike, whatever comes with them."""
    assert refusal(verify_inclusion, index, size, b"", None, b"") == reason
    assert refusal(inclusion_proof, index, size, nodes) == reason


def test_a_number_too_long_to_be_written_is_refused() -> None:
    """Python writes no number of more than 4,300 digits: the message must do without it."""
    huge = 10**5000

    assert refusal(verify_inclusion, 0, huge, b"", None, b"") == f"size: {WHOLE} 1 to 9223372036854775808"
    assert refusal(verify_inclusion, -huge, 3, b"", None, b"") == f"index: {WHOLE} 0 to 2"
    assert refusal(verify_consistency, huge, 3, b"", b"", None) == f"first size: {WHOLE} 1 to 3"


@pytest.mark.parametrize(("first", "second", "reason"), NO_GROWTH)
def test_sizes_that_are_no_growth_are_refused(first: object, second: object, reason: str) -> None:
    """By prover and verifier alike; growth from nothing proves nothing (RFC 6962, 2.1.2: 0 < m)."""
    assert refusal(verify_consistency, first, second, b"", b"", None) == reason
    assert refusal(consistency_proof, first, second, nodes) == reason


@pytest.mark.parametrize("value", NO_HASHES)
def test_what_is_no_hash_is_refused_by_name(value: object) -> None:
    """32 bytes, nothing that only looks so."""
    path, growth = inclusion_proof(1, 3, nodes), consistency_proof(3, 4, nodes)

    assert refusal(verify_inclusion, 1, 3, value, path, ROOTS[3]) == "leaf: not 32 bytes"
    assert refusal(verify_inclusion, 1, 3, LEAVES[1], path, value) == "root: not 32 bytes"
    assert refusal(verify_inclusion, 1, 3, LEAVES[1], [path[0], value], ROOTS[3]) == "proof, hash 1: not 32 bytes"
    assert refusal(verify_consistency, 3, 4, value, ROOTS[4], growth) == "first root: not 32 bytes"
    assert refusal(verify_consistency, 3, 4, ROOTS[3], value, growth) == "second root: not 32 bytes"
    assert refusal(verify_consistency, 3, 4, *ROOTS[3:5], [value, *growth[1:]]) == "proof, hash 0: not 32 bytes"


@pytest.mark.parametrize("value", [None, b"", bytes(64), "", 7, {}, iter([])])
def test_what_is_no_list_of_hashes_is_refused(value: object) -> None:
    """Even where an empty one is the proof."""
    assert refusal(verify_inclusion, 0, 1, LEAVES[0], value, ROOTS[1]) == "proof: not a list of hashes"
    assert refusal(verify_consistency, 2, 2, ROOTS[2], ROOTS[2], value) == "proof: not a list of hashes"


def test_a_proof_of_another_length_is_refused_before_its_hashes_are_looked_at() -> None:
    """The message says how many there should be."""
    assert refusal(verify_inclusion, 1, 3, LEAVES[1], [b""], ROOTS[3]) == "proof: 1 hashes instead of 2"
    assert refusal(verify_inclusion, 1, 3, LEAVES[1], [b""] * 3, ROOTS[3]) == "proof: 3 hashes instead of 2"
    assert refusal(verify_consistency, 3, 4, ROOTS[3], ROOTS[4], [b""]) == "proof: 1 hashes instead of 3"
    assert refusal(verify_consistency, 2, 4, ROOTS[2], ROOTS[4], [b"", b""]) == "proof: 2 hashes instead of 1"


def test_a_proof_that_leads_elsewhere_says_where() -> None:
    """Both roots, in hex."""
    path, growth = inclusion_proof(1, 3, nodes), consistency_proof(3, 4, nodes)
    old, new, stray = ROOTS[3], ROOTS[4], STRAY
    leads = f"the proof leads to {old.hex()}, not to {stray.hex()}"

    assert refusal(verify_inclusion, 1, 3, LEAVES[1], path, stray) == f"root: {leads}"
    assert refusal(verify_consistency, 3, 4, stray, new, growth) == f"first root: {leads}"
    assert refusal(verify_consistency, 3, 3, old, stray, []) == f"second root: {leads}"
    assert refusal(verify_consistency, 3, 4, old, stray, growth).startswith("second root: the proof leads to ")
