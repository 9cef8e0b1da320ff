"""AlterClientQuotas: what cannot be is refused as by Kafka, and what could be since kohort keeps no quotas."""

from __future__ import annotations

import pytest

from kohort.protocol.errors import ErrorCode
from kohort.protocol.messages.alter_client_quotas import EntityData, EntryRequest, OpData
from tests.support.broker import Broker


def alters(entity: dict[str, str | None], key: str, *, remove: bool, version: int = 1) -> tuple[ErrorCode, str | None]:
    named = tuple(EntityData(entity_type=kind, entity_name=name) for kind, name in entity.items())
    entry = EntryRequest(entity=named, ops=(OpData(key=key, value=1.0, remove=remove),))
    response = Broker().client().asks("alter_client_quotas", version, entries=(entry,), validate_only=False)
    (answer,) = response.entries
    assert {each.entity_type: each.entity_name for each in answer.entity} == entity
    return answer.error_code, answer.error_message


@pytest.mark.parametrize("version", [0, 1])
def test_missing_quota_can_be_removed(version: int) -> None:
    assert alters({"user": "ada"}, "producer_byte_rate", remove=True, version=version) == (ErrorCode.none, None)


@pytest.mark.parametrize(
    ("entity", "key", "words"),
    [
        ({"user": "ada", "client-id": None}, "producer_byte_rate", "kohort does not support client quotas"),
        ({"ip": "10.0.0.1"}, "connection_creation_rate", "kohort does not support client quotas"),
        ({"ip": "10.0.0.1"}, "producer_byte_rate", "Invalid configuration key producer_byte_rate"),
        ({"user": "ada"}, "speed", "Invalid configuration key speed"),
        ({"user": "ada", "ip": "10.0.0.1"}, "producer_byte_rate", "Invalid empty client quota entity"),
        ({}, "producer_byte_rate", "Invalid empty client quota entity"),
        ({"team": "a"}, "producer_byte_rate", "Unhandled client quota entity type: team"),
        ({"user": ""}, "producer_byte_rate", "Empty user not supported"),
    ],
)
def test_quota_is_rejected(entity: dict[str, str | None], key: str, words: str) -> None:
    assert alters(entity, key, remove=False) == (ErrorCode.invalid_request, words)
