"""Every kind of event with arbitrary values of its fields' types: for what must hold of any well-formed fact.

Not here: rounds that make sense (`simulated`).
"""

from __future__ import annotations

import types
from enum import Enum
from typing import Any, Union, get_args, get_origin, get_type_hints

import msgspec
from hypothesis import strategies as st

from domain.cards import CARD_TEXTS
from domain.record import LARGEST_INTEGER
from domain.round import events as e

TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
INTEGERS = st.integers(-LARGEST_INTEGER, LARGEST_INTEGER)
CARD_LISTS = st.lists(st.sampled_from(CARD_TEXTS), max_size=6)
CARD_FIELDS = {"cards": CARD_LISTS, "new": st.sampled_from(CARD_TEXTS), "old": st.sampled_from(CARD_TEXTS)}


def struct_values(kind: type[Any], special: dict[str, st.SearchStrategy[Any]]) -> st.SearchStrategy[Any]:
    """Instances of a struct with any value in each field, but for the fields that `special` names."""
    hints = get_type_hints(kind)
    fields = {name: special[name] if name in special else _values(hints[name]) for name in kind.__struct_fields__}
    return st.builds(kind, **fields)


def _values(hint: Any) -> st.SearchStrategy[Any]:
    if get_origin(hint) in (Union, types.UnionType):
        return st.one_of([_values(one) for one in get_args(hint)])
    if get_origin(hint) is list:
        return st.lists(_values(get_args(hint)[0]), max_size=4)
    if isinstance(hint, type) and issubclass(hint, Enum):
        return st.sampled_from(list(hint))
    if isinstance(hint, type) and issubclass(hint, msgspec.Struct):
        return struct_values(hint, {})
    return {int: INTEGERS, str: TEXT, bool: st.booleans(), type(None): st.none()}[hint]


ANY_EVENT = {kind: struct_values(kind, {}) for kind in e.ROUND_EVENTS}
"""Whatever the types allow: text where a card belongs, too."""

TABLE_EVENT = {
    kind: struct_values(kind, {**CARD_FIELDS, "box": st.integers(0, 5), "discard": st.lists(st.integers(0, 9))})
    for kind in e.ROUND_EVENTS
}
"""Well-formed: card texts are cards; boxes are few, so that events meet."""
