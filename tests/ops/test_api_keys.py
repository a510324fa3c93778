"""API keys: made once, known to nobody but their holders, ended for good; and signatures, byte for byte.

Not here: who is let in (`test_requests_admitted`), the commands (`tests.ops.cli.test_keys`).
"""

from __future__ import annotations

import hashlib
import hmac
import pprint
import re
import shutil
import subprocess
import threading
import traceback
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from urllib.parse import unquote_to_bytes

import pytest
from hypothesis import given
from hypothesis import strategies as st

from domain.access import KEY_CODEC, KeyCreated, KeyRevoked, Role, key_stream
from domain.record import Record, read_envelope
from ops.api_keys import ApiKey, UnknownKey, create_key, list_keys, new_nonce, request_target, revoke_key, sign
from ops.journal import Appended, Journal, RoundIdentity
from tests.ops.cli.running import REPOSITORY
from tests.ops.test_secrets import where, whole_database

KEY = ApiKey("0123456789abcdef", bytes(range(32)))


@pytest.fixture
def journal(migrated_database_url: str) -> Iterator[Journal]:
    with Journal.open(migrated_database_url) as journal:
        yield journal


def made(journal: Journal, **fields: str) -> ApiKey:
    """A cashier's key."""
    fields = {"person": "Bob", "label": "till 4", "by": "ann", **fields}
    return create_key(journal, role=Role.CASHIER, **fields)


# -- keys


def test_a_key_is_a_first_event_with_the_hash_of_its_secret(journal: Journal) -> None:
    key = made(journal)

    [stored] = journal.read_stream(f"key:{key.id}")

    assert read_envelope(stored.record.body).type == "key-created.v1"
    assert KEY_CODEC.decode(stored.record.body).data == KeyCreated(
        by="ann", label="till 4", person="Bob", role=Role.CASHIER,
        secret_sha256=hashlib.sha256(bytes.fromhex(key.text.split("_")[2])).hexdigest(),
    )  # fmt: skip


def test_no_two_keys_are_alike(journal: Journal) -> None:
    keys = [made(journal) for _ in range(20)]

    assert len({key.id for key in keys}) == len({key.secret for key in keys}) == 20


def test_the_database_never_has_the_secret(journal: Journal, migrated_database_url: str) -> None:
    key = made(journal)
    revoke_key(journal, key.id, by="ann", reason="lost")

    assert where(key.secret, whole_database(migrated_database_url)) == []


def test_a_key_is_printed_without_its_secret() -> None:
    things = (KEY, [KEY], {"key": KEY})
    told = "\n".join(show(thing) for thing in things for show in (repr, str, pprint.pformat, "{0!r} {0}".format))

    assert KEY.id in told
    assert where(KEY.secret, {"told": told.encode()}) == []


def test_a_key_is_read_back_from_its_text() -> None:
    assert ApiKey.parse(KEY.text) == KEY
    assert KEY.text == "dpk_0123456789abcdef_000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f"


TEXT = KEY.text


@pytest.mark.parametrize("text", [
    "", "dpk", TEXT[:-1], f"{TEXT}0", TEXT.upper(), TEXT.replace("dpk", "DPK"), f" {TEXT}", f"{TEXT} ", f"{TEXT}\n",
    TEXT.replace("_", "-"), TEXT.replace("00", "0g", 1), TEXT.replace("0", "٠"), TEXT.replace("dpk_", ""), TEXT * 1000,
])
def test_a_malformed_key_is_refused_without_quoting_it(text: str) -> None:
    with pytest.raises(ValueError, match=r"^API key: not of the form") as refused:
        ApiKey.parse(text)

    told = "".join(traceback.format_exception(refused.value))
    assert "0a0b0c0d" not in told.lower()


@pytest.mark.parametrize("field", ["person", "by", "label"])
@pytest.mark.parametrize("text", [" ", "x" * 1001, "e\u0301", "\ud800"])
def test_a_text_that_a_record_can_not_hold_is_refused_by_name(journal: Journal, field: str, text: str) -> None:
    with pytest.raises(ValueError, match=f"^{field}: "):
        made(journal, **{field: text})
    assert journal.head_position() == 0


