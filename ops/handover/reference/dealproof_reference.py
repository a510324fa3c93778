"""The reference decoder: a second program for Dealproof's proofs, slow and obvious, that shares no line with the first.

One file, standard library only, Python 3.10 or later.  Written from the pages in `docs`; each part names its own.

    python dealproof_reference.py evidence FILE TRUST [RULESET ...]     one round in one file, from pinned keys
    python dealproof_reference.py round FILE RULESET [RULESET ...]      stored bodies of rounds (known-answers/golden)
    python dealproof_reference.py receipt TOKEN TRUST                   what a player was given for a wager
    python dealproof_reference.py deck SEED ROUND RULESET [BOX:SEED ...] [beacon:HEX]
    python dealproof_reference.py leaf BODY                             BODY: the text itself, or the name of a file

It prints one line a check.  Exit status: 0 all good, 1 something is wrong, 2 not checkable, or not readable.

Not here: whether the rules of the game allowed each choice, and what they pay (the rungs `legality` and `payout`; of
`ledger` only that sums add up).  That takes a whole engine, to be written from the pages in `docs/rules`.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import json
import re
import sys
import unicodedata
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

Object = dict[str, Any]


class Unreadable(ValueError):
    """An input that is not of its format; one line with the reason."""


class Wrong(ValueError):
    """A proof or a signature that does not hold; one line with the reason."""


# ================================================================= canonical JSON    docs/formats/event-record.md

LARGEST_INTEGER = 2**53 - 1
SHORT_ESCAPES = {'"': '\\"', "\\": "\\\\", "\b": "\\b", "\t": "\\t", "\n": "\\n", "\f": "\\f", "\r": "\\r"}


def read_json(data: bytes) -> Any:
    """Strict JSON: UTF-8, no key twice in an object, whole numbers only.  Raises Unreadable."""
    try:
        value = json.loads(
            data.decode("utf-8"), object_pairs_hook=_object, parse_float=_no_number, parse_constant=_no_number
        )
        json.dumps(value, ensure_ascii=False).encode("utf-8")  # fails for half a surrogate pair
        return value
    except (ValueError, RecursionError) as error:
        raise Unreadable(f"not JSON as we write it: {error}") from None


def _object(pairs: list[tuple[str, Any]]) -> Object:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("a key stands twice in an object")
    return found


def _no_number(text: str) -> Any:
    raise ValueError(f"{text[:40]} is no whole number")


def canonical(value: Any) -> bytes:
    """The one spelling of a value: RFC 8785 (JCS) in the profile of the page.  Raises Unreadable outside of it."""
    return _spelt(value).encode("utf-8", "surrogatepass")


def _spelt(value: Any) -> str:
    if value is None or value is True or value is False:
        return {None: "null", True: "true", False: "false"}[value]
    if isinstance(value, int):
        if abs(value) > LARGEST_INTEGER:
            raise Unreadable(f"{value} is beyond 2^53 - 1")
        return str(value)
    if isinstance(value, str):
        return '"' + "".join(_spelt_character(character) for character in value) + '"'
    if isinstance(value, list):
        return "[" + ",".join(_spelt(item) for item in value) + "]"
    if isinstance(value, dict):
        if not all(key.isascii() for key in value):
            raise Unreadable("a key is not ASCII")
        return "{" + ",".join(f"{_spelt(key)}:{_spelt(value[key])}" for key in sorted(value)) + "}"
    raise Unreadable(f"{value!r} has no place in a record")


def _spelt_character(character: str) -> str:
    if character in SHORT_ESCAPES:
        return SHORT_ESCAPES[character]
    return f"\\u{ord(character):04x}" if character < " " else character


# ================================================================= the log           docs/formats/log.md, RFC 6962

LARGEST_TREE = 2**63


def leaf_hash(body: bytes) -> bytes:
    """Of a stored body: the link of the chain and the leaf of the tree."""
    return hashlib.sha256(b"\x00" + body).digest()


def node_hash(left: bytes, right: bytes) -> bytes:
    """Of the two subtrees below."""
    return hashlib.sha256(b"\x01" + left + right).digest()


def check_inclusion(index: int, size: int, leaf: bytes, proof: Sequence[bytes], root: bytes) -> None:
    """That `leaf` is number `index` (from 0) in the tree of `size` leaves with this root.  Raises Wrong."""
    if not 0 <= index < size <= LARGEST_TREE:
        raise Wrong(f"there is no leaf {index} in a tree of {size}")
    _require_hashes([leaf, root, *proof])
    if _root_over(index, size, leaf, proof) != root:
        raise Wrong(f"the proof of leaf {index} leads to another root")


def _root_over(index: int, size: int, leaf: bytes, proof: Sequence[bytes]) -> bytes:
    """RFC 6962 section 2.1.1 read backwards: the last hash of a proof is the sibling right below the root."""
    if size == 1:
        _require_length(proof, 0)
        return leaf
    half = _largest_power_of_two_below(size)
    below, sibling = _lower_and_last(proof)
    if index < half:
        return node_hash(_root_over(index, half, leaf, below), sibling)
    return node_hash(sibling, _root_over(index - half, size - half, leaf, below))


def check_consistency(first: int, second: int, old_root: bytes, new_root: bytes, proof: Sequence[bytes]) -> None:
    """That the tree of `second` leaves begins with the tree of `first` leaves.  Raises Wrong."""
    if not 1 <= first <= second <= LARGEST_TREE:
        raise Wrong(f"nothing can be proved from {first} to {second} leaves")
    _require_hashes([old_root, new_root, *proof])
    if _both_roots(first, second, old_root, proof, is_old_tree=True) != (old_root, new_root):
        raise Wrong(f"the proof from {first} to {second} leaves leads to another root")


def _both_roots(
    first: int, second: int, old_root: bytes, proof: Sequence[bytes], *, is_old_tree: bool
) -> tuple[bytes, bytes]:
    """RFC 6962 section 2.1.2 (SUBPROOF) read backwards: the roots of this subtree, then and now."""
    if first == second:
        # Nothing was added here since.  The old tree as a whole needs no hash: its root is known.
        _require_length(proof, 0 if is_old_tree else 1)
        unchanged = old_root if is_old_tree else proof[0]
        return unchanged, unchanged
    half = _largest_power_of_two_below(second)
    below, sibling = _lower_and_last(proof)
    if first <= half:
        then, now = _both_roots(first, half, old_root, below, is_old_tree=is_old_tree)
        return then, node_hash(now, sibling)
    then, now = _both_roots(first - half, second - half, old_root, below, is_old_tree=False)
    return node_hash(sibling, then), node_hash(sibling, now)


def _largest_power_of_two_below(size: int) -> int:
    power = 1
    while power * 2 < size:
        power *= 2
    return power


def _lower_and_last(proof: Sequence[bytes]) -> tuple[Sequence[bytes], bytes]:
    if not proof:
        raise Wrong("the proof is too short for this size")
    return proof[:-1], proof[-1]


def _require_length(proof: Sequence[bytes], length: int) -> None:
    if len(proof) != length:
        raise Wrong(f"the proof is too {'long' if len(proof) > length else 'short'} for this size")


def _require_hashes(hashes: Sequence[bytes]) -> None:
    for value in hashes:
        if len(value) != 32:
            raise Wrong(f"a hash of {len(value)} bytes, not 32")


# ================================================================= Ed25519           RFC 8032, section 5.1

P = 2**255 - 19
ORDER = 2**252 + 27742317777372353535851937790883648493
D = -121665 * pow(121666, P - 2, P) % P
ROOT_OF_MINUS_ONE = pow(2, (P - 1) // 4, P)
Point = tuple[int, int, int, int]  # X, Y, Z, T with x = X/Z, y = Y/Z, xy = T/Z (section 5.1.4)
NEUTRAL: Point = (0, 1, 1, 0)


def is_signature(public_key: bytes, message: bytes, signature: bytes) -> bool:
    """Section 5.1.7: whether [S]B = R + [k]A."""
    key = _to_point(public_key)
    scalar = int.from_bytes(signature[32:], "little")
    if len(signature) != 64 or key is None or scalar >= ORDER:
        return False
    k = int.from_bytes(hashlib.sha512(signature[:32] + public_key + message).digest(), "little") % ORDER
    # R is compared as bytes, so that it has one spelling.
    return _to_bytes(_sum(_times(scalar, BASE), _times(k, _minus(key)))) == signature[:32]


def _sum(a: Point, b: Point) -> Point:
    e = (a[1] - a[0]) * (b[1] - b[0]) % P
    f = (a[1] + a[0]) * (b[1] + b[0]) % P
    g = 2 * a[3] * b[3] * D % P
    h = 2 * a[2] * b[2] % P
    return (f - e) * (h - g) % P, (h + g) * (f + e) % P, (h - g) * (h + g) % P, (f - e) * (f + e) % P


def _minus(a: Point) -> Point:
    return -a[0] % P, a[1], a[2], -a[3] % P


def _times(factor: int, a: Point) -> Point:
    total = NEUTRAL
    while factor:
        if factor & 1:
            total = _sum(total, a)
        a, factor = _sum(a, a), factor >> 1
    return total


def _to_bytes(a: Point) -> bytes:
    inverse = pow(a[2], P - 2, P)
    x, y = a[0] * inverse % P, a[1] * inverse % P
    return (y | (x & 1) << 255).to_bytes(32, "little")


def _to_point(data: bytes) -> Point | None:
    """Section 5.1.3; None where these bytes are no point of the curve."""
    if len(data) != 32:
        return None
    number = int.from_bytes(data, "little")
    sign, y = number >> 255, number & (2**255 - 1)
    if y >= P:
        return None
    square = (y * y - 1) * pow(D * y * y + 1, P - 2, P) % P
    x = pow(square, (P + 3) // 8, P)
    if (x * x - square) % P:
        x = x * ROOT_OF_MINUS_ONE % P
    if (x * x - square) % P or (x == 0 and sign):
        return None
    if x & 1 != sign:
        x = P - x
    return x, y, 1, x * y % P


_BASE_POINT = _to_point((4 * pow(5, P - 2, P) % P).to_bytes(32, "little"))
assert _BASE_POINT is not None
BASE: Point = _BASE_POINT


# ================================================================= keys and trust    docs/formats/trust.md

NAME = re.compile(r"[!-*,-~]{1,200}", re.ASCII)
LOG_KEY, WITNESS_KEY = 1, 4


class Key(NamedTuple):
    """A key that the reader has pinned, and the sizes of trees that it may sign."""

    name: str
    key_id: bytes
    public_key: bytes
    first_size: int
    last_size: int


class Trust(NamedTuple):
    """What the reader believes; it is his own, and nothing of it comes from the house."""

    origin: str
    log_keys: list[Key]
    witness_keys: list[Key]
    receipt_keys: list[Key]
    witnesses_needed: int


def read_trust(data: bytes) -> Trust:
    """Raises Unreadable."""
    fields = ("format", "log_keys", "origin", "receipt_keys", "witness_keys", "witnesses_needed")
    value = _with_keys(read_json(data), fields, "trust")
    if value["format"] != "dp1/trust":
        raise Unreadable(f"trust: format: {value['format']!r} is not 'dp1/trust'")
    trust = Trust(
        value["origin"],
        [_pinned(each, LOG_KEY) for each in value["log_keys"]],
        [_pinned(each, WITNESS_KEY) for each in value["witness_keys"]],
        [_pinned(each, LOG_KEY) for each in value["receipt_keys"]],
        value["witnesses_needed"],
    )
    if not trust.log_keys or any(key.name != trust.origin for key in trust.log_keys):
        raise Unreadable("trust: log_keys: at least one is needed, each named as the origin")
    if any(key.name != f"{trust.origin}/receipts" for key in trust.receipt_keys):
        raise Unreadable("trust: receipt_keys: one is not named <origin>/receipts")
    needed, known = trust.witnesses_needed, len({key.public_key for key in trust.witness_keys})
    if not _is(needed, "int") or not 0 <= needed <= known:
        raise Unreadable(f"trust: witnesses_needed: {needed} of {known} witnesses")
    return trust


def _pinned(value: Any, kind: int) -> Key:
    entry = {"first_size": 0, "last_size": None, **value}
    _with_keys(entry, ("first_size", "key", "last_size"), "trust: a key")
    match = re.fullmatch(r"([^+]+)\+([0-9a-f]{8})\+(.+)", str(entry["key"]))
    raw = b"" if match is None else from_base64(match[3])
    if match is None or len(raw) != 33 or not NAME.fullmatch(match[1]):
        raise Unreadable(f"trust: {entry['key']!r} is not <name>+<8 hex digits>+<base64 of 33 bytes>")
    if raw[0] != kind:
        raise Unreadable(f"trust: {match[1]} is a key of type {raw[0]}, not {kind}")
    key_id = hashlib.sha256(match[1].encode() + b"\n" + raw).digest()[:4]
    if key_id.hex() != match[2]:
        raise Unreadable(f"trust: the id of {match[1]} is {key_id.hex()}, not {match[2]}")
    first, last = entry["first_size"], LARGEST_TREE if entry["last_size"] is None else entry["last_size"]
    if not _is(first, "int") or not _is(last, "int") or not 0 <= first <= last:
        raise Unreadable(f"trust: the sizes of {match[1]} go from {first} to {last}")
    return Key(match[1], key_id, raw[1:], first, last)


def from_base64(text: str) -> bytes:
    """Base64 in its one spelling.  Raises Unreadable."""
    try:
        value = base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        raise Unreadable(f"{text[:60]!r} is not base64") from None
    if base64.b64encode(value).decode() != text:
        raise Unreadable(f"{text[:60]!r} is not base64 as it is written")
    return value


def _with_keys(value: Any, keys: Sequence[str], what: str) -> Object:
    """An object with just these keys."""
    if not isinstance(value, dict):
        raise Unreadable(f"{what}: is not an object")
    for key in keys:
        if key not in value:
            raise Unreadable(f"{what}: {key}: is missing")
    for key in value:
        if key not in keys:
            raise Unreadable(f"{what}: {key}: is unknown")
    return value


# ================================================================= checkpoints       docs/formats/checkpoint.md

SIGNATURE_LINE = re.compile(r"— ([!-*,-~]{1,200}) ([A-Za-z0-9+/=]+)")
LAST_SECOND = 253402300799  # of the year 9999
CONTROL = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u2028\u2029]")


class Checkpoint(NamedTuple):
    """A size and root that the log's key has signed; `witnesses`: name and Unix time of each good cosignature."""

    size: int
    root: bytes
    witnesses: list[tuple[str, int]]


