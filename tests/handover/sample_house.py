"""A small house with accounts, a log and receipts, all from fixed seeds: where the sample evidence files come from.

Nothing runs here but the pure core and Ed25519, so the same files come out everywhere.  Which events a file of each
level has is written down a second time, by hand, from docs/formats/evidence.md.

Not here: forging the files (`tampering`), writing them (`make_samples`), the product's own way (`ops.evidence_file`).
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache
from hashlib import sha256
from pathlib import Path
from random import Random
from typing import Final, NamedTuple

import msgspec
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from domain import access, wager
from domain import jackpot as j
from domain import table as t
from domain.deal.commitment import commitment
from domain.log.checkpoint import Checkpoint, Note, VerifierKey, cosignature, signed_by_log
from domain.log.merkle import consistency_proof, inclusion_proof, leaf_hash, node_hash, root_of
from domain.log.receipt import Receipt, receipt_token
from domain.log.trust import PinnedKey, Trust
from domain.record import Record
from domain.round import events as e
from domain.round.choices import Void
from domain.round.codec import decode
from domain.round.decisions import decide, reveal_seed
from domain.round.refusals import Refusal
from domain.round.state import RoundState
from domain.ruleset import Ruleset, load_ruleset
from domain.rulesets import released_rulesets
from ops.clock import as_text, round_id_at
from ops.keys import DataKey, SealedSeed, _seed_aad, _seed_key
from ops.simulation import Seat, steps
from replay.evidence_file import FORMAT, Earlier, EvidenceFile, Level, StoredEvent
from tests.replay.casino import Casino

ORIGIN: Final = "casino.example/dealproof"
WITNESS: Final = "regulator.example/w1"
SOFTWARE: Final = "samples"
GAME: Final = released_rulesets()["open-russian-poker@1"]
FREQUENT: Final = load_ruleset(
    (Path(__file__).parents[1] / "rulesets" / "frequent-jackpot@1.json").read_bytes()
)
"""A ruleset that is not released: a file with one of its rounds brings the document along."""


# -- keys that anybody may know


@dataclass(frozen=True)
class Signer:
    """A key made of its name: worth nothing but in these samples."""

    verifier: VerifierKey
    sign: Callable[[bytes], bytes]

    @classmethod
    def named(cls, name: str, kind: int, salt: str = "") -> Signer:
        private = Ed25519PrivateKey.from_private_bytes(sha256(f"sample {name} {kind}{salt}".encode()).digest())
        return cls(VerifierKey(name, kind, private.public_key().public_bytes_raw()), private.sign)


LOG: Final = Signer.named(ORIGIN, 1)
RECEIPTS: Final = Signer.named(f"{ORIGIN}/receipts", 1)
REGULATOR: Final = Signer.named(WITNESS, 4)
DATA_KEY: Final = DataKey("0011223344556677", bytes(range(32)))

TRUST: Final = Trust(
    origin=ORIGIN,
    log_keys=(PinnedKey(LOG.verifier),),
    witness_keys=(PinnedKey(REGULATOR.verifier),),
    receipt_keys=(PinnedKey(RECEIPTS.verifier),),
    witnesses_needed=1,
)
TRUST_WITHOUT_WITNESS: Final = Trust(TRUST.origin, TRUST.log_keys, TRUST.witness_keys, TRUST.receipt_keys, 0)


# -- the house


@dataclass
class SampleHouse(Casino):
    """Beside each append that places boxes stands which checkpoint the wagers name, beside each void who did it."""

    milliseconds: int = 1_796_115_600_000  # 2026-12-01T09:00:00Z
    overpaid: str = ""
    """The stream of a round whose first winner the house pays too much."""

    def next_append(self) -> None:
        self.milliseconds += 1_337

    def play(
        self, random: Random, ruleset: Ruleset, table: str, void_when: Callable[[RoundState], bool] = lambda _: False
    ) -> Iterator[str]:
        """As in `Casino`, with a round id as the house makes it and the seed sealed."""
        state: t.TableState = self.states[t.table_stream(table)]
        jackpot = self.settings[table].jackpot
        round_id, secret = round_id_at(self.milliseconds, random.randbytes(10)), random.randbytes(32)
        seat = Seat(
            table, state.number + 1, round_id, secret, self.settings[table].limits, currency=self.currency,
            sealed_seed=_sealed(round_id, commitment(round_id, ruleset.digest, secret), secret),
        )  # fmt: skip
        stream, round_state, appends = f"round:{round_id.hex()}", RoundState(), steps(random, ruleset, seat)
        while True:
            object.__setattr__(seat, "jackpot", self.states[j.jackpot_stream(jackpot)].pot if jackpot else 0)
            events = next(appends, None)
            if events is None:
                return
            self.next_append()
            self.post(stream, events, round_state, ruleset, table)
            yield stream
            if round_state.server_seed is None and void_when(round_state):
                voided = decide(round_state, ruleset, None, Void("power failure"))
                assert not isinstance(voided, Refusal)
                self.next_append()
                self.post(stream, [*voided, reveal_seed(secret)], round_state, ruleset, table)
                self._void_by(round_id.hex())
                return

    def post(
        self, stream: str, events: list[e.RoundEvent], state: RoundState, ruleset: Ruleset, table: str
    ) -> None:
        size, first_seq = len(self.records), self.heads[stream][0] + 1 if stream in self.heads else 0
        if stream == self.overpaid:
            events = _raised(events)
        super().post(stream, events, state, ruleset, table)
        wagers, round_id = wager.wagers_in(events, first_seq), stream.removeprefix("round:")
        if wagers:
            root = self.checkpoint(size).root.hex()
            accepted = wager.WagersAccepted(checkpoint_root=root, checkpoint_size=size, round=round_id, wagers=wagers)
            self._store(wager.CODEC.append_to(wager.receipt_stream(round_id), None, [accepted], self.at))

    def _void_by(self, round_id: str) -> None:
        event = access.RoundIntervened(
            action=access.Intervention.VOID, by="officer-1", reason="power failure", round=round_id
        )
        self._store(access.ACCESS_CODEC.append_to(access.access_stream(round_id), None, [event], self.at))

    def checkpoint(self, size: int) -> Checkpoint:
        """Of the log when it had so many events."""
        return Checkpoint(ORIGIN, size, root_of([leaf_hash(record.body) for record in self.records[:size]]))


def _raised(events: list[e.RoundEvent]) -> list[e.RoundEvent]:
    """The first box that gets its ante back gets 50 more, and so says the round's total."""
    winner = next((event for event in events if isinstance(event, e.BoxSettled) and event.ante), None)
    if winner is None:
        return events
    raised = msgspec.structs.replace(
        winner, ante=winner.ante + 50, returned=winner.returned + 50, net=winner.net + 50
    )
    return [
        raised
        if event is winner
        else msgspec.structs.replace(event, returned=event.returned + 50, net=event.net + 50)
        if isinstance(event, e.RoundClosed)
        else event
        for event in events
    ]


