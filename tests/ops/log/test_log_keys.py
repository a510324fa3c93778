"""The log's keys: files for their owner alone, a trust file that is written once, and facts about both.

Not here: the key file's own checks (`tests.deal.test_key_file`), the command (`test_log_command`).
"""

from __future__ import annotations

import stat
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from domain.log import events as e
from domain.log.checkpoint import COSIGNATURE, LOG, NoteError, VerifierKey
from domain.log.trust import PinnedKey, Trust, TrustError
from ops.journal import Journal
from ops.keys import KeyFileError
from ops.log.ed25519 import check_signature
from ops.log.keys import change_keys, make_keys, read_key_events, record_first_keys, site_keys
from ops.log.signing import FileSigningKey
from ops.log.trusting import read_trust
from ops.settings import Settings

ORIGIN = "play.example/log"


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return Settings(tmp_path / "home", None, tmp_path / "home" / "keys" / "dealproof.key")


def text_of(number: int, name: str = ORIGIN, kind: int = LOG) -> str:
    """A key that nobody has."""
    return VerifierKey(name, kind, number.to_bytes(32, "big")).to_text()


# -- files


def test_a_key_is_made_once_and_signs_what_others_can_check(tmp_path: Path) -> None:
    key = FileSigningKey(tmp_path / "log.key", ORIGIN)
    signature = key.sign(b"message")

    assert (key.verifier.name, key.verifier.type) == (ORIGIN, LOG)
    assert check_signature(key.verifier.public_key, b"message", signature)
    assert not check_signature(key.verifier.public_key, b"massage", signature)
    again = FileSigningKey(tmp_path / "log.key", ORIGIN)
    assert (again.verifier, again.sign(b"message")) == (key.verifier, signature)
    assert stat.S_IMODE((tmp_path / "log.key").stat().st_mode) == 0o600
    assert [path.name for path in tmp_path.iterdir()] == ["log.key"]


def test_a_key_file_is_an_ed25519_seed(tmp_path: Path) -> None:
    """RFC 8032, 7.1, test 1: another program that has the file signs the same."""
    (tmp_path / "log.key").write_bytes(
        bytes.fromhex("9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60")
    )
    (tmp_path / "log.key").chmod(0o600)
    key = FileSigningKey(tmp_path / "log.key", ORIGIN)

    assert key.verifier.public_key.hex() == "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a"
    assert key.sign(b"").hex().startswith("e5564300c360ac729086e2cc806e828a84877f1eb8e5d974d873e06522490155")


@pytest.mark.parametrize(
    ("content", "mode", "reason"),
    [
        (b"k" * 32, 0o644, "mode 0644 lets others"),
        (b"k" * 31, 0o600, "half-written"),
        (b"k" * 33, 0o600, "longer than"),
        (bytes(32), 0o600, "half-written, all bytes are zero"),
    ],
)
def test_a_key_file_that_can_not_be_trusted_is_refused(tmp_path: Path, content: bytes, mode: int, reason: str) -> None:
    path = tmp_path / "log.key"
    path.write_bytes(content)
    path.chmod(mode)

    with pytest.raises(KeyFileError, match=f"key file {path}: {reason}"):
        FileSigningKey(path, ORIGIN)


def test_a_seed_shows_in_no_repr(tmp_path: Path) -> None:
    key = FileSigningKey(tmp_path / "log.key", ORIGIN)
    seed = (tmp_path / "log.key").read_bytes()

    assert seed.hex() not in repr(vars(key)) and repr(seed) not in repr(vars(key))


# -- first use


def test_keys_and_trust_are_made_on_first_use(settings: Settings) -> None:
    keys = make_keys(settings, ORIGIN)

    assert keys.origin == ORIGIN
    assert (keys.log.verifier.name, keys.receipt.verifier.name) == (ORIGIN, f"{ORIGIN}/receipts")
    assert read_trust(settings.trust_file) == keys.trust == Trust(
        ORIGIN, (PinnedKey(keys.log.verifier),), (), (PinnedKey(keys.receipt.verifier),)
    )
    assert settings.trust_file == settings.home / "trust.json"
    assert [path.name for path in sorted((settings.home / "keys").iterdir())] == ["log.key", "receipt.key"]


def test_a_log_that_nobody_names_has_a_name_of_its_own(settings: Settings) -> None:
    origin = make_keys(settings).origin

    assert origin.startswith("dealproof.local/") and len(origin) == len("dealproof.local/") + 16
    assert make_keys(settings).origin == origin