def open_checkpoint(note: str, trust: Trust) -> Checkpoint:
    """The checkpoint in a signed note, if the reader's keys have signed it.  Raises Wrong."""
    body, lines = _note_parts(note)
    size, root = _size_and_root(body, trust.origin)
    signed, witnesses = False, dict[bytes, tuple[str, int]]()
    for name, key_id, value in lines:
        for key in trust.log_keys:
            if (key.name, key.key_id) == (name, key_id):
                _require_range(key, trust.log_keys, size)
                if not is_signature(key.public_key, body, value):
                    raise Wrong(f"the signature of {name} is not good")
                signed = True
        for key in trust.witness_keys:
            if (key.name, key.key_id) == (name, key_id):
                _require_range(key, trust.witness_keys, size)
                time = int.from_bytes(value[:8], "big")
                message = b"cosignature/v1\ntime %d\n" % time + body
                if time > LAST_SECOND or not is_signature(key.public_key, message, value[8:]):
                    raise Wrong(f"the cosignature of {name} is not good")
                witnesses[key.public_key] = name, time
    if not signed:
        raise Wrong(f"no signature of a pinned key of {trust.origin}")
    if len(witnesses) < trust.witnesses_needed:
        raise Wrong(f"{len(witnesses)} cosignatures where {trust.witnesses_needed} are wanted")
    return Checkpoint(size, root, list(witnesses.values()))


