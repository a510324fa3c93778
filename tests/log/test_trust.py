"""Trust files: read back as written, and everything that is refused, with field and reason."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from domain.log.checkpoint import COSIGNATURE, LARGEST_SIZE, LOG, VerifierKey
from domain.log.trust import PinnedKey, Trust, TrustError
from tests.log.signers import ALPHA, BETA, HOUSE, HOUSE_NEXT, ORIGIN, RECEIPTS, STRANGER, TRUST

PAGE = (Path(__file__).parents[2] / "docs/formats/trust.md").read_text("utf-8")


def refused(data: bytes, reason: str) -> None:
    """In one line, with this reason."""
    with pytest.raises(TrustError, match=re.escape(reason)) as caught:
        Trust.from_json(data)
    assert "\n" not in str(caught.value)


def test_the_example_of_the_page() -> None:
    match = re.search(r"^<!-- example: trust -->\n```json\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
    assert match is not None
    changed = (PinnedKey(HOUSE.key, 0, 1274), PinnedKey(HOUSE_NEXT.key, 1275))
    trust = replace(TRUST, log_keys=changed, witnesses_needed=2)

    assert Trust.from_json(match[1].encode()) == trust
    assert trust.to_json().decode() == match[1]


def test_a_trust_without_sizes_holds_for_all_of_them() -> None:
    data = {**json.loads(TRUST.to_json()), "log_keys": [{"key": HOUSE.key.to_text()}]}

    [pinned] = Trust.from_json(json.dumps(data).encode()).log_keys

    assert pinned == PinnedKey(HOUSE.key, 0, None)
    assert pinned.holds(0) and pinned.holds(LARGEST_SIZE)


SIZES = st.tuples(st.integers(0, LARGEST_SIZE), st.none() | st.integers(0, LARGEST_SIZE)).filter(
    lambda sizes: sizes[1] is None or sizes[0] <= sizes[1]
)
NAMES = st.text(st.characters(min_codepoint=33, max_codepoint=126, exclude_characters="+"), min_size=1, max_size=200)


def keys(kind: int, names: st.SearchStrategy[str], least: int = 0) -> st.SearchStrategy[tuple[PinnedKey, ...]]:
    public = st.binary(min_size=31, max_size=31).map(b"\2".__add__)  # any but those that are refused
    key = st.builds(VerifierKey, names, st.just(kind), public)
    pinned = st.builds(lambda key, sizes: PinnedKey(key, *sizes), key, SIZES)
    return st.lists(pinned, min_size=least, max_size=4).map(tuple)


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_any_trust_is_read_back_as_it_was_written(data: st.DataObject) -> None:
    origin = data.draw(NAMES)
    witnesses = data.draw(keys(COSIGNATURE, NAMES))
    trust = Trust(
        origin,
        data.draw(keys(LOG, st.just(origin), least=1)),
        witnesses,
        data.draw(keys(LOG, NAMES)),
        data.draw(st.integers(0, len({pin.key.public_key for pin in witnesses}))),
    )

    assert Trust.from_json(trust.to_json()) == trust


@pytest.mark.parametrize(
    ("pinned", "size", "holds"),
    [
        ((0, None), 0, True),
        ((5, 9), 4, False),
        ((5, 9), 5, True),
        ((5, 9), 9, True),
        ((5, 9), 10, False),
        ((5, None), 4, False),
    ],
)
def test_a_key_holds_from_its_first_to_its_last_size(pinned: tuple[int, int | None], size: int, holds: bool) -> None:
    assert PinnedKey(HOUSE.key, *pinned).holds(size) == holds


def with_keys(field: str, *entries: object) -> Callable[[dict[str, Any]], object]:
    return lambda file: file.update({field: list(entries)})


def entry(text: str, **sizes: object) -> dict[str, object]:
    return {"key": text, **sizes}


LOG_TEXT, WITNESS_TEXT = HOUSE.key.to_text(), ALPHA.key.to_text()
SAME_AS_ALPHA = VerifierKey("second-name.example/w", COSIGNATURE, ALPHA.key.public_key).to_text()

BAD: list[tuple[str, Callable[[dict[str, Any]], object], str]] = [
    ("another format", lambda file: file.update(format="dp2/trust"), "format: 'dp2/trust' is not 'dp1/trust'"),
    ("no format", lambda file: file.pop("format"), "missing required field `format`"),
    ("no origin", lambda file: file.pop("origin"), "missing required field `origin`"),
    ("no log keys", lambda file: file.pop("log_keys"), "missing required field `log_keys`"),
    ("unknown field", lambda file: file.update(witness=1), "unknown field `witness`"),
    ("unknown field of a key", with_keys("log_keys", entry(LOG_TEXT, size=1)), "unknown field `size` - at"),
    ("key as text", with_keys("log_keys", LOG_TEXT), "Expected `object`, got `str` - at `$.log_keys[0]`"),
    ("text for a number", lambda file: file.update(witnesses_needed="2"), "got `str` - at `$.witnesses_needed`"),
    ("true for a number", lambda file: file.update(witnesses_needed=True), "got `bool` - at `$.witnesses_needed`"),
    ("a half", lambda file: file.update(witnesses_needed=1.5), "got `float` - at `$.witnesses_needed`"),
    ("null", lambda file: file.update(origin=None), "got `null` - at `$.origin`"),
    ("empty log keys", with_keys("log_keys"), "log_keys: at least one is needed"),
    ("no key", with_keys("log_keys", entry("hello")), "log_keys[0]: key: 'hello' is not <name>+"),
    ("second key bad", with_keys("witness_keys", entry(WITNESS_TEXT), entry("x")), "witness_keys[1]: key: 'x' is not"),
    ("witness as log", with_keys("log_keys", entry(WITNESS_TEXT)), "log_keys[0]: is of type 4, not 1"),
    ("log as witness", with_keys("witness_keys", entry(LOG_TEXT)), "witness_keys[0]: is of type 1, not 4"),
    ("witness for receipts", with_keys("receipt_keys", entry(WITNESS_TEXT)), "receipt_keys[0]: is of type 4, not 1"),
    ("key of another log", with_keys("log_keys", entry(RECEIPTS.key.to_text())), "not as the origin casino.example"),
    ("another origin", lambda file: file.update(origin="other.example"), "log_keys[0]: is named casino.example/log"),
    ("sizes backwards", with_keys("log_keys", entry(LOG_TEXT, first_size=9, last_size=8)), "its sizes go from 9 to 8"),
    ("negative size", with_keys("log_keys", entry(LOG_TEXT, first_size=-1)), "its sizes go from -1 to None"),
    ("size beyond", with_keys("log_keys", entry(LOG_TEXT, last_size=2**63)), "its sizes go from 0 to 92233720"),
    ("negative need", lambda file: file.update(witnesses_needed=-1), "witnesses_needed: -1 of 2 witnesses"),
    ("need more", lambda file: file.update(witnesses_needed=3), "witnesses_needed: 3 of 2 witnesses"),
]  # fmt: skip


@pytest.mark.parametrize(("change", "reason"), [case[1:] for case in BAD], ids=[case[0] for case in BAD])
def test_a_file_that_cannot_be_used(change: Callable[[dict[str, Any]], object], reason: str) -> None:
    file = json.loads(TRUST.to_json())

    change(file)

    refused(json.dumps(file).encode(), reason)


def test_two_witnesses_with_one_key_are_one() -> None:
    """So nobody who needs two is content with one that has two names."""
    file = json.loads(TRUST.to_json())
    file |= {"witness_keys": [entry(WITNESS_TEXT), entry(SAME_AS_ALPHA), entry(WITNESS_TEXT)], "witnesses_needed": 2}

    refused(json.dumps(file).encode(), "witnesses_needed: 2 of 1 witnesses")


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"", "not JSON"),
        (b"{", "not JSON"),
        (b"[]", "Expected `object`, got `array`"),
        (b"null", "Expected `object`, got `null`"),
        (b"\xff", "not UTF-8"),
        (b"\xef\xbb\xbf{}", "JSON is malformed"),
        (TRUST.to_json().decode().encode("utf-16"), "JSON is malformed"),
        (b"[" * 100_000, "not JSON: nested too deeply"),
        (b'{"origin": "a", "origin": "b"}', "the key 'origin' stands twice in one object"),
        (b'{"witnesses_needed": NaN}', "NaN is not a number in JSON"),
        (TRUST.to_json() + b"{}", "not JSON"),
        (b" " * (1024 * 1024 + 1), "1048577 bytes are more than 1048576"),
    ],
    ids=lambda value: ascii(value)[:40],
)
def test_bytes_that_are_no_file(data: bytes, reason: str) -> None:
    refused(data, reason)


def test_a_key_doubled_inside_of_a_pinned_key_is_refused() -> None:
    """Of two last sizes no reader may choose one."""
    data = TRUST.to_json().replace(b'"first_size": 0,', b'"first_size": 0, "first_size": 5,', 1)

    refused(data, "the key 'first_size' stands twice in one object")


def test_strangers_are_not_in_it() -> None:
    """The three lists are what was given, in that order."""
    read = Trust.from_json(TRUST.to_json())

    assert [pin.key for pin in read.witness_keys] == [ALPHA.key, BETA.key]
    assert STRANGER.key not in [pin.key for pin in (*read.log_keys, *read.witness_keys, *read.receipt_keys)]
    assert read.origin == ORIGIN
