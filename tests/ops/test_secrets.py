"""What nobody may see before a round has ended: the server seed in any form, and the cards that are not shown.

Every seed is noted as it comes from the operating system, or opened from its seal with the key file as its owner
could; then every byte of every row of every table, and all that the program says, is searched.

Not here: how a seed is sealed (`tests.deal.test_sealed_seeds`).
"""

from __future__ import annotations

import base64
import os
import pprint
import re
import secrets
import stat
import subprocess
import sys
import traceback
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from random import Random

import psycopg
import pytest
from psycopg import sql

from domain.cards import card_texts
from domain.record import leaf_hash
from domain.round import choices as c
from domain.round import events as e
from domain.round.codec import append_to, decode
from domain.round.dealer import Dealer
from domain.round.phases import Phase
from domain.rulesets import released_rulesets
from ops.house import House, LiveRound
from ops.journal import Journal
from ops.keys import DataKey, SealedSeed, open_seed
from ops.settings import Settings
from ops.site import current_data_key, data_key
from tests.ops.cli.running import REPOSITORY, dealproof_process
from tests.ops.test_house import BY_DIGEST, KEY, MULTIBOX, OPEN, bodies_of, made, next_choices, opened, place

RULESETS = released_rulesets()
CARD = re.compile(rb"(?<![0-9A-Za-z])([2-9TJQKA][cdhs])(?![0-9A-Za-z])")


def spellings(secret: bytes) -> dict[str, bytes]:
    """A secret in the forms in which one gets out by mistake."""
    numbers = str(list(secret)).strip("[]")
    return {
        "raw": secret,
        "reversed": secret[::-1],
        "hex": secret.hex().encode(),
        "HEX": secret.hex().upper().encode(),
        "base64": base64.b64encode(secret).rstrip(b"="),
        "base64, for URLs": base64.urlsafe_b64encode(secret).rstrip(b"="),
        "base32": base64.b32encode(secret).rstrip(b"="),
        "decimal": str(int.from_bytes(secret, "big")).encode(),
        "decimal, little-endian": str(int.from_bytes(secret, "little")).encode(),
        "list of numbers": numbers.encode(),
        "numbers without spaces": numbers.replace(" ", "").encode(),
        "repr": repr(secret)[2:-1].encode(),
    }


def where(secret: bytes, places: dict[str, bytes]) -> list[tuple[str, str]]:
    """Every (place, spelling) at which a secret stands."""
    forms = spellings(secret)
    return [(place, form) for place, text in places.items() for form, spelt in forms.items() if spelt in text]


def whole_database(url: str, *, only_text: bool = False) -> dict[str, bytes]:
    """Every row of every table that is not PostgreSQL's own, as bytes, by table and row.

    `only_text`: without hashes and sealed keys, among whose bytes any two letters may stand.
    """
    rows: dict[str, bytes] = {}
    with psycopg.connect(url) as owner:
        tables = owner.execute(
            "select schemaname, tablename from pg_tables where schemaname not in ('pg_catalog', 'information_schema')"
        ).fetchall()
        assert {"events", "commands", "round_identity", "data_key"} <= {table for _, table in tables}
        for name in tables:
            found = owner.execute(sql.SQL("select * from {}").format(sql.Identifier(*name))).fetchall()
            for number, row in enumerate(found):
                values = [v if isinstance(v, bytes) else str(v).encode() for v in row]
                rows[f"{name[1]} {number}"] = b"\0".join(v for v in values if not only_text or _is_text(v))
    return rows


def _is_text(value: bytes) -> bool:
    try:
        return value.decode().isprintable()
    except UnicodeDecodeError:
        return False


@pytest.fixture
def journal(migrated_database_url: str) -> Iterator[Journal]:
    with Journal.open(migrated_database_url) as journal:
        yield journal


@pytest.fixture
def house(journal: Journal) -> House:
    return House(journal, KEY)