def _note_parts(note: str) -> tuple[bytes, list[tuple[str, bytes, bytes]]]:
    """Body, and of each signature line name, key id and the rest."""
    if CONTROL.search(note):
        raise Wrong("the note has a control character, or other line ends than a line feed")
    if len(note.encode("utf-8", "surrogatepass")) > 65536 or re.search("[\ud800-\udfff]", note):
        raise Wrong("the note is too long, or not UTF-8")
    body, gap, text = note.rpartition("\n\n")
    if not gap or not text.endswith("\n"):
        raise Wrong("the note is not a body, an empty line, and signature lines")
    matches = [SIGNATURE_LINE.fullmatch(line) for line in text[:-1].split("\n")]
    if len(matches) > 100:
        raise Wrong(f"the note has {len(matches)} signatures, more than 100")
    lines = []
    for match in matches:
        raw = b"" if match is None else _or_wrong(match[2])
        if match is None or len(raw) <= 4:
            raise Wrong("the note has a line that is no signature")
        lines.append((match[1], raw[:4], raw[4:]))
    if len({line[:2] for line in lines}) < len(lines):
        raise Wrong("a key has signed the note twice")
    return f"{body}\n".encode(), lines


def _size_and_root(body: bytes, origin: str) -> tuple[int, bytes]:
    lines = body.decode().split("\n")
    if len(lines) != 4 or not re.fullmatch("0|[1-9][0-9]{0,18}", lines[1], re.ASCII):
        raise Wrong("the note's body is not origin, size and root")
    if lines[0] != origin:
        raise Wrong(f"the note is of the log {lines[0]}, not of {origin}")
    root, size = _or_wrong(lines[2]), int(lines[1])
    if len(root) != 32:
        raise Wrong(f"the root has {len(root)} bytes, not 32")
    if size >= LARGEST_TREE:
        raise Wrong(f"the size {size} is more than 2^63 - 1")
    if size == 0 and root != hashlib.sha256(b"").digest():
        raise Wrong("a log without events has another root")
    return size, root


def _or_wrong(text: str) -> bytes:
    try:
        return from_base64(text)
    except Unreadable as error:
        raise Wrong(str(error)) from None


def _require_range(key: Key, pinned: Sequence[Key], size: int) -> None:
    """One key may be pinned for several ranges."""
    same = [other for other in pinned if other.key_id == key.key_id and other.name == key.name]
    if not any(other.first_size <= size <= other.last_size for other in same):
        raise Wrong(f"the key of {key.name} is not pinned for a tree of {size}")


# ================================================================= receipts          docs/formats/receipt.md

RECEIPT_FIELDS = (
    "box:int checkpoint_root:hex32 checkpoint_size:int commitment:hex32 origin:text player:text position:int "
    "round:hex16 ruleset_digest:hex32 stake:int"
)


def open_receipt(token: str, trust: Trust) -> Object:
    """What a token says, if a pinned receipt key has signed it.  Raises Unreadable or Wrong."""
    parts = token.split(".")
    if len(parts) != 3 or parts[0] != "dpr1" or len(token) > 4096:
        raise Unreadable("receipt: is not dpr1.<body>.<signature>")
    body, signed = _from_base64url(parts[1]), _from_base64url(parts[2])
    receipt: Object = _with_keys(read_json(body), [field.split(":")[0] for field in RECEIPT_FIELDS.split()], "receipt")
    problem = problem_with(receipt, RECEIPT_FIELDS)
    if problem or canonical(receipt) != body:
        raise Unreadable(f"receipt: {problem or 'its JSON is not canonical'}")
    for field, least in (("box", 1), ("checkpoint_size", 1), ("position", 1), ("stake", 0)):
        if receipt[field] < least:
            raise Unreadable(f"receipt: {field}: {receipt[field]} is below {least}")
    if receipt["origin"] != trust.origin:
        raise Wrong(f"it is of the log {receipt['origin']}, not of {trust.origin}")
    for key in trust.receipt_keys:
        if key.key_id == signed[:4]:
            _require_range(key, trust.receipt_keys, receipt["checkpoint_size"])
            if not is_signature(key.public_key, b"dp1/receipt\x00" + body, signed[4:]):
                raise Wrong("its signature is not good")
            return receipt
    raise Wrong(f"it is signed by the key {signed[:4].hex()}, which is not pinned")


def _from_base64url(text: str) -> bytes:
    """Without padding, in its one spelling."""
    try:
        value = base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))
    except (binascii.Error, ValueError):
        raise Unreadable("receipt: not base64url") from None
    if base64.urlsafe_b64encode(value).rstrip(b"=").decode() != text:
        raise Unreadable("receipt: not base64url as it is written")
    return value