def test_nothing_is_made_twice(settings: Settings) -> None:
    """Whoever else tries at the same moment; what a person wrote into the trust file stays."""
    with ThreadPoolExecutor(8) as pool:
        made = list(pool.map(lambda _: make_keys(settings), range(8)))
    assert len({keys.origin for keys in made}) == 1
    assert len({keys.log.verifier for keys in made}) == 1

    witness = PinnedKey(VerifierKey("witness.example", COSIGNATURE, b"w" * 32))
    trust = made[0].trust
    edited = Trust(trust.origin, trust.log_keys, (witness,), trust.receipt_keys, 1)
    settings.trust_file.write_bytes(edited.to_json())
    assert make_keys(settings).trust == edited == read_trust(settings.trust_file)


def test_a_log_keeps_its_name(settings: Settings) -> None:
    make_keys(settings, ORIGIN)

    assert make_keys(settings, ORIGIN).origin == ORIGIN
    with pytest.raises(TrustError, match=f"origin: this log is {ORIGIN} and keeps its name"):
        make_keys(settings, "other.example/log")


@pytest.mark.parametrize("origin", ["two words", "a+b", "a\nb", "é", "x" * 300])
def test_a_name_that_no_note_can_hold_is_refused(settings: Settings, origin: str) -> None:
    with pytest.raises(TrustError, match=r"^origin: "):
        make_keys(settings, origin)
    assert not settings.trust_file.exists()


@pytest.mark.parametrize("name", ["log.key", "receipt.key"])
def test_a_lost_key_file_is_not_made_anew(settings: Settings, name: str) -> None:
    make_keys(settings)
    (settings.home / "keys" / name).unlink()

    with pytest.raises(KeyFileError, match=f"{name}: is missing; restore it"):
        make_keys(settings)
    assert not (settings.home / "keys" / name).exists()


def test_a_key_that_the_trust_file_lacks_is_named(settings: Settings) -> None:
    """Another site's key file; or a new one that nobody has pinned yet."""
    make_keys(settings)
    settings.log_key_file.write_bytes(b"k" * 32)

    with pytest.raises(TrustError, match=f"lacks the key .* of key file {settings.log_key_file}"):
        site_keys(settings)


def test_a_lost_trust_file_is_not_made_anew_beside_a_log(settings: Settings) -> None:
    """The log would get another name."""
    make_keys(settings)
    settings.trust_file.unlink()
    settings.log_folder.mkdir()
    (settings.log_folder / "checkpoint").write_text("note")

    with pytest.raises(TrustError, match=r"is missing, but .*checkpoint exists; restore it"):
        make_keys(settings)
    assert not settings.trust_file.exists()


def test_a_crash_before_the_trust_file_loses_nothing(settings: Settings) -> None:
    """The keys that are there are used."""
    key = make_keys(settings, ORIGIN).log.sign(b"")
    settings.trust_file.unlink()

    assert make_keys(settings, ORIGIN).log.sign(b"") == key


# -- facts


def test_the_first_keys_are_facts_once(journal: Journal, settings: Settings) -> None:
    keys = make_keys(settings, ORIGIN)
    for _ in range(3):
        record_first_keys(journal, keys, "clara")

    events = read_key_events(journal)
    assert events == [
        e.LogKeyAdded(by="clara", first_size=0, key=key.verifier.to_text(), reason="first use", use=use)
        for key, use in ((keys.log, e.KeyUse.LOG), (keys.receipt, e.KeyUse.RECEIPT))
    ]
    assert [stored.record.stream for stored in journal.read_stream(e.LOG_KEYS)] == ["log:keys"] * 2


def added(number: int, first_size: int = 0, use: e.KeyUse = e.KeyUse.LOG) -> e.LogKeyAdded:
    return e.LogKeyAdded(by="clara", first_size=first_size, key=text_of(number), reason="r", use=use)


def retired(number: int, last_size: int) -> e.LogKeyRetired:
    return e.LogKeyRetired(by="clara", key=text_of(number), last_size=last_size, reason="r")


def compromised(number: int, last_size: int) -> e.LogKeyCompromised:
    return e.LogKeyCompromised(by="clara", key=text_of(number), last_size=last_size, reason="r")