@pytest.fixture
def made_secrets(monkeypatch: pytest.MonkeyPatch) -> list[bytes]:
    """Every 32 bytes that the operating system gave: server seeds, and keys."""
    noted: list[bytes] = []
    token_bytes = secrets.token_bytes

    def noting(size: int | None = None) -> bytes:
        made = token_bytes(size)
        if size == 32:
            noted.append(made)
        return made

    monkeypatch.setattr(secrets, "token_bytes", noting)
    return noted


def tables_at_play(house: House) -> Iterator[list[LiveRound]]:
    """Two rounds of every game, side by side, command by command, until all have ended."""
    random = Random(11)
    lives = [opened(house, ruleset, number) for number, ruleset in enumerate([*RULESETS.values()] * 2, start=1)]
    yield lives
    while any(live.state.phase is not Phase.ENDED for live in lives):
        for live in lives:
            if live.state.phase is not Phase.ENDED:
                made(house, live, *next_choices(random, live))
        yield lives


# -- the search itself


@pytest.mark.parametrize("form", spellings(b"x" * 32))
def test_the_search_finds_a_secret_in_each_spelling(form: str) -> None:
    secret = bytes(range(100, 132))

    assert (("here", form)) in where(secret, {"here": b"before" + spellings(secret)[form] + b"after"})
    assert where(secret, {"here": bytes(range(100, 131))}) == []


# -- seeds


def test_while_a_round_is_open_its_seed_is_nowhere_in_the_database(
    house: House, migrated_database_url: str, made_secrets: list[bytes]
) -> None:
    """Looked for after every command; once the round has ended, it stands in the event that reveals it, only there."""
    looked = 0
    for lives in tables_at_play(house):
        rows = whole_database(migrated_database_url)
        for live, seed in zip(lives, made_secrets, strict=True):
            found = where(seed, rows)
            if live.state.phase is Phase.ENDED:
                [(place, form)] = found
                assert form == "hex"
                assert b"seed-revealed.v1" in rows[place]
            else:
                assert found == []
                looked += 1
    assert looked > 2 * len(made_secrets) == 4 * len(RULESETS)
    assert KEY.secret not in b"".join(whole_database(migrated_database_url).values())


def test_of_a_round_in_hand_only_what_is_public_is_printed(house: House, made_secrets: list[bytes]) -> None:
    for lives in tables_at_play(house):
        for live, seed in zip(lives, made_secrets, strict=True):
            things = (live, house, house.journal, house.data_key, live.deck, live.state, [live], {"round": live})
            told = "\n".join(
                show(thing) for thing in things for show in (repr, str, pprint.pformat, "{0!r} {0}".format)
            ).encode()
            assert where(seed, {"printed": told}) == []
            assert where(KEY.secret, {"printed": told}) == []
            assert CARD.findall(told) == []


def with_another_key(house: House, live: LiveRound) -> None:
    House(house.journal, DataKey(KEY.id, bytes(32))).load(live.stream, BY_DIGEST)


def with_a_beacon_too_short(house: House, live: LiveRound) -> None:
    state = house.load(live.stream, BY_DIGEST)
    house._deck(state, state.state, b"short")


def after_another_writer(house: House, live: LiveRound) -> None:
    fold = e.BoxFolded(box=1, by=e.By.PLAYER)
    house.journal.append("another", b"", append_to(live.stream, live.head, [fold], live.last_at))
    house.choose(live, c.Bet(box=1))


def with_a_closed_journal(house: House, live: LiveRound) -> None:
    house.journal.close()
    house.choose(live, c.Bet(box=1))


def with_a_choice_that_is_none(house: House, live: LiveRound) -> None:
    house.choose(live, "bet")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "fail",
    [
        with_another_key, with_a_beacon_too_short, after_another_writer, with_a_closed_journal,
        with_a_choice_that_is_none,
    ],
)  # fmt: skip
def test_no_error_tells_a_secret(
    house: House, made_secrets: list[bytes], fail: Callable[[House, LiveRound], None]
) -> None:
    live = opened(house, RULESETS[OPEN])
    made(house, live, place(1), c.Deal())
    with pytest.raises(Exception) as raised:
        fail(house, live)

    told = "".join(traceback.format_exception(raised.value)) + repr(raised.value) + str(vars(raised.value))

    assert where(made_secrets[0], {"told": told.encode()}) == []
    assert where(KEY.secret, {"told": told.encode()}) == []
    assert CARD.findall(told.encode()) == []


