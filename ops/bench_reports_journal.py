"""A large journal for the measures of projections and reports: real rounds, played once and copied under other names.

    made = played(url, 200)
    fill(url, made, 1_000_000)

A copy has rounds, players and jackpots of its own, the same in streams and in bodies; tables and games are those of the
first.  The events lie evenly over one month, in the order of the journal, whatever their number.  What is copied has
no true chain of hashes: only who never looks at one may read it.

Not here: what is measured (`ops.bench_reports`).
"""

from __future__ import annotations

import re
import secrets
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from random import Random
from typing import Final, NamedTuple

import psycopg

from domain.rulesets import released_rulesets
from ops import clock
from ops.floor import Floor
from ops.journal import Journal
from ops.keys import DataKey
from ops.play import JACKPOT, furnish, play
from ops.rulesets import publish

MONTH: Final = "2025-10"
_BEGIN: Final = int(datetime(2025, 10, 1, tzinfo=UTC).timestamp()) * 1000
_MILLISECONDS: Final = 31 * 86_400_000

_COPIED: Final = ("round:", "account:", "jackpot:")
_AT: Final = len('{"at":"2026-12-01T05:10:36.123Z')
"""A body begins with its time: keys are in the order of their letters."""

_HEX: Final = 26
"""So many characters of a round's id stay; the other six are those of the copy, and follow a player's name too."""

_NAMES: Final = re.compile(
    rb'(?<![0-9a-f])[0-9a-f]{%d}(?=[0-9a-f]{6}(?![0-9a-f]))|[a-z0-9-]+\.player-[0-9]+|(?<=[":])%s(?=$|")'
    % (_HEX, JACKPOT.encode())
)


class Template(NamedTuple):
    """An event whose stream and body, from behind the time on, are cut where the number of a copy goes in."""

    stream: list[str]
    seq: int
    topic: str
    body: list[bytes]
    copied: bool


def played(url: str, rounds: int) -> list[Template]:
    """Play so many rounds of all games in an empty database; its events become templates, and are taken out again."""
    rulesets = list(released_rulesets().values())
    with Journal.open(url) as journal:
        for ruleset in rulesets:
            publish(journal, ruleset)
        floor = Floor(journal, DataKey(secrets.token_hex(8), secrets.token_bytes(32)))
        play(floor, furnish(floor, rulesets, tables_each=1), rounds, Random(rounds), lambda: None)
    with psycopg.connect(url) as connection:
        rows = connection.execute(_ALL).fetchall()
        connection.execute("set session_replication_role = replica")
        connection.execute("alter table dealproof.events disable trigger all")
        connection.execute("truncate dealproof.events")
        connection.execute("alter table dealproof.events enable trigger all")
    ids = {stream.removeprefix("round:")[:_HEX].encode() for stream, *_ in rows if stream.startswith("round:")}
    return [
        Template(
            [part.decode() for part in _cut(stream.encode(), ids)], seq, topic, _cut(body[_AT:], ids),
            stream.startswith(_COPIED),
        )
        for stream, seq, topic, body in rows
    ]  # fmt: skip


def _cut(text: bytes, ids: set[bytes]) -> list[bytes]:
    """The pieces between which the number of a copy goes."""
    pieces, start = [], 0
    for found in _NAMES.finditer(text):
        name = found.group()
        if len(name) == _HEX and b"player" not in name and name not in ids:
            continue  # 32 hex characters that name no round
        pieces.append(text[start : found.end()])
        start = found.end() + (6 if name in ids else 0)
    return [*pieces, text[start:]]


def fill(url: str, templates: Sequence[Template], events: int) -> int:
    """Copy until there are at least so many events in an empty journal; how many there are."""
    copied = [template for template in templates if template.copied]
    copies = 1 + max(0, -(-(events - len(templates)) // len(copied)))
    total = len(templates) + (copies - 1) * len(copied)
    with psycopg.connect(url) as connection:
        connection.execute("set session_replication_role = replica")
        with connection.cursor().copy(_COPY) as copy:
            copy.set_types(["text", "int8", "text", "bytea", "int8"])
            for row in _rows(templates, copied, copies, total):
                copy.write_row(row)
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("vacuum analyze dealproof.events")
    return total


def _rows(
    templates: Sequence[Template], copied: Sequence[Template], copies: int, total: int
) -> Iterator[tuple[str, int, str, bytes, int]]:
    position = 0
    for number in range(copies):
        name = f"{number:06x}"
        as_bytes = name.encode()
        for stream, seq, topic, body, _ in copied if number else templates:
            at = clock.as_text(_BEGIN + position * _MILLISECONDS // total)
            position += 1
            yield name.join(stream), seq, topic, b'{"at":"%s' % at.encode() + as_bytes.join(body), position


_ALL: Final = "select originator_id, originator_version, topic, state from dealproof.events order by notification_id"
_COPY: Final = (
    "copy dealproof.events (originator_id, originator_version, topic, state, notification_id) from stdin"
    " with (format binary)"
)
