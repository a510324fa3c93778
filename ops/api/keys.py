"""The key custodian's desk: API keys and the data key.

A key is shown once, in the first reply to the command that made it; the same command sent again gets the same reply
without the key, for nobody here can know it any more.

Not here: what a key is (`ops.api_keys`), the command line's `dealproof keys`.
"""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from flask import Response
from marshmallow import Schema

from domain.access import (
    ACCESS_CODEC,
    DATA_KEYS,
    KEY_CODEC,
    DataKeyRotated,
    KeyCreated,
    KeyRevoked,
    Role,
    is_person,
    key_stream,
)
from domain.round.refusals import Refusal, RefusalCode
from ops.api import fields, shapes
from ops.api.area import Area
from ops.api.rulesets import Reason
from ops.api.serving import carried_out, command, floor, reply, served
from ops.api_keys import PERSON_WORDS, ApiKey, key_entry, list_keys
from ops.commands import carry_out_one
from ops.journal import Stored

area = Area("keys", "API keys and data keys")


class KeyRequest(Schema):
    role = fields.one_of(*Role, required=True)
    person = fields.RecordText(required=True)
    label = fields.RecordText(load_default="")


@area.command("/keys", KeyRequest(), shapes.NewKey, status=201)
def create_key(body: dict[str, Any]) -> Response:
    """Make an API key; it is shown this once."""
    asked, key = command(), ApiKey.fresh()

    def decide(_: Stored | None) -> KeyCreated | Refusal:
        if not is_person(body["person"]):
            return Refusal(RefusalCode.TEXT_INVALID, f"A person {PERSON_WORDS}.")
        return KeyCreated(
            by=asked.by,
            label=body["label"],
            person=body["person"],
            role=Role(body["role"]),
            secret_sha256=key.secret_sha256,
        )

    carried = carried_out(carry_out_one(floor().journal, asked, KEY_CODEC, key_stream(key.id), decide), body)
    # A crash before the caller has read this leaves a key that nobody holds; it can be revoked.
    shown = None if carried.repeated else key.text
    entry = asdict(key_entry([carried.last.record.body]))
    return reply(entry | {"key": shown}, 201, location="/v1/keys")


@area.read("/keys", shapes.Keys)
def list_all_keys(_: dict[str, Any]) -> Response:
    """All API keys, also those that are revoked."""
    return reply({"items": [asdict(entry) for entry in list_keys(floor().journal)]})


@area.command("/keys/<key:key_id>/revocation", Reason(), shapes.Key)
def revoke_key(body: dict[str, Any], key_id: str) -> Response:
    """End an API key, at once and for good."""
    asked, journal, stream = command(), floor().journal, key_stream(key_id)

    def decide(stored: Stored | None) -> KeyRevoked | Refusal:
        if stored is None:
            return Refusal(RefusalCode.KEY_UNKNOWN, f"There is no key {key_id}.")
        key = KEY_CODEC.decode(stored.record.body).data
        if isinstance(key, KeyRevoked):
            return Refusal(RefusalCode.KEY_REVOKED, f"Key {key_id} is revoked already.")
        return KeyRevoked.of(key, by=asked.by, reason=body["reason"])

    carried = carried_out(carry_out_one(journal, asked, KEY_CODEC, stream, decide), body)
    created = journal.read_event(stream, 0)
    assert created is not None  # a key begins with its creation
    return reply(asdict(key_entry([created.record.body, carried.last.record.body])))


# -- the data key


@area.command("/data-keys", Reason(), shapes.DataKey, status=201)
def rotate_data_key(body: dict[str, Any]) -> Response:
    """Seal the seeds of coming rounds under another data key, within half a minute; open rounds stay as they are."""
    asked, journal = command(), floor().journal
    answered = journal.answered(asked.id, asked.request)
    if answered is None:
        # A crash right after this leaves a new key in use whose reason is not recorded; the retry makes another one.
        key = served().add_data_key()
        event = DataKeyRotated(by=asked.by, data_key=key.id, reason=body["reason"])
        carried = carried_out(carry_out_one(journal, asked, ACCESS_CODEC, DATA_KEYS, lambda _: event), body)
        record = carried.last.record
    else:
        record = journal.read_positions(answered.positions)[0].record
    rotated = ACCESS_CODEC.decode(record.body).data
    assert isinstance(rotated, DataKeyRotated)  # the stream has nothing else
    return reply({"data_key": rotated.data_key}, 201, location="/v1/data-keys")

