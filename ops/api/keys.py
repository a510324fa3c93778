"""The key custodian's desk: API keys and the data key.

A key is shown once, in the first reply to the command that made it; the same command sent again gets the same reply
without the key, for nobody here can know it any more.

Not here: what a key is (`ops.api_keys`), the command line's `dealproof keys`.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable
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
from ops import clock
from ops.api import fields, shapes
from ops.api.area import Area
from ops.api.rulesets import Reason
from ops.api.serving import carried_out, command, floor, reply, served
from ops.api_keys import PERSON_WORDS, ApiKey, list_keys
from ops.commands import Command, Plan, carry_out, head_of
from ops.keys import DataKey

area = Area("keys", "API keys and data keys")


class KeyRequest(Schema):
    role = fields.one_of(*Role, required=True)
    person = fields.RecordText(required=True)
    label = fields.RecordText(load_default="")


@area.command("/keys", KeyRequest(), shapes.NewKey, status=201)
def create_key(body: dict[str, Any]) -> Response:
    """Make an API key; it is shown this once."""
    asked, made = command(), list[ApiKey]()

    def plan(_: bool) -> Plan | Refusal:
        if not is_person(body["person"]):
            return Refusal(RefusalCode.TEXT_INVALID, f"A person {PERSON_WORDS}.")
        key = ApiKey(secrets.token_hex(8), secrets.token_bytes(32))
        made.append(key)
        created = KeyCreated(
            by=asked.by,
            label=body["label"],
            person=body["person"],
            role=Role(body["role"]),
            secret_sha256=key.secret_sha256,
        )
        return Plan(KEY_CODEC.append_to(key_stream(key.id), None, [created], clock.now()))

    carried = carried_out(carry_out(floor().journal, asked, plan), body)
    record = KEY_CODEC.decode(carried.records[0].body)
    view = _key_view(record.stream, record.at, record.data, None, None)
    # A crash before the caller has read this leaves a key that nobody holds; it can be revoked.
    shown = None if carried.repeated else made[-1].text
    return reply(view | {"key": shown}, 201, location="/v1/keys")


@area.read("/keys", shapes.Keys)
def list_all_keys(_: dict[str, Any]) -> Response:
    """All API keys, also those that are revoked."""
    return reply({"items": [asdict(entry) for entry in list_keys(floor().journal)]})


@area.command("/keys/<key:key_id>/revocation", Reason(), shapes.Key)
def revoke_key(body: dict[str, Any], key_id: str) -> Response:
    """End an API key, at once and for good."""
    asked, stream = command(), key_stream(key_id)

    def plan(_: bool) -> Plan | Refusal:
        stored = floor().journal.heads([stream]).get(stream)
        if stored is None:
            return Refusal(RefusalCode.KEY_UNKNOWN, f"There is no key {key_id}.")
        key = KEY_CODEC.decode(stored.record.body).data
        if isinstance(key, KeyRevoked):
            return Refusal(RefusalCode.KEY_REVOKED, f"Key {key_id} is revoked already.")
        revoked = KeyRevoked(
            by=asked.by,
            label=key.label,
            person=key.person,
            reason=body["reason"],
            role=key.role,
            secret_sha256=key.secret_sha256,
        )
        return Plan(KEY_CODEC.append_to(stream, head_of(stored.record), [revoked], clock.now()))

    carried = carried_out(carry_out(floor().journal, asked, plan), body)
    ended = KEY_CODEC.decode(carried.records[0].body)
    stored = floor().journal.read_event(stream, 0)
    assert stored is not None and isinstance(ended.data, KeyRevoked)  # a key begins with its creation
    made = KEY_CODEC.decode(stored.record.body)
    return reply(_key_view(stream, made.at, made.data, ended.at, ended.data))


def _key_view(
    stream: str, at: str, made: KeyCreated | KeyRevoked, revoked_at: str | None, revoked: KeyRevoked | None
) -> dict[str, Any]:
    return {
        "key_id": stream.removeprefix("key:"),
        "role": made.role.value,
        "person": made.person,
        "label": made.label,
        "created_at": at,
        "created_by": made.by,
        "revoked_at": revoked_at,
        "revoked_by": None if revoked is None else revoked.by,
        "reason": None if revoked is None else revoked.reason,
    }


# -- the data key


@area.command("/data-keys", Reason(), shapes.DataKey, status=201)
def rotate_data_key(body: dict[str, Any]) -> Response:
    """Seal the seeds of coming rounds under another data key, within half a minute; open rounds stay as they are."""
    asked, journal = command(), floor().journal
    answered = journal.answered(asked.id, asked.request)
    if answered is None:
        # A crash right after this leaves a new key in use whose reason is not recorded; the retry makes another one.
        key = served().add_data_key()
        carried = carried_out(carry_out(journal, asked, _rotation(asked, key, body["reason"])), body)
        record = carried.records[0]
    else:
        record = journal.read_positions(answered.positions)[0].record
    event = ACCESS_CODEC.decode(record.body).data
    assert isinstance(event, DataKeyRotated)  # the stream has nothing else
    return reply({"data_key": event.data_key}, 201, location="/v1/data-keys")


def _rotation(asked: Command, key: DataKey, reason: str) -> Callable[[bool], Plan]:
    def plan(_: bool) -> Plan:
        head = floor().journal.heads([DATA_KEYS]).get(DATA_KEYS)
        event = DataKeyRotated(by=asked.by, data_key=key.id, reason=reason)
        records = ACCESS_CODEC.append_to(
            DATA_KEYS, None if head is None else head_of(head.record), [event], clock.now()
        )
        return Plan(records)

    return plan