# -- what a process says

LOGS_AN_ERROR_AND_DIES = """
import sys
from ops.cli.main import main
from ops import journal
from ops.logs import logger
append = journal.Journal.append
def fails_at_last(self, command_id, request, records, rounds=()):
    if self.head_position() > 190 and not rounds:
        try:
            raise RuntimeError("the disk is on fire")
        except RuntimeError:
            logger().exception("append_failed", stream=records[0].stream)
            raise
    return append(self, command_id, request, records, rounds)
journal.Journal.append = fails_at_last
main()
"""


def test_a_program_that_dies_at_play_tells_nothing(migrated_database_url: str, tmp_path: Path) -> None:
    """Its log at the most talkative, an exception logged, a traceback: the open rounds' seeds are in none of it."""
    line = ["--home", str(tmp_path), "--database-url", migrated_database_url, "play", "--direct", "--rounds", "50"]
    died = subprocess.run(
        [sys.executable, "-c", LOGS_AN_ERROR_AND_DIES, *line], cwd=REPOSITORY, capture_output=True, timeout=60,
        env={**os.environ, "DEALPROOF_LOG": "debug"}, check=False,
    )  # fmt: skip

    assert died.returncode == 70
    assert b"append_failed" in died.stderr
    assert b"Traceback" in died.stderr
    settings = Settings(tmp_path, migrated_database_url, tmp_path / "keys/dealproof.key")
    still_open = seeds_of_open_rounds(migrated_database_url, settings)
    assert len(still_open) >= 4
    said = {"stdout": died.stdout, "stderr": died.stderr, **whole_database(migrated_database_url)}
    for secret in (*still_open, *keys(migrated_database_url, settings)):
        assert where(secret, said) == []
    assert CARD.findall(died.stdout + died.stderr) == []


def test_playing_and_verifying_says_no_seed(migrated_database_url: str, tmp_path: Path) -> None:
    """Nor a key, whatever the level of the log; the key file is its owner's alone."""
    options = ("--home", str(tmp_path), "--database-url", migrated_database_url)
    ran = [
        dealproof_process(*options, *command, environment={"DEALPROOF_LOG": "debug"})
        for command in (("play", "--direct", "--rounds", "30"), ("verify", "--all", "--json"), ("rounds", "--json"))
    ]

    assert [one.returncode for one in ran] == [0, 0, 0], ran
    said = {"stdout": b"".join(one.stdout for one in ran), "stderr": b"".join(one.stderr for one in ran)}
    settings = Settings(tmp_path, migrated_database_url, tmp_path / "keys/dealproof.key")
    seeds = revealed_seeds(migrated_database_url)
    assert len(seeds) == 30
    for secret in (*seeds, *keys(migrated_database_url, settings)):
        assert where(secret, said) == []
    for secret in keys(migrated_database_url, settings):
        assert where(secret, whole_database(migrated_database_url)) == []
    assert stat.S_IMODE(settings.key_file.stat().st_mode) == 0o600


def keys(url: str, settings: Settings) -> list[bytes]:
    """The key of the key file and the data key."""
    return [settings.key_file.read_bytes(), current_data_key(url, settings).secret]


def seeds_of_open_rounds(url: str, settings: Settings) -> list[bytes]:
    """Opened from their seals, as only the owner of the key file can."""
    found = []
    with Journal.open(url) as journal:
        for stream, bodies in journal.read_rounds():
            first = decode(bodies[0]).data
            assert isinstance(first, e.RoundOpened)
            if not isinstance(decode(bodies[-1]).data, e.SeedRevealed):
                sealed, key_of = SealedSeed.from_text(first.sealed_seed), data_key
                key = key_of(url, settings, sealed.key_id)
                promise, digest = bytes.fromhex(first.commitment), bytes.fromhex(first.ruleset_digest)
                found.append(open_seed(key, sealed, bytes.fromhex(stream[6:]), promise, digest))
    return found