# ================================================================= the deal          docs/formats/deal.md

RANKS, SUITS = "23456789TJQKA", "cdhs"


def commitment(round_id: bytes, ruleset_digest: bytes, server_seed: bytes) -> bytes:
    """What the house publishes before the first stake."""
    return hashlib.sha256(b"dp1/commit\x00" + round_id + ruleset_digest + server_seed).digest()


def client_entropy(seeds: Sequence[tuple[int, bytes]]) -> bytes:
    """Of box numbers and client seeds."""
    parts = [bytes([box, len(seed)]) + seed for box, seed in sorted(seeds)]
    return hashlib.sha256(b"dp1/clients\x00" + len(parts).to_bytes(2, "big") + b"".join(parts)).digest()


class HmacDrbg:
    """NIST SP 800-90A rev. 1, section 10.1.2, with SHA-256 and, in a deal, no reseed."""

    def __init__(self, entropy: bytes, nonce: bytes, personalization: bytes) -> None:
        self.key, self.value = bytes(32), b"\x01" * 32
        self.update(entropy + nonce + personalization)

    def update(self, provided: bytes) -> None:
        """HMAC_DRBG_Update, section 10.1.2.2."""
        for label in (b"\x00", b"\x01"):
            self.key = self.mac(self.value + label + provided)
            self.value = self.mac(self.value)
            if not provided:
                return

    def generate(self, count: int, additional: bytes = b"") -> bytes:
        """HMAC_DRBG_Generate, section 10.1.2.5."""
        if additional:
            self.update(additional)
        output = b""
        while len(output) < count:
            self.value = self.mac(self.value)
            output += self.value
        self.update(additional)
        return output[:count]

    def mac(self, data: bytes) -> bytes:
        """HMAC under the present key."""
        return hmac.new(self.key, data, hashlib.sha256).digest()


def shuffled_deck(
    server_seed: bytes, round_id: bytes, ruleset_digest: bytes, clients: bytes, beacon: bytes = bytes(32)
) -> list[str]:
    """The 52 cards in dealing order."""
    drbg = HmacDrbg(server_seed, round_id, b"dp1/shuffle\x00" + ruleset_digest + clients + beacon)
    words = _words(drbg)
    deck = [rank + suit for rank in RANKS for suit in SUITS]
    for i in range(51):
        n = 52 - i
        w = next(words)
        while w >= 65536 - (65536 % n):
            w = next(words)
        j = i + (w % n)
        deck[i], deck[j] = deck[j], deck[i]
    return deck


def _words(drbg: HmacDrbg) -> Iterator[int]:
    while True:
        output = drbg.generate(128)
        for at in range(0, 128, 2):
            yield int.from_bytes(output[at : at + 2], "big")


# ================================================================= stored bodies     docs/formats/event-record.md

ENVELOPE = "at:time data:object prev:hex32 seq:int stream:text type:text v:int"
LIMITS = "ante_max:int ante_min:int ante_step:int bonus_max:int bonus_min:int payout_max:int?"
EVENTS = {
    "round-opened.v1": "commitment:hex32 currency:text limits:limits number:int ruleset:text ruleset_digest:hex32 "
    "sealed_seed:text table:text",
    "box-placed.v1": "ante:int bet:int bonus:int box:int client_seed:hex mode:text player:text",
    "cards-dealt.v1": "beacon:hex32? jackpot:int upcard:card",
    "jackpot-contributed.v1": "amount:int box:int",
    "hand-shown.v1": "box:int cards:cards",
    "bonus-settled.v1": "box:int combination:text returned:int stake:int",
    "jackpot-won.v1": "amount:int box:int combination:text pot:int",
    "exchange-bought.v1": "box:int by:text discard:places fee:int",
    "sixth-card-bought.v1": "box:int by:text fee:int",
    "sixth-card-declined.v1": "box:int by:text",
    "cards-drawn.v1": "box:int cards:cards",
    "hidden-card-drawn.v1": "box:int",
    "insurance-bought.v1": "box:int by:text stake:int",
    "bet-made.v1": "bet:int box:int by:text",
    "box-folded.v1": "box:int by:text",
    "dealer-revealed.v1": "cards:cards combination:text",
    "insurance-settled.v1": "box:int outcome:text returned:int stake:int",
    "dealer-game-bought.v1": "box:int by:text fee:int",
    "ante-taken.v1": "box:int by:text",
    "dealer-card-replaced.v1": "combination:text free:bool new:card old:card",
    "box-settled.v1": "ante:int bet:int box:int main:text? net:int outcome:text returned:int second:text? staked:int",
    "round-closed.v1": "net:int returned:int staked:int",
    "round-voided.v1": "jackpot_reversed:int reason:text refunds:refunds",
    "seed-revealed.v1": "server_seed:hex32",
    # docs/formats/receipt.md
    "wagers-accepted.v1": "checkpoint_root:hex32 checkpoint_size:int round:hex16 wagers:wagers",
}
"""Stored name of an event -> the keys of its data with their kinds; `?` is a value that may be null."""

LISTS = {"refunds": "amount:int box:int", "wagers": "box:int player:text seq:int stake:int"}
PATTERNS = {
    "text": re.compile(".*", re.DOTALL),
    "hex": re.compile("([0-9a-f]{2}){0,255}"),
    "hex16": re.compile("[0-9a-f]{32}"),
    "hex32": re.compile("[0-9a-f]{64}"),
    "card": re.compile("[2-9TJQKA][cdhs]"),
    "time": re.compile(
        r"[0-9]{4}-(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01])T([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9]\.[0-9]{3}Z"
    ),
}


class Event(NamedTuple):
    """A stored body: its own bytes and what they say."""

    body: bytes
    at: str
    data: Object
    prev: str
    seq: int
    stream: str
    type: str
    v: int


def read_body(body: bytes) -> Event:
    """A stored body.  Raises Unreadable for anything that is not canonical or not of its event's shape."""
    value = read_json(body)
    if not isinstance(value, dict):
        raise Unreadable("no object")
    problem = problem_with(value, ENVELOPE)
    if problem:
        raise Unreadable(problem)
    if canonical(value) != body:
        raise Unreadable("not canonical: its values, written again, give other bytes")
    if not unicodedata.is_normalized("NFC", body.decode()):
        raise Unreadable("not canonical: text that is not in the form NFC")
    event = Event(body, **value)
    if event.v != 1 or event.seq < 0:
        raise Unreadable(f"v is {event.v}, seq is {event.seq}")
    if event.stream.startswith(("round:", "receipt:")) and event.type not in EVENTS:
        raise Unreadable(f"type: {event.type!r} is unknown")
    problem = problem_with(event.data, EVENTS[event.type]) if event.type in EVENTS else ""
    if problem:
        raise Unreadable(f"data of {event.type}: {problem}")
    return event