def test_a_label_may_be_empty_a_person_not(journal: Journal) -> None:
    made(journal, label="")
    with pytest.raises(ValueError, match=r"^person: "):
        made(journal, person="")


# -- revoking and listing


def test_a_revoked_key_keeps_all_that_was_known_of_it(journal: Journal) -> None:
    key = made(journal)

    entry = revoke_key(journal, key.id, by="carl", reason="left the house")

    created, revoked = (KEY_CODEC.decode(one.record.body) for one in journal.read_stream(key_stream(key.id)))
    assert revoked.data == KeyRevoked(
        by="carl", label="till 4", person="Bob", reason="left the house", role=Role.CASHIER,
        secret_sha256=key.secret_sha256,
    )  # fmt: skip
    assert (entry.revoked_at, entry.revoked_by, entry.reason) == (revoked.at, "carl", "left the house")
    assert (entry.created_at, entry.created_by, entry.person) == (created.at, "ann", "Bob")


def test_a_second_revocation_changes_nothing(journal: Journal) -> None:
    key = made(journal)
    first = revoke_key(journal, key.id, by="carl", reason="left the house")

    assert revoke_key(journal, key.id, by="dora", reason="another") == first
    assert journal.head_position() == 2


def test_of_those_who_revoke_at_once_one_does_and_all_learn_who(journal: Journal) -> None:
    key = made(journal)
    start = threading.Barrier(8)

    def revoke(number: int) -> str | None:
        start.wait()
        return revoke_key(journal, key.id, by=f"officer {number}", reason="lost").revoked_by

    with ThreadPoolExecutor(8) as pool:
        by = set(pool.map(revoke, range(8)))

    assert len(by) == 1
    assert journal.head_position() == 2


def test_who_is_overtaken_between_reading_and_writing_gets_the_others_entry(
    journal: Journal, monkeypatch: pytest.MonkeyPatch
) -> None:
    key = made(journal)
    append = Journal.append

    def overtaken(
        self: Journal, command_id: str, request: bytes, records: list[Record], rounds: list[RoundIdentity] | None = None
    ) -> Appended:
        monkeypatch.setattr(Journal, "append", append)
        revoke_key(journal, key.id, by="carl", reason="first")
        return append(self, command_id, request, records)

    monkeypatch.setattr(Journal, "append", overtaken)

    assert revoke_key(journal, key.id, by="dora", reason="second").revoked_by == "carl"


def test_a_key_that_is_not_there_can_not_be_revoked(journal: Journal) -> None:
    with pytest.raises(UnknownKey, match=r"^key 00ff00ff00ff00ff: there is no such key$"):
        revoke_key(journal, "00ff00ff00ff00ff", by="ann", reason="lost")


def test_the_list_has_every_key_and_nothing_else(journal: Journal) -> None:
    keys = [made(journal, person=f"person {number}") for number in range(5)]
    revoke_key(journal, keys[2].id, by="ann", reason="lost")
    journal.append("other", b"", [Record("keys", 0, "x.v1", b"{}"), Record("round:00", 0, "x.v1", b"{}")])

    entries = list_keys(journal)

    assert [entry.key_id for entry in entries] == sorted(key.id for key in keys)
    assert {entry.person for entry in entries} == {f"person {number}" for number in range(5)}
    assert [entry.key_id for entry in entries if entry.revoked_at] == [keys[2].id]


def test_an_empty_journal_has_no_keys(journal: Journal) -> None:
    assert list_keys(journal) == []


# -- signing

PAGE = REPOSITORY / "docs" / "formats" / "request-signing.md"


def example(name: str) -> str:
    """A block of the format page."""
    found = re.search(rf"^<!-- example: {name} -->\n```\n(.*?)\n```$", PAGE.read_text("utf-8"), re.M | re.S)
    assert found is not None, f"{PAGE} has no example {name}"
    return found[1]


def test_the_example_of_the_page_is_what_we_sign() -> None:
    head, body = example("request").split("\n\n")
    request_line, *headers = head.splitlines()
    method, target, _ = request_line.split(" ")
    sent = dict(line.split(": ") for line in headers)

    assert sign(
        example("key"), method, target, int(sent["Dealproof-Timestamp"]), sent["Dealproof-Nonce"], body.encode()
    ) == sent
    assert ApiKey.parse(example("key")).secret_sha256 == example("kept")