def revealed_seeds(url: str) -> list[bytes]:
    with Journal.open(url) as journal:
        ends = [decode(bodies[-1]).data for _, bodies in journal.read_rounds()]
    return [bytes.fromhex(end.server_seed) for end in ends if isinstance(end, e.SeedRevealed)]


# -- cards


def face_down(live: LiveRound) -> set[bytes]:
    """The cards that nobody may know: dealt face down, or not dealt yet."""
    state, deck = live.state, live.deck
    if deck is None:
        return set()
    dealer = Dealer(state, live.ruleset, deck)
    hidden = {*deck.cards(state.next_card, 52)}
    if not state.revealed:
        upcard = live.ruleset.upcard_index % 5
        hidden |= {card for place, card in enumerate(dealer.dealt_to(len(state.boxes))) if place != upcard}
        for slot, box in enumerate(state.boxes):
            if box.dark or not box.cards:
                hidden |= {*dealer.dealt_to(slot)}
            if box.hidden_draw is not None:
                hidden.add(deck.cards(box.hidden_draw, box.hidden_draw + 1)[0])
    return {text.encode() for text in card_texts(sorted(hidden))}


def test_no_card_is_stored_before_it_is_shown(house: House, migrated_database_url: str) -> None:
    """Rule 4.2: of the dealer one card is open; rule 6.8: a dark box is seen by nobody; the rest is not dealt yet."""
    looked, dark = 0, False
    for lives in tables_at_play(house):
        for live in lives:
            if live.state.phase is Phase.ENDED:
                continue
            bodies = b"\n".join(bodies_of(house.journal, live.stream))
            hidden = face_down(live)
            assert set(CARD.findall(bodies)) & hidden == set()
            if live.deck is not None:
                assert len(set(CARD.findall(bodies)) | hidden) == 52
                looked, dark = looked + 1, dark or any(box.dark for box in live.state.boxes)
    assert looked > 8
    assert dark


def test_before_the_deal_no_card_is_stored_at_all(house: House, migrated_database_url: str) -> None:
    live = opened(house, RULESETS[MULTIBOX])
    made(house, live, place(1))

    rows = whole_database(migrated_database_url, only_text=True).values()
    assert any(b"box-placed.v1" in row and b'"ante"' in row for row in rows)
    assert CARD.findall(b"\n".join(rows)) == []


def test_the_sealed_seed_says_nothing_about_the_seed(house: House, made_secrets: list[bytes]) -> None:
    """Two rounds' seals have neither nonce nor bytes in common, and no seed is used twice."""
    sealed = [_sealed(opened(house, RULESETS[OPEN], number)) for number in range(1, 21)]

    assert len({seal.nonce for seal in sealed}) == len({seal.ciphertext for seal in sealed}) == 20
    assert len(set(made_secrets)) == 20
    for seal, seed in zip(sealed, made_secrets, strict=True):
        assert _common(seal.ciphertext, seed) < 6


def _sealed(live: LiveRound) -> SealedSeed:
    assert live.state.opened is not None
    return SealedSeed.from_text(live.state.opened.sealed_seed)


def _common(left: Sequence[int], right: Sequence[int]) -> int:
    return sum(one == other for one, other in zip(left, right, strict=False))


def test_the_commitment_is_public_and_comes_first(house: House, made_secrets: list[bytes]) -> None:
    """Rule 4.4: it is in the first event, before any stake; the seed that it promises is in the last one."""
    live = opened(house, RULESETS[OPEN])
    first = bodies_of(house.journal, live.stream)
    assert len(first) == 1
    assert leaf_hash(first[0]) == live.head[1]
    while live.state.phase is not Phase.ENDED:
        made(house, live, *next_choices(Random(1), live))

    last = decode(bodies_of(house.journal, live.stream)[-1]).data
    assert isinstance(last, e.SeedRevealed)
    assert bytes.fromhex(last.server_seed) == made_secrets[0]