def _sealed(round_id: bytes, promised: bytes, secret: bytes) -> str:
    """As the house seals, with a nonce that is the same each time."""
    nonce = sha256(b"sample nonce" + round_id).digest()[:12]
    cipher = AESGCM(_seed_key(DATA_KEY, round_id))
    ciphertext = cipher.encrypt(nonce, secret, _seed_aad(DATA_KEY.id, round_id, promised))
    return SealedSeed(DATA_KEY.id, nonce, ciphertext).to_text()


class Kinds(NamedTuple):
    """Rounds of the evening, by what happened in them: their streams."""

    settled: str
    insured: str
    jackpot: str
    voided: str


@cache
def evening(overpaid: str = "") -> tuple[SampleHouse, Kinds]:
    """Some rounds, two at a time, with one of each kind among them; in one of them the house may pay too much."""
    house, random = SampleHouse(seed_amount=10_000, overpaid=overpaid), Random(99)
    house.welcome("player-1", "player-2", "player-3", amount=500_000)
    house.open_table("hall-1", GAME)
    house.open_table("vip-1", FREQUENT)
    running: list[Iterator[str]] = []
    for number in range(24):
        table, ruleset = ("vip-1", FREQUENT) if number % 3 == 0 else ("hall-1", GAME)
        void_when: Callable[[RoundState], bool] = _once_drawn if number % 8 == 5 else (lambda _: False)
        running.append(house.play(random, ruleset, table, void_when))
        while len(running) == 2 or (number == 23 and running):
            going = random.choice(running)
            if next(going, None) is None:
                running.remove(going)
    return house, _kinds(house)


def _once_drawn(state: RoundState) -> bool:
    return state.upcard is not None and any(box.bonus for box in state.boxes)


def _kinds(house: SampleHouse) -> Kinds:
    """The shortest round of each kind."""
    streams = sorted({record.stream for record in house.records if record.stream.startswith("round:")})
    types = {stream: {r.type for r in house.records if r.stream == stream} for stream in streams}

    def shortest(*wanted: str, without: str = "", who: Callable[[str], object] = bool) -> str:
        found = [each for each in streams if set(wanted) <= types[each] and without not in types[each] and who(each)]
        return min(found, key=lambda each: len(house.bodies(each)))

    settled = ("bet-made.v1", "cards-drawn.v1", "bonus-settled.v1", "box-settled.v1")
    return Kinds(
        settled=shortest(*settled, without="insurance-bought.v1", who=lambda each: winner_and_other(house, each)),
        insured=shortest("insurance-settled.v1"),
        jackpot=shortest("jackpot-won.v1"),
        voided=shortest("round-voided.v1"),
    )


def winner_and_other(house: SampleHouse, stream: str) -> tuple[str, str] | None:
    """Somebody who got money back at the end of a round, and somebody else who played in it."""
    placed = _placed(house, stream)
    events = [decode(body).data for body in house.bodies(stream)]
    boxes = [event.box for event in events if isinstance(event, e.BoxSettled) and event.ante]
    winners = [box.player for box in placed if box.box in boxes]
    others = [box.player for box in placed if box.player not in winners[:1]]
    return (winners[0], others[0]) if winners and others else None