@pytest.mark.parametrize(
    ("events", "ranges"),
    [
        ([], []),
        ([added(1)], [(1, 0, None)]),
        ([added(1), added(2, 11), retired(1, 10)], [(1, 0, 10), (2, 11, None)]),
        ([added(1), compromised(1, 5)], [(1, 0, 5)]),
        ([added(1), retired(1, 10), compromised(1, 4)], [(1, 0, 4)]),
        ([added(1), compromised(1, 4), retired(1, 10)], [(1, 0, 4)]),
        ([added(1, use=e.KeyUse.WITNESS), added(2)], [(2, 0, None)]),
        ([retired(1, 4), added(2)], [(2, 0, None)]),
    ],
)
def test_keys_hold_from_a_size_to_the_lowest_end_that_was_named(
    events: list[e.LogKeyEvent], ranges: list[tuple[int, int, int | None]]
) -> None:
    found = e.keys_of(events, e.KeyUse.LOG)

    assert [(int.from_bytes(pinned.key.public_key, "big"), *pinned[1:]) for pinned in found] == ranges


@pytest.mark.parametrize(
    ("use", "key", "first_size", "by", "reason"),
    [
        (e.KeyUse.LOG, "nothing", 0, "clara", "key: .*"),
        (e.KeyUse.LOG, text_of(1)[:-2], 0, "clara", "key: .*"),
        (e.KeyUse.LOG, text_of(9, "other"), 0, "clara", "key: its name is other, that of a log key of this log is .*"),
        (e.KeyUse.RECEIPT, text_of(9), 0, "clara", "key: its name is .* is play.example/log/receipts"),
        (e.KeyUse.WITNESS, text_of(9), 0, "clara", "key: is of type 1, a witness key is of type 4"),
        (e.KeyUse.LOG, text_of(9, ORIGIN, COSIGNATURE), 0, "clara", "key: is of type 4, a log key is of type 1"),
        (e.KeyUse.LOG, text_of(1), 0, "clara", "key: was added before; a key is added once"),
        (e.KeyUse.LOG, text_of(9), -1, "clara", "first size: must be a whole number from 0 to .*"),
        (e.KeyUse.LOG, text_of(9), 2**53, "clara", "first size: must be a whole number from 0 to .*"),
        (e.KeyUse.LOG, text_of(9), 0, " ", "by: must be text .*"),
    ],
)
def test_a_key_that_can_not_be_added_is_refused(
    use: e.KeyUse, key: str, first_size: int, by: str, reason: str
) -> None:
    with pytest.raises(e.LogKeyError, match=f"^{reason}$"):
        e.add([added(1)], origin=ORIGIN, use=use, key=key, first_size=first_size, by=by, reason="r")


@pytest.mark.parametrize(
    ("events", "number", "last_size", "reason"),
    [
        ([added(1)], 2, 5, "key: was never added"),
        ([added(1, 10)], 1, 9, "last size: must be a whole number from 10 to .*"),
        ([added(1), retired(1, 7)], 1, 5, "key: has ended at size 7 already"),
        ([added(1), compromised(1, 7)], 1, 5, "key: has ended at size 7 already"),
    ],
)
def test_a_key_that_can_not_be_retired_is_refused(
    events: list[e.LogKeyEvent], number: int, last_size: int, reason: str
) -> None:
    with pytest.raises(e.LogKeyError, match=f"^{reason}$"):
        e.retire(events, key=text_of(number), last_size=last_size, by="clara", reason="r")


@pytest.mark.parametrize(
    ("events", "number", "last_size", "reason"),
    [
        ([added(1)], 2, 5, "key: was never added"),
        ([added(1, 10)], 1, 8, "last size: must be a whole number from 9 to .*"),
        ([added(1), retired(1, 7)], 1, 8, "last size: the key has ended at size 7; it can't come to life again"),
    ],
)
def test_a_key_that_can_not_be_compromised_so_is_refused(
    events: list[e.LogKeyEvent], number: int, last_size: int, reason: str
) -> None:
    with pytest.raises(e.LogKeyError, match=f"^{reason}$"):
        e.compromise(events, key=text_of(number), last_size=last_size, by="clara", reason="r")


def test_what_somebody_decides_is_appended_and_what_is_refused_is_not(journal: Journal) -> None:
    key = text_of(1)
    change_keys(
        journal, "clara",
        lambda events: e.add(events, origin=ORIGIN, use=e.KeyUse.LOG, key=key, first_size=0, by="clara", reason="new"),
    )  # fmt: skip
    with pytest.raises(e.LogKeyError):
        change_keys(
            journal, "clara",
            lambda events: e.retire(events, key=text_of(2), last_size=1, by="clara", reason="old"),
        )  # fmt: skip

    assert [event.NAME for event in read_key_events(journal)] == ["log-key-added.v1"]


def test_a_key_text_that_is_none_is_named() -> None:
    with pytest.raises(e.LogKeyError, match=r"^key: "):
        e.read_key("")
    with pytest.raises(NoteError):
        VerifierKey.from_text("")