def test_the_example_is_signed_by_what_the_page_says() -> None:
    """With nothing of ours: the message of the page, the secret of its key, RFC 2104."""
    message, secret = example("message"), bytes.fromhex(example("key").rpartition("_")[2])
    signature = hmac.new(secret, b"dp1/request\x00" + message.encode(), hashlib.sha256).hexdigest()
    head, body = example("request").split("\n\n")

    assert f"Dealproof-Signature: {signature}" in head.splitlines()
    assert message.splitlines()[4] == hashlib.sha256(body.encode()).hexdigest()


@pytest.mark.skipif(shutil.which("openssl") is None, reason="the page's shell lines need openssl")
def test_the_shell_lines_of_the_page_print_the_signature() -> None:
    ran = subprocess.run(["bash", "-c", example("shell")], capture_output=True, text=True, timeout=30, check=True)

    assert f"Dealproof-Signature: {ran.stdout.split()[-1]}" in example("request").splitlines()


FIELD = st.text(st.characters(codec="utf-8"), max_size=30)
REQUEST = st.tuples(
    st.sampled_from(["GET", "POST", "PUT"]), FIELD.map(lambda text: f"/{text}"), st.integers(1, 10**12 - 1),
    st.text("Aa0_-", min_size=16, max_size=64), st.binary(max_size=40),
)  # fmt: skip


@given(one=REQUEST, other=REQUEST)
def test_two_requests_have_one_signature_only_if_they_are_the_same(
    one: tuple[str, str, int, str, bytes], other: tuple[str, str, int, str, bytes]
) -> None:
    """Even a target with line feeds in it can't pass for another target and timestamp."""
    alike = sign(KEY.text, *one)["Dealproof-Signature"] == sign(KEY.text, *other)["Dealproof-Signature"]

    assert alike is (one == other)


def test_a_target_can_not_take_over_the_lines_behind_it() -> None:
    nonce, hashed = "A" * 16, hashlib.sha256(b"").hexdigest()
    honest = sign(KEY.text, "GET", "/a", 1, nonce, b"")
    forged = sign(KEY.text, "GET", f"/a\n1\n{nonce}\n{hashed}", 1, nonce, b"")

    assert honest["Dealproof-Signature"] != forged["Dealproof-Signature"]


@pytest.mark.parametrize("nonce", ["", "A" * 15, "A" * 65, "A" * 15 + "+", "A" * 16 + "\n", "é" * 16])
def test_we_sign_with_no_nonce_that_would_be_refused(nonce: str) -> None:
    with pytest.raises(ValueError, match=r"^nonce: "):
        sign(KEY.text, "GET", "/", 1, nonce, b"")


@pytest.mark.parametrize(("path", "query", "target"), [
    ("/v1/rounds", "", "/v1/rounds"),
    ("/v1/rounds", "last=10&table=a%20b", "/v1/rounds?last=10&table=a%20b"),
    ("/-._~/:@!$&'()*+,;=", "?", "/-._~/:@!$&'()*+,;=??"),
    ("/a b/ä/100%/x?y#z", "", "/a%20b/%C3%A4/100%25/x%3Fy%23z"),
    ('/"<>[]\\^`{|}\n\0', "", "/%22%3C%3E%5B%5D%5C%5E%60%7B%7C%7D%0A%00"),
])
def test_a_target_has_one_spelling(path: str, query: str, target: str) -> None:
    assert request_target(path.encode(), query) == target


@given(path=st.binary(max_size=20), query=st.text("a=&?/%", max_size=5), other=st.binary(max_size=20))
def test_two_targets_are_spelt_alike_only_if_they_are_the_same(path: bytes, query: str, other: bytes) -> None:
    """A question mark in the path is not the one before the query."""
    assert (request_target(path, query) == request_target(other, "")) is (path == other and not query)
    assert unquote_to_bytes(request_target(path, "")) == path


def test_nonces_are_fresh_and_good_to_sign_with() -> None:
    nonces = {new_nonce() for _ in range(100)}

    assert len(nonces) == 100
    for nonce in nonces:
        sign(KEY.text, "GET", "/", 1, nonce, b"")