def problem_with(value: Any, fields: str) -> str:
    """What is wrong with an object whose keys and kinds are these; empty if nothing is."""
    kinds = dict(field.split(":") for field in fields.split())
    if not isinstance(value, dict) or sorted(value) != sorted(kinds):
        return f"keys are not {', '.join(sorted(kinds))}"
    for key, kind in kinds.items():
        if not _is(value[key], kind):
            return f"{key}: {value[key]!r} is no {kind}"
    return ""


def _is(value: Any, kind: str) -> bool:
    if kind.endswith("?"):
        return value is None or _is(value, kind[:-1])
    if kind in PATTERNS:
        return isinstance(value, str) and PATTERNS[kind].fullmatch(value) is not None
    if kind == "int":
        return isinstance(value, int) and not isinstance(value, bool)
    if kind == "bool":
        return isinstance(value, bool)
    if kind == "object":
        return isinstance(value, dict)
    if kind == "limits":
        return not problem_with(value, LIMITS)
    items: list[Any] = value if isinstance(value, list) else [None]
    if kind == "cards":
        return all(_is(item, "card") for item in items)
    if kind == "places":
        return all(_is(item, "int") and 0 <= item <= 4 for item in items)
    return not any(problem_with(item, LISTS[kind]) for item in items)


# ================================================================= the report

GOOD, WRONG, OPEN = "good", "WRONG", "open"


class Line(NamedTuple):
    """One check: its name, whether it is good, wrong or could not be made (open), and why."""

    check: str
    verdict: str
    words: str


def line(check: str, problems: Sequence[str], good: str) -> Line:
    """Wrong with the first problem and how many more, or good."""
    if not problems:
        return Line(check, GOOD, good)
    more = f" (and {len(problems) - 1} more)" if len(problems) > 1 else ""
    return Line(check, WRONG, problems[0] + more)


def status_of(lines: Sequence[Line]) -> int:
    """The exit status: 0 all good, 1 something wrong, 2 something open."""
    verdicts = {each.verdict for each in lines}
    return 1 if WRONG in verdicts else 2 if OPEN in verdicts or not lines else 0


# ================================================================= one round     docs/round.md, docs/formats/deal.md

NEXT_PHASE = {
    "unopened": {"round-opened": "betting"},
    "betting": {"box-placed": "betting", "cards-dealt": "deciding", "round-voided": "voided"},
    "deciding": {
        "jackpot-contributed": "deciding", "hand-shown": "deciding", "bonus-settled": "deciding",
        "jackpot-won": "deciding", "exchange-bought": "deciding", "sixth-card-bought": "deciding",
        "sixth-card-declined": "deciding", "cards-drawn": "deciding", "hidden-card-drawn": "deciding",
        "insurance-bought": "deciding", "bet-made": "deciding", "box-folded": "deciding",
        "dealer-revealed": "revealed",
        "round-voided": "voided",
    },
    "revealed": {
        "hand-shown": "revealed", "bonus-settled": "revealed", "jackpot-won": "revealed",
        "insurance-settled": "revealed", "dealer-game-bought": "revealed", "ante-taken": "revealed",
        "dealer-card-replaced": "showdown", "box-settled": "showdown", "round-voided": "voided",
    },
    "showdown": {"dealer-card-replaced": "showdown", "box-settled": "showdown", "round-closed": "closed"},
    "closed": {"seed-revealed": "ended"},
    "voided": {"seed-revealed": "ended"},
    "ended": {},
}  # fmt: skip
CHOICES = {
    "round-opened", "box-placed", "cards-dealt", "exchange-bought", "sixth-card-bought", "sixth-card-declined",
    "insurance-bought", "bet-made", "box-folded", "dealer-game-bought", "ante-taken", "round-voided",
}  # fmt: skip
"""An append begins with one of these; all other facts follow from them at once, and have their time."""


def check_round(stream: str, bodies: Sequence[bytes], documents: Sequence[Object]) -> list[Line]:
    """Everything that a round's stored bodies say about themselves, under the ruleset document that they pin."""
    events, unread = read_bodies(bodies)
    strange = [f"{event.type} is of {event.stream}" for event in events if event.stream != stream]
    lines = [line("bytes", unread + strange, f"{len(events)} canonical bodies of {stream}")]
    lines.append(line("chain", list(chain_problems(events)), "seq is dense, each prev is the leaf hash before"))
    lines.append(_check_order(events))
    lines.append(line("sums", list(sum_problems(events)), "what is staked and returned is the sum of the facts"))
    return lines + _check_seed(stream, events, documents)


def _check_order(events: Sequence[Event]) -> Line:
    phase, problems = "unopened", []
    for event in events:
        name = event.type.rpartition(".")[0]
        if name in NEXT_PHASE[phase]:
            phase = NEXT_PHASE[phase][name]
        else:
            problems.append(f"seq {event.seq}: {event.type} may not stand there ({phase})")
    problems += time_problems(events)
    if phase in ("showdown", "closed", "voided"):
        problems.append(f"the record stops in the middle of an append ({phase})")
    if problems or phase == "ended":
        return line("order", problems, "each fact may follow the one before, times never run backwards")
    return Line("order", OPEN, f"the round has not ended ({phase})")


def read_bodies(bodies: Sequence[bytes]) -> tuple[list[Event], list[str]]:
    """The bodies that can be read, and why the others can't."""
    events, problems = [], []
    for place, body in enumerate(bodies):
        try:
            events.append(read_body(body))
        except Unreadable as error:
            problems.append(f"body {place}: {error}")
    return events, problems


def chain_problems(events: Sequence[Event]) -> Iterator[str]:
    """A whole stream: dense from 0, each event naming the one before."""
    prev = "0" * 64
    for seq, event in enumerate(events):
        if event.seq != seq:
            yield f"seq {event.seq} stands where {seq} should"
        if event.prev != prev:
            yield f"seq {event.seq}: prev is {event.prev}, the leaf hash before is {prev}"
        prev = leaf_hash(event.body).hex()


def time_problems(events: Sequence[Event]) -> Iterator[str]:
    """Times never run backwards, and a consequence has the time of its choice."""
    for before, event in pairwise(events):
        if event.at < before.at:
            yield f"seq {event.seq}: {event.at} is before {before.at}"
        elif event.at != before.at and event.type.rpartition(".")[0] not in CHOICES:
            yield f"seq {event.seq}: {event.type} at {event.at}, its choice at {before.at}"


STAKES = {
    "box-placed.v1": ("ante", "bet", "bonus"), "exchange-bought.v1": ("fee",), "sixth-card-bought.v1": ("fee",),
    "insurance-bought.v1": ("stake",), "bet-made.v1": ("bet",), "dealer-game-bought.v1": ("fee",),
}  # fmt: skip
RETURNS = {
    "bonus-settled.v1": ("returned",), "jackpot-won.v1": ("amount",), "insurance-settled.v1": ("returned",),
    "box-settled.v1": ("ante", "bet"),
}  # fmt: skip


