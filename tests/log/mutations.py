"""Good bytes made bad: flips, inserts, deletes, swaps, and splices of several good ones.

Not here: what must become of them (`test_fuzz_notes`, `test_fuzz_receipts`, `test_fuzz_trust`).
"""

from __future__ import annotations

from collections.abc import Sequence

from hypothesis import strategies as st


@st.composite
def mutated(draw: st.DrawFn, good: Sequence[bytes], pieces: Sequence[bytes]) -> bytes:
    """One of the good ones after one to four changes; `pieces`: what its format is made of, put in as a whole."""
    data = draw(st.sampled_from(good))
    for _ in range(draw(st.integers(1, 4))):
        data = draw(_changed(data, good, pieces))
    return data


@st.composite
def _changed(draw: st.DrawFn, data: bytes, good: Sequence[bytes], pieces: Sequence[bytes]) -> bytes:
    start, end = sorted((draw(st.integers(0, len(data))), draw(st.integers(0, len(data)))))
    kind = draw(st.sampled_from(["flip", "insert", "delete", "replace", "double", "swap", "splice", "lines"]))
    if kind == "flip" and start < len(data):
        return data[:start] + bytes([data[start] ^ 1 << draw(st.integers(0, 7))]) + data[start + 1 :]
    if kind == "insert":
        return data[:start] + draw(st.sampled_from(pieces) | st.binary(max_size=8)) + data[start:]
    if kind == "delete":
        return data[:start] + data[min(end, start + 80) :]
    if kind == "replace":
        return data[:start] + draw(st.sampled_from(pieces)) + data[end:]
    if kind == "double":
        return data[:end] + data[start:]
    if kind == "swap":
        middle = draw(st.integers(start, end))
        return data[:start] + data[middle:end] + data[start:middle] + data[end:]
    other = draw(st.sampled_from(good))
    if kind == "splice":
        return data[:start] + other[draw(st.integers(0, len(other))) :]
    lines = [*data.splitlines(True), *other.splitlines(True)]
    return b"".join(draw(st.lists(st.sampled_from(lines), max_size=8))) if lines else data