def _placed(house: SampleHouse, stream: str) -> list[e.BoxPlaced]:
    events = [decode(body).data for body in house.bodies(stream)]
    return [event for event in events if isinstance(event, e.BoxPlaced)]


# -- files


@dataclass
class SampleLog:
    """A tree over the records of a house, or over what somebody made of them, and who has signed it."""

    records: Sequence[Record]
    signer: Signer = LOG
    origin: str = ORIGIN
    size: int = 0
    witnesses: Sequence[Signer] = (REGULATOR,)
    leaves: list[bytes] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.leaves = [leaf_hash(record.body) for record in self.records]
        self.size = self.size or len(self.leaves)

    def __call__(self, level: int, index: int) -> bytes:
        """A node, as proofs ask for it."""
        if level == 0:
            return self.leaves[index]
        return node_hash(self(level - 1, 2 * index), self(level - 1, 2 * index + 1))

    @property
    def checkpoint(self) -> Checkpoint:
        """What is signed."""
        return Checkpoint(self.origin, self.size, root_of(self.leaves[: self.size]))

    def note(self) -> str:
        """Signed by the log, and cosigned."""
        note = signed_by_log(self.checkpoint, self.signer.verifier, self.signer.sign)
        lines = [cosignature(note.body, 1_796_119_300, each.verifier, each.sign) for each in self.witnesses]
        return Note(note.body, (*note.signatures, *lines)).to_bytes().decode()

    def inclusion(self, position: int, size: int | None = None) -> list[str] | None:
        """The proof as it stands in a file; None behind the checkpoint."""
        size = self.size if size is None else size
        return None if position > size else _texts(inclusion_proof(position - 1, size, self))

    def consistency(self, size: int) -> Earlier:
        """From a former size."""
        return Earlier(_texts(consistency_proof(size, self.size, self)), size)


def evidence_file(
    log: SampleLog, stream: str, ruleset: Ruleset, level: Level = Level.REGULATOR, player: str | None = None
) -> EvidenceFile:
    """The file of a round."""
    round_id = stream.removeprefix("round:")
    chosen = [at for at, record in enumerate(log.records) if _belongs(log.records, at, record, round_id, level, player)]
    named = {
        wager.CODEC.decode(log.records[at].body).data.checkpoint_size
        for at in chosen
        if log.records[at].stream == wager.receipt_stream(round_id)
    }
    return EvidenceFile(
        checkpoint=log.note(),
        earlier=[log.consistency(size) for size in sorted(named) if 0 < size <= log.size],
        events=[StoredEvent(log.records[at].body.decode(), at + 1, log.inclusion(at + 1)) for at in chosen],
        format=FORMAT,
        level=level,
        made_at=as_text(1_796_119_400_000),
        player=player,
        round=round_id,
        ruleset=msgspec.Raw(msgspec.json.encode(ruleset.document, order="sorted")),
        software=SOFTWARE,
    )


def _belongs(
    records: Sequence[Record], at: int, record: Record, round_id: str, level: Level, player: str | None
) -> bool:
    """Whether an event stands in a file: the table of docs/formats/evidence.md."""
    kind, _, rest = record.stream.partition(":")
    if kind in ("round", "receipt"):
        return rest == round_id
    if kind == "access":
        return rest == round_id and level is Level.REGULATOR
    seqs = [other.seq for other in records if other.stream == record.stream and _mentions(other, round_id)]
    if not seqs:
        return False
    if kind == "table":
        numbered = next(other for other in records if other.stream == record.stream and _mentions(other, round_id))
        return record.seq in (numbered.seq, t.CODEC.decode(numbered.body).data.after.settings)
    if kind == "jackpot":
        return record.seq in seqs or record.seq + 1 in seqs
    assert kind == "account"
    mine = player is None or rest == f"EUR:{player}"
    return mine and seqs[0] - 1 <= record.seq <= seqs[-1]


def _mentions(record: Record, round_id: str) -> bool:
    """An event about the round; that the account has it in play while another round goes on counts too."""
    return f'"round":"{round_id}"'.encode() in record.body


def receipts(house: SampleHouse, stream: str, signer: Signer = RECEIPTS) -> dict[int, str]:
    """What the players of a round were given, by box."""
    round_id = stream.removeprefix("round:")
    opened = next(r for r in house.records if r.stream == stream)
    data = msgspec.json.decode(opened.body)["data"]
    accepted = wager.CODEC.decode(house.bodies(wager.receipt_stream(round_id))[0]).data
    places = {(record.stream, record.seq): at + 1 for at, record in enumerate(house.records)}
    return {
        each.box: receipt_token(
            Receipt(
                box=each.box,
                checkpoint_root=accepted.checkpoint_root,
                checkpoint_size=accepted.checkpoint_size,
                commitment=data["commitment"],
                origin=ORIGIN,
                player=each.player,
                position=places[stream, each.seq],
                round=round_id,
                ruleset_digest=data["ruleset_digest"],
                stake=each.stake,
            ),
            signer.verifier,
            signer.sign,
        )
        for each in accepted.wagers
    }


def _texts(hashes: Sequence[bytes]) -> list[str]:
    return [b64encode(value).decode() for value in hashes]