def sum_problems(events: Sequence[Event]) -> Iterator[str]:
    """Totals of each box and of the round; whether the parts are what the rules pay is not asked here."""
    staked, returned, totals = dict[int, int](), dict[int, int](), [0, 0]
    for event in events:
        data, box = event.data, event.data.get("box", 0)
        staked[box] = staked.get(box, 0) + sum(data[key] for key in STAKES.get(event.type, ()))
        returned[box] = returned.get(box, 0) + sum(data[key] for key in RETURNS.get(event.type, ()))
        if event.type == "box-settled.v1":
            sums = [staked[box], returned[box]]
            totals = [totals[0] + data["staked"], totals[1] + data["returned"]]
        elif event.type == "round-closed.v1":
            sums = totals
        else:
            continue
        said = [data["staked"], data["returned"], data["net"]]
        if said != [*sums, sums[1] - sums[0]]:
            yield f"seq {event.seq}: staked, returned, net are {said}, the facts before sum to {sums}"


def _check_seed(stream: str, events: Sequence[Event], documents: Sequence[Object]) -> list[Line]:
    """Ruleset, commitment and cards: all that follows from the revealed seed."""
    opened = first_of(events, "round-opened.v1")
    revealed = first_of(events, "seed-revealed.v1")
    if opened is None or revealed is None or not re.fullmatch("round:[0-9a-f]{32}", stream):
        return [Line(check, OPEN, "no opening, or no seed revealed") for check in ("commitment", "cards")]
    round_id, digest = bytes.fromhex(stream[6:]), bytes.fromhex(opened["ruleset_digest"])
    seed = bytes.fromhex(revealed["server_seed"])
    promised = commitment(round_id, digest, seed).hex()
    problems = []
    if opened["commitment"] != promised:
        problems.append(f"the opening has {opened['commitment']}, the revealed seed gives {promised}")
    lines = [line("commitment", problems, f"{promised} is that of the revealed seed")]
    pinned = [document for document in documents if hashlib.sha256(canonical(document)).digest() == digest]
    if not pinned:
        named = any(f"{document.get('id')}@{document.get('version')}" == opened["ruleset"] for document in documents)
        words = f"no document here has the digest {digest.hex()}"
        return [*lines, Line("ruleset", WRONG if named else OPEN, words)]
    document = pinned[0]
    name = f"{document['id']}@{document['version']}"
    problems = [] if name == opened["ruleset"] else [f"the opening says {opened['ruleset']}, its digest is of {name}"]
    lines.append(line("ruleset", problems, f"{name}, digest {digest.hex()}"))
    dealt = first_of(events, "cards-dealt.v1")
    if dealt is None:
        return [*lines, Line("cards", GOOD, "none were dealt")]
    seeds = [
        (event.data["box"], bytes.fromhex(event.data["client_seed"]))
        for event in events
        if event.type == "box-placed.v1"
    ]
    beacon = bytes(32) if dealt["beacon"] is None else bytes.fromhex(dealt["beacon"])
    deck = shuffled_deck(seed, round_id, digest, client_entropy(seeds), beacon)
    problems = list(card_problems(events, deck, document["parameters"]))
    return [*lines, line("cards", problems, "each card that was shown is the dealt one")]


def first_of(events: Sequence[Event], kind: str) -> Object | None:
    """The data of the first event of this type."""
    return next((event.data for event in events if event.type == kind), None)


def card_problems(events: Sequence[Event], deck: Sequence[str], parameters: Object) -> Iterator[str]:
    """Walk the record and deal along, as clauses 4.1 (deal), 4.2 (open card), 6.7 (draws) and 8.2 (dealer) say."""
    boxes = sorted(event.data["box"] for event in events if event.type == "box-placed.v1")
    hands = _dealt_hands(deck, len(boxes) + 1, parameters["deal_order"]["value"])
    dealer, hand_of = hands[-1], dict(zip(boxes, hands, strict=False))
    undealt = iter(deck[5 * len(hands) :])
    draws: dict[int, int] = {}
    for event in events:
        kind, data = event.type.rpartition(".")[0], event.data
        shown: list[str] = []
        dealt: list[str] = []
        if kind == "cards-dealt":
            shown, dealt = [data["upcard"]], [dealer[{"first": 0, "last": 4}[parameters["upcard"]["value"]]]]
        elif kind == "hand-shown":
            shown, dealt = data["cards"], hand_of.get(data["box"], [])
        elif kind == "exchange-bought":
            draws[data["box"]] = len(data["discard"])
        elif kind == "sixth-card-bought":
            draws[data["box"]] = 1
        elif kind == "cards-drawn":
            shown, dealt = data["cards"], [next(undealt, "none") for _ in range(draws.get(data["box"], 0))]
        elif kind == "hidden-card-drawn":
            hand_of[data["box"]] = [*hand_of.get(data["box"], []), next(undealt, "none")]
        elif kind == "dealer-revealed":
            shown, dealt = data["cards"], dealer
        elif kind == "dealer-card-replaced":
            shown, dealt = [data["new"]], [next(undealt, "none")]
        if shown != dealt:
            yield f"seq {event.seq}: {event.type} shows {' '.join(shown)}, the deck has {' '.join(dealt)}"


def _dealt_hands(deck: Sequence[str], count: int, order: str) -> list[list[str]]:
    """The first five cards of each box in ascending order, and then of the dealer."""
    if order == "packets":
        return [list(deck[5 * k : 5 * k + 5]) for k in range(count)]
    return [[deck[k + count * turn] for turn in range(5)] for k in range(count)]


# ================================================================= evidence file     docs/formats/evidence.md

EVIDENCE_FIELDS = (
    "checkpoint", "earlier", "events", "format", "level", "made_at", "player", "round", "ruleset", "software",
)  # fmt: skip


class Placed(NamedTuple):
    """An event of the file: its position in the journal (from 1), its event if it can be read, its inclusion proof."""

    position: int
    body: bytes
    event: Event | None
    proof: list[bytes] | None


