"""`rng dump` and `shuffle dump`: the production generator and shuffle, byte for byte."""

from __future__ import annotations

import hashlib
import os
import pty
import subprocess
from collections.abc import Iterator

import pytest

from domain.cards import card_texts, parse_card
from domain.deal.commitment import client_entropy
from domain.deal.shuffle import DECK_SIZE, NO_BEACON, SeededDeck, forward_shuffle
from domain.rulesets import released_rulesets
from tests.ops.cli.running import REPOSITORY, command, dealproof, dealproof_process

SEED = "00112233445566778899aabbccddeeff" * 2


def secrets_of(number: int) -> tuple[bytes, bytes]:
    """Server seed and round id of a round under SEED, as the help text says."""
    tail = b"\0" + bytes.fromhex(SEED) + number.to_bytes(8, "big")
    seed = hashlib.sha256(b"dealproof dump seed" + tail).digest()
    return seed, hashlib.sha256(b"dealproof dump round" + tail).digest()[:16]


def deck_of(number: int) -> list[int]:
    seed, round_id = secrets_of(number)
    digest = released_rulesets()["russian-poker@1"].digest
    deck = SeededDeck(seed, round_id, digest, client_entropy([(1, b"")]), NO_BEACON)
    return list(deck.cards(0, DECK_SIZE))


def words(data: bytes) -> Iterator[int]:
    return (int.from_bytes(data[start : start + 2], "big") for start in range(0, len(data), 2))


def test_the_decks_of_a_seed_are_those_that_rounds_with_its_seeds_get() -> None:
    ran = dealproof("shuffle", "dump", "--count", "3", "--seed", SEED.upper())

    assert (ran.status, ran.stderr) == (0, "")
    assert ran.stdout.splitlines() == [" ".join(card_texts(deck_of(number))) for number in range(3)]


def test_card_ids_are_the_same_decks() -> None:
    ran = dealproof("shuffle", "dump", "--ids", "--count", "2", "--seed", SEED)

    assert [[int(card) for card in line.split()] for line in ran.stdout.splitlines()] == [deck_of(0), deck_of(1)]


def test_without_a_seed_every_deck_is_whole_and_another() -> None:
    decks = dealproof("shuffle", "dump", "--count", "50").stdout.splitlines()

    assert len(set(decks)) == 50
    for deck in decks:
        assert sorted(parse_card(card) for card in deck.split()) == list(range(52))


def test_the_bytes_of_a_seed_are_the_words_of_its_first_deck() -> None:
    ran = dealproof_process("rng", "dump", "--bytes", "1024", "--seed", SEED)

    assert ran.returncode == 0
    assert len(ran.stdout) == 1024
    assert list(forward_shuffle(words(ran.stdout), DECK_SIZE)) == deck_of(0)


@pytest.mark.parametrize(
    ("options", "size"), [(["--bytes", "1"], 1), (["--bytes", "129"], 129), (["--blocks", "3"], 384), ([], 1 << 20)]
)
def test_as_many_bytes_come_as_were_asked_for(options: list[str], size: int) -> None:
    ran = dealproof_process("rng", "dump", *options)

    assert (ran.returncode, len(ran.stdout)) == (0, size)


def test_hex_has_the_same_bytes_32_a_line() -> None:
    raw = dealproof_process("rng", "dump", "--bytes", "200", "--seed", SEED).stdout

    text = dealproof("rng", "dump", "--bytes", "200", "--hex", "--seed", SEED).stdout

    assert bytes.fromhex(text) == raw
    assert [len(line) for line in text.splitlines()] == [64] * 6 + [16]


def test_without_a_seed_no_output_comes_twice() -> None:
    options = ("rng", "dump", "--hex", "--blocks", "1")

    assert dealproof(*options).stdout != dealproof(*options).stdout


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["rng", "dump", "--hex", "--seed", "12"], "--seed: must be 64 hex digits (32 bytes); it has 2 characters"),
        (["shuffle", "dump", "--seed", "zz" * 32], "--seed: must be 64 hex digits"),
        (["shuffle", "dump", "--seed", "٣" * 64], "--seed: must be 64 hex digits"),
        (["rng", "dump", "--hex", "--bytes", "1", "--blocks", "1"], "--blocks: give it or --bytes, not both"),
        (["rng", "dump", "--hex", "--bytes", "0"], "--bytes"),
        (["rng", "dump", "--hex", "--bytes", "1e3"], "--bytes"),
        (["shuffle", "dump", "--count", "-1"], "--count"),
    ],
)
def test_a_bad_option_is_named_and_a_seed_never_repeated(arguments: list[str], says: str) -> None:
    ran = dealproof(*arguments)

    assert (ran.status, ran.stdout) == (2, "")
    assert says in ran.stderr
    assert ran.stderr.count("\n") == 1
    assert "zz" not in ran.stderr


def test_raw_bytes_do_not_go_to_a_terminal() -> None:
    ours, theirs = pty.openpty()
    try:
        ran = subprocess.run(
            command("rng", "dump"), cwd=REPOSITORY, stdout=theirs, stderr=subprocess.PIPE, timeout=60, check=False
        )
    finally:
        os.close(theirs)
        os.close(ours)

    assert ran.returncode == 2
    assert ran.stderr.startswith(b"dealproof: stdout: is a terminal; give --hex")


@pytest.mark.parametrize(
    "arguments", [["rng", "dump", "--bytes", "1" + "0" * 12], ["shuffle", "dump", "--count", "1" + "0" * 9]]
)
def test_a_reader_may_leave_a_long_dump_at_any_time(arguments: list[str]) -> None:
    with subprocess.Popen(
        command(*arguments), cwd=REPOSITORY, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        assert len(process.stdout.read(300_000)) == 300_000
        process.stdout.close()
        said = process.stderr.read()

    assert (process.returncode, said) == (141, b"")
