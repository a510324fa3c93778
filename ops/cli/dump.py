"""Raw output of the deal for test laboratories: the generator's bytes, and shuffled decks.

Both come from the code that deals real rounds, called as a deal calls it (docs/formats/deal.md).  Nothing here touches
the store, and no seed of a round ever gets here.

Not here: the generator and the shuffle (`domain.deal`), whether their output is random (the laboratory's question).
"""

from __future__ import annotations

import re
import secrets
import sys
from collections.abc import Iterator
from hashlib import sha256
from itertools import count as count_from
from typing import Final

import click

from domain.cards import CARD_TEXTS, DECK_SIZE
from domain.deal.commitment import ROUND_ID_SIZE, SEED_SIZE, client_entropy
from domain.deal.drbg import HmacDrbg
from domain.deal.shuffle import NO_BEACON, REQUEST, SeededDeck
from domain.rulesets import released_rulesets
from ops.cli.output import UsageError, reader_may_leave
from ops.clock import new_round_id

RULESET: Final = "russian-poker@1"
"""The dumped rounds are of this ruleset, with box 1 alone, no client seed and no beacon."""

_HEX_LINE: Final = 32
_SEED: Final = re.compile(r"[0-9a-fA-F]{64}", re.ASCII)

_seed_option = click.option(
    "--seed",
    metavar="HEX",
    help="32 bytes in hex: the same output again. Never the seed of a real round.",
)


@click.group()
def rng() -> None:
    """The random generator of the deal."""


@rng.command("dump")
@click.option("--bytes", "size", type=click.IntRange(1), help="How many bytes.  [default: 1048576]")
@click.option("--blocks", type=click.IntRange(1), help=f"How many requests of {REQUEST} bytes, instead of --bytes.")
@click.option("--hex", "as_hex", is_flag=True, help=f"Lower-case hex, {_HEX_LINE} bytes a line.")
@_seed_option
def rng_dump(size: int | None, blocks: int | None, as_hex: bool, seed: str | None) -> None:
    """Print raw output of the HMAC_DRBG, set up and asked as a deal does.

    One generator is instantiated from a fresh seed of the operating system and read in requests of 128 bytes without a
    reseed. With --seed M, server seed and round id are those of round 0 of `shuffle dump --seed M`.
    """
    if size is not None and blocks is not None:
        raise UsageError("--blocks: give it or --bytes, not both")
    if not as_hex and sys.stdout.isatty():
        raise UsageError("stdout: is a terminal; give --hex, or send the bytes to a file or a program")
    wanted = size or (blocks or 8192) * REQUEST
    server_seed, round_id = next(_secrets(seed))
    with reader_may_leave():
        for chunk in _generated(server_seed, round_id, wanted):
            sys.stdout.buffer.write(_hex_lines(chunk) if as_hex else chunk)


@click.group()
def shuffle() -> None:
    """The shuffle of the deal."""


@shuffle.command("dump")
@click.option("--count", type=click.IntRange(1), default=1, show_default=True, help="How many decks.")
@click.option("--ids", is_flag=True, help="Card ids 0 to 51 instead of card texts.")
@_seed_option
def shuffle_dump(count: int, ids: bool, seed: str | None) -> None:
    """Print shuffled decks, 52 cards in dealing order a line.

    Each deck has a fresh seed of the operating system and a new round id, as every round has. With --seed M, round
    n = 0, 1, 2, ... has the server seed SHA-256("dealproof dump seed" 00 M n) and the round id that is the first 16
    bytes of SHA-256("dealproof dump round" 00 M n); 00 is a zero byte, n has 8 bytes, big-endian.
    """
    names = [str(card) for card in range(DECK_SIZE)] if ids else CARD_TEXTS
    rounds = _secrets(seed)
    with reader_may_leave():
        for _ in range(count):
            line = " ".join([names[card] for card in _deck(*next(rounds))])
            sys.stdout.buffer.write(line.encode("ascii") + b"\n")


def _secrets(seed: str | None) -> Iterator[tuple[bytes, bytes]]:
    """Server seed and round id of one round after another, without end."""
    if seed is None:
        return ((secrets.token_bytes(SEED_SIZE), new_round_id()) for _ in count_from())
    if not _SEED.fullmatch(seed):
        raise UsageError(f"--seed: must be 64 hex digits (32 bytes); it has {len(seed)} characters")
    master = bytes.fromhex(seed)
    return (_derived(master, number) for number in count_from())


def _derived(master: bytes, number: int) -> tuple[bytes, bytes]:
    tail = b"\0" + master + number.to_bytes(8, "big")
    server_seed = sha256(b"dealproof dump seed" + tail).digest()
    return server_seed, sha256(b"dealproof dump round" + tail).digest()[:ROUND_ID_SIZE]


def _generated(server_seed: bytes, round_id: bytes, wanted: int) -> Iterator[bytes]:
    """Bytes of the generator that `SeededDeck` would make its words of, a request at a time."""
    digest, entropy = _public_part()
    drbg = HmacDrbg(server_seed, round_id, b"dp1/shuffle\0" + digest + entropy + NO_BEACON)
    while wanted > 0:
        yield drbg.generate(REQUEST)[:wanted]
        wanted -= REQUEST


def _deck(server_seed: bytes, round_id: bytes) -> list[int]:
    return list(SeededDeck(server_seed, round_id, *_public_part()).cards(0, DECK_SIZE))


def _public_part() -> tuple[bytes, bytes]:
    """Ruleset digest G and client entropy X."""
    return released_rulesets()[RULESET].digest, client_entropy([(1, b"")])


def _hex_lines(chunk: bytes) -> bytes:
    lines = [chunk[start : start + _HEX_LINE].hex() for start in range(0, len(chunk), _HEX_LINE)]
    return ("\n".join(lines) + "\n").encode("ascii")