def read_evidence(data: bytes) -> Object:
    """The file's own shape.  Raises Unreadable."""
    value = read_json(data)
    told = value.get("format") if isinstance(value, dict) else None
    if told != "dp1/evidence":
        raise Unreadable(f"evidence: format: {told!r} is not 'dp1/evidence'")
    _with_keys(value, EVIDENCE_FIELDS, "evidence")
    for field in ("earlier", "events"):
        if not isinstance(value[field], list):
            raise Unreadable(f"evidence: {field}: is no list")
    for field in ("made_at", "software"):
        if not _is(value[field], "text"):
            raise Unreadable(f"evidence: {field}: is no text")
    if value["player"] is not None and not _is(value["player"], "text"):
        raise Unreadable("evidence: player: is neither a text nor null")
    for place, each in enumerate(value["events"]):
        _with_keys(each, ("body", "position", "proof"), f"evidence: events[{place}]")
        if not _is(each["body"], "text") or not _is(each["position"], "int") or each["position"] < 1:
            raise Unreadable(f"evidence: events[{place}]: is not a text and a position from 1")
    for place, each in enumerate(value["earlier"]):
        _hashes(_with_keys(each, ("proof", "size"), f"evidence: earlier[{place}]")["proof"])
    sizes = [each["size"] for each in value["earlier"]]
    if not all(_is(size, "int") for size in sizes) or sizes != sorted(set(sizes)) or min(sizes, default=0) < 0:
        raise Unreadable("evidence: earlier: sizes are whole numbers in rising order")
    if not _is(value["round"], "hex16") or value["level"] not in ("player", "adr", "regulator"):
        raise Unreadable("evidence: round or level is none")
    if (value["level"] == "player") != (value["player"] is not None):
        raise Unreadable("evidence: player: is named at the level player, and at no other")
    if value["checkpoint"] is not None and not _is(value["checkpoint"], "text"):
        raise Unreadable("evidence: checkpoint: is no text")
    return dict(value)


def check_evidence(data: bytes, trust: Trust, documents: Sequence[Object] = ()) -> list[Line]:
    """All checks of a file.  Raises Unreadable for one that is no evidence file."""
    file = read_evidence(data)
    placed = [_placed(each) for each in file["events"]]
    stream = f"round:{file['round']}"
    own = [each.body for each in placed if each.event is None or each.event.stream == stream]
    _require_player(file, placed)
    known = [*documents, *([file["ruleset"]] if isinstance(file["ruleset"], dict) else [])]
    lines = check_round(stream, own, known)
    others = [each.event for each in placed if each.event is not None and each.event.stream != stream]
    lines.append(line("beside", list(beside_problems(others)), f"{len(others)} canonical events of other streams"))
    lines.append(line("money", list(money_problems(own, others, file)), "lines sum to 0, balances follow, nets agree"))
    return lines + _check_log(file, placed, trust)


def _require_player(file: Object, placed: Sequence[Placed]) -> None:
    """Whose file it is, he has a box in the round."""
    events = [each.event for each in placed if each.event is not None and each.event.stream == f"round:{file['round']}"]
    players = {event.data["player"] for event in events if event.type == "box-placed.v1"}
    if file["player"] is not None and file["player"] not in players:
        raise Unreadable(f"evidence: player: {file['player']!r} has no box in this round")


def _placed(value: Object) -> Placed:
    body = value["body"].encode("utf-8", "surrogatepass")
    try:
        event = read_body(body)
    except Unreadable:
        event = None
    return Placed(value["position"], body, event, None if value["proof"] is None else _hashes(value["proof"]))


def _hashes(texts: Any) -> list[bytes]:
    if not isinstance(texts, list) or not all(isinstance(text, str) for text in texts):
        raise Unreadable("evidence: a proof is no list of hashes")
    return [from_base64(text) for text in texts]


def beside_problems(events: Sequence[Event]) -> Iterator[str]:
    """Neighbours in a stream name each other; only parts of these streams are in a file."""
    last: dict[str, Event] = {}
    for event in events:
        before = last.get(event.stream)
        if before is not None and event.seq == before.seq + 1 and event.prev != leaf_hash(before.body).hex():
            yield f"{event.stream} {event.seq}: prev is not the leaf hash of the event before"
        if event.seq == 0 and event.prev != "0" * 64:
            yield f"{event.stream} 0: prev of a first event"
        last[event.stream] = event


def money_problems(own: Sequence[bytes], others: Sequence[Event], file: Object) -> Iterator[str]:
    """Lines sum to 0, each balance follows from the one before, nets agree (docs/formats/accounts.md)."""
    balances: dict[str, tuple[int, int]] = {}
    rounds = read_bodies(own)[0]
    for event in others:
        try:
            yield from _account_problems(event, balances)
            yield from _net_problems(event, rounds, file["round"])
        except (KeyError, TypeError, AttributeError):
            yield f"{event.stream} {event.seq}: {event.type} has not the shape of its kind"


def _account_problems(event: Event, balances: dict[str, tuple[int, int]]) -> Iterator[str]:
    """`balances`: stream -> seq and balance of the last event."""
    lines = event.data.get("lines", [])
    moved = sum(each["amount"] for each in lines)
    if moved:
        yield f"{event.stream} {event.seq}: its lines sum to {moved}"
    if not event.stream.startswith("account:"):
        return
    balance = event.data["after"]["balance"]
    gets = sum(each["amount"] for each in lines if each["account"] == "player")
    seq, before = balances.get(event.stream, (-1, 0))
    if seq + 1 == event.seq and before + gets != balance:
        yield f"{event.stream} {event.seq}: balance {balance} after {before} and {gets}"
    postings = event.data.get("postings")
    if postings is not None and sum(each["amount"] for each in postings) != abs(gets):
        yield f"{event.stream} {event.seq}: its postings are not its lines"
    balances[event.stream] = event.seq, balance


def _net_problems(event: Event, rounds: Sequence[Event], round_id: str) -> Iterator[str]:
    """What a player's account says of the round at its end is what the round says of his boxes."""
    if event.type != "round-finished.v1" or event.data["round"] != round_id:
        return
    player = event.stream.split(":", 2)[2]
    boxes = [each.data["box"] for each in rounds if each.type == "box-placed.v1" and each.data["player"] == player]
    net = sum(each.data["net"] for each in rounds if each.type == "box-settled.v1" and each.data["box"] in boxes)
    if event.data["net"] != net:
        yield f"{event.stream} {event.seq}: net {event.data['net']}, the round says {net}"


def _check_log(file: Object, placed: Sequence[Placed], trust: Trust) -> list[Line]:
    """Checkpoint, inclusion of every event, and that the house was bound before each wager."""
    if file["checkpoint"] is None:
        return [Line("checkpoint", OPEN, "the file has none")]
    try:
        signed = open_checkpoint(file["checkpoint"], trust)
    except Wrong as error:
        return [Line("checkpoint", WRONG, str(error))]
    seen = ", ".join(name for name, _ in signed.witnesses) or "nobody"
    lines = [Line("checkpoint", GOOD, f"{trust.origin}, {signed.size} events, cosigned by {seen}")]
    placed = sorted(placed, key=lambda each: each.position)
    problems = list(place_problems(placed, signed))
    behind = sum(each.position > signed.size for each in placed)
    if behind and not problems:
        lines.append(Line("inclusion", OPEN, f"{behind} events lie behind the checkpoint"))
    else:
        lines.append(line("inclusion", problems, f"{len(placed)} events are leaves of the tree, at their positions"))
    accepted = [each.event for each in placed if each.event is not None and each.event.type == "wagers-accepted.v1"]
    if not accepted and any(each.event is not None and each.event.type == "box-placed.v1" for each in placed):
        return [*lines, Line("wagers", GOOD, "name no checkpoint: no log was kept when they were taken")]
    problems = list(wager_problems(file, placed, accepted, signed))
    return [*lines, line("wagers", problems, "commitment, then the named checkpoint, then the wager")]


