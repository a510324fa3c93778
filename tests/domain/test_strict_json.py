"""JSON from outside: what parsers let pass and money must not.

Not here: the fields of a scenario (tests/replay) or a ruleset (tests/rules).
"""

from __future__ import annotations

import re

import pytest

from domain.strict_json import StrictJsonError, require_strict_json


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ('{"a":1,"a":1}', "the key 'a' stands twice in one object"),
        ('[{"b":{"a":1,"c":2,"a":3}}]', "the key 'a' stands twice in one object"),
        ('{"ante":NaN}', "ante: NaN is not a number in JSON"),
        ('{"discard":[0,-Infinity]}', "discard: -Infinity is not a number in JSON"),
        ("Infinity", "the value: Infinity is not a number in JSON"),
        ("9" * 5000, "a number has too many digits"),
        ("[" * 200_000, "not JSON: nested too deeply"),
        ('{"a":1', "not JSON: Expecting ',' delimiter at line 1 column 7"),
        ("", "not JSON: Expecting value at line 1 column 1"),
        (b'{"a":"\xff"}', "not UTF-8 text at byte 6"),
    ],
)
def test_what_is_not_strict_json_is_refused_with_its_reason(text: str | bytes, reason: str) -> None:
    with pytest.raises(StrictJsonError, match="^" + re.escape(reason)):
        require_strict_json(text)


@pytest.mark.parametrize("text", ['{"a":{"a":[{"a":1},{"a":2}]}}', "[]", "0", '"NaN"', '{"a":"NaN"}', "1e3"])
def test_what_is_strict_json_passes_whatever_its_types(text: str) -> None:
    require_strict_json(text)