def place_problems(placed: Sequence[Placed], signed: Checkpoint) -> Iterator[str]:
    """Each body is the leaf at its position; no position twice; streams lie in their order."""
    last: dict[str, int] = {}
    for before, each in zip([None, *placed], placed, strict=False):
        name = "an unreadable body" if each.event is None else f"{each.event.stream} {each.event.seq}"
        if before is not None and before.position == each.position:
            yield f"{name}: position {each.position} stands twice"
        if each.event is not None:
            if each.event.seq <= last.get(each.event.stream, -1):
                yield f"{name}: lies behind a later event of its stream"
            last[each.event.stream] = each.event.seq
        if each.position > signed.size:
            continue
        try:
            if each.proof is None:
                raise Wrong("has no proof")
            check_inclusion(each.position - 1, signed.size, leaf_hash(each.body), each.proof, signed.root)
        except Wrong as error:
            yield f"{name}: {error}"


def wager_problems(
    file: Object, placed: Sequence[Placed], accepted: Sequence[Event], signed: Checkpoint
) -> Iterator[str]:
    """Position of the commitment <= size of the named checkpoint < position of the wager (docs/formats/evidence.md)."""
    own = {
        each.event.seq: each
        for each in placed
        if each.event is not None and each.event.stream == f"round:{file['round']}"
    }
    earlier = {each["size"]: _hashes(each["proof"]) for each in file["earlier"]}
    named = set()
    for event in accepted:
        size = event.data["checkpoint_size"]
        if event.data["round"] != file["round"] or event.stream != f"receipt:{file['round']}":
            yield f"{event.stream} {event.seq}: is about another round"
        if 0 in own and own[0].position > size:
            yield f"the commitment at position {own[0].position} is not in the checkpoint of {size}"
        for wager in event.data["wagers"]:
            named.add(wager["seq"])
            yield from _one_wager_problems(wager, own.get(wager["seq"]), size)
        if size <= signed.size:
            try:
                if size not in earlier:
                    raise Wrong("no proof")
                root = bytes.fromhex(event.data["checkpoint_root"])
                check_consistency(size, signed.size, root, signed.root, earlier[size])
            except Wrong as error:
                yield f"the checkpoint of {size} that a wager names: {error}"
    for seq, each in own.items():
        if each.event is not None and each.event.type == "box-placed.v1" and seq not in named:
            yield f"the wager of seq {seq} names no checkpoint"


def _one_wager_problems(wager: Object, placed: Placed | None, size: int) -> Iterator[str]:
    event = None if placed is None else placed.event
    if placed is None or event is None or event.type != "box-placed.v1":
        yield f"seq {wager['seq']} of the round is no wager"
        return
    data = event.data
    said = wager["box"], wager["player"], wager["stake"]
    if said != (data["box"], data["player"], data["ante"] + data["bet"] + data["bonus"]):
        yield f"seq {wager['seq']}: the wager on box {data['box']} is another one than was accepted"
    if placed.position <= size:
        yield f"the wager at position {placed.position} lies in the checkpoint of {size} that it names"


# ================================================================= the program


def main(arguments: Sequence[str]) -> int:
    """Run one command; the exit status."""
    if not arguments or arguments[0] not in COMMANDS:
        print(__doc__)
        return 2
    try:
        return COMMANDS[arguments[0]](*arguments[1:])
    except Wrong as error:
        print(f"{WRONG:5}  {error}")
        return 1
    except (Unreadable, OSError) as error:
        print(f"not readable: {error}", file=sys.stderr)
        return 2
    except (TypeError, KeyError, ValueError, RecursionError) as error:
        print(f"not readable, or wrong usage: {type(error).__name__}: {error}", file=sys.stderr)
        return 2


def _evidence(file: str, trust: str, *rulesets: str) -> int:
    documents = [read_json(Path(path).read_bytes()) for path in rulesets]
    return _print(check_evidence(Path(file).read_bytes(), read_trust(Path(trust).read_bytes()), documents))


def _round(file: str, *rulesets: str) -> int:
    documents = [read_json(Path(path).read_bytes()) for path in rulesets]
    worst = [0]
    for value in _rounds_in(Path(file).read_bytes()):
        print(f"\n{value['stream']}")
        bodies = [body.encode("utf-8", "surrogatepass") for body in value["bodies"]]
        worst.append(_print(check_round(value["stream"], bodies, documents)))
    return 1 if 1 in worst else max(worst)


def _rounds_in(data: bytes) -> list[Any]:
    """One object over any number of lines, or one a line."""
    try:
        return [read_json(data)]
    except Unreadable:
        return [read_json(each) for each in data.splitlines()]


def _receipt(token: str, trust: str) -> int:
    for key, value in open_receipt(token, read_trust(Path(trust).read_bytes())).items():
        print(f"{key:16} {value}")
    return _print([Line("receipt", GOOD, "signed by a pinned key")])


def _deck(seed: str, round_id: str, ruleset: str, *others: str) -> int:
    digest = hashlib.sha256(canonical(read_json(Path(ruleset).read_bytes()))).digest()
    pairs = [each.split(":") for each in others]
    beacon = next((bytes.fromhex(value) for name, value in pairs if name == "beacon"), bytes(32))
    clients = client_entropy([(int(box), bytes.fromhex(value)) for box, value in pairs if box != "beacon"])
    server_seed, identity = bytes.fromhex(seed), bytes.fromhex(round_id)
    deck = shuffled_deck(server_seed, identity, digest, clients, beacon)
    print(f"G     {digest.hex()}\nC     {commitment(identity, digest, server_seed).hex()}\nX     {clients.hex()}")
    print(f"deck  {' '.join(deck[:26])}\n      {' '.join(deck[26:])}")
    return 0


def _leaf(text: str) -> int:
    body = text.encode() if text.startswith("{") else Path(text).read_bytes().removesuffix(b"\n")
    print(f"leaf hash  {leaf_hash(body).hex()}")
    try:
        event = read_body(body)
    except Unreadable as error:
        return _print([Line("bytes", WRONG, str(error))])
    return _print([Line("bytes", GOOD, f"canonical; {event.type}, number {event.seq} of {event.stream}")])


COMMANDS: dict[str, Callable[..., int]] = {
    "evidence": _evidence, "round": _round, "receipt": _receipt, "deck": _deck, "leaf": _leaf,
}  # fmt: skip


def _print(lines: Sequence[Line]) -> int:
    for each in lines:
        words = "".join(sign if sign.isprintable() else "?" for sign in each.words)
        print(f"{each.verdict:5}  {each.check:11}{words}")
    return status_of(lines)


if __name__ == "__main__":
    # Words about a broken file may hold signs that a terminal lacks.
    sys.stdout.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]
    raise SystemExit(main(sys.argv[1:]))
