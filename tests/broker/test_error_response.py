"""The response to an unexpected failure, for every API."""

from importlib import import_module
from types import SimpleNamespace
from typing import Any

import pytest

from kohort.broker.runtime.error_response import error_response
from kohort.protocol.api_keys import APIS, ApiSpec
from kohort.protocol.errors import ErrorCode
from kohort.protocol.messages.delete_groups import DeleteGroupsRequest
from kohort.protocol.messages.heartbeat import HeartbeatRequest
from kohort.protocol.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from tests.support.frames import message

UNKNOWN = ErrorCode.unknown_server_error


def answer(name: str, request: object) -> Any:
    own = getattr(import_module(f"kohort.broker.apis.{name}"), "error_response", None)
    api: Any = SimpleNamespace(response=message(name).response, error_response=own)
    return error_response(api, request, UNKNOWN)


NO_NULL_LISTS = {
    "streams_group_topology_description_update": b"\x01\x01" + bytes(4) + b"\x01\x01\x00" + bytes(64),
    "describe_topic_partitions": b"\x01" + bytes(4) + b"\xff\x00",
    "alter_partition_reassignments": bytes(4) + b"\x01\x00",
    "describe_quorum": b"\x01" + bytes(64),
    "update_features": bytes(4) + b"\x01" + bytes(64),
    "write_txn_markers": b"\x01" + bytes(64),
    "describe_producers": b"\x01" + bytes(64),
    "describe_transactions": b"\x01" + bytes(64),
    "list_transactions": b"\x01\x01" + bytes(64),
    "consumer_group_heartbeat": b"\x01\x01" + bytes(64),
    "consumer_group_describe": b"\x01" + bytes(64),
    "share_group_heartbeat": b"\x01\x01" + bytes(64),
    "share_group_describe": b"\x01" + bytes(64),
    "share_fetch": b"\x01\x01" + bytes(4 * 6) + b"\x01\x01" + bytes(64),
    "share_acknowledge": b"\x01\x01" + bytes(4) + b"\x01" + bytes(64),
    "describe_share_group_offsets": b"\x01" + bytes(64),
    "alter_share_group_offsets": b"\x01\x01" + bytes(64),
    "delete_share_group_offsets": b"\x01\x01" + bytes(64),
    "streams_group_heartbeat": b"\x01\x01" + bytes(14) + b"\xff" + bytes(4) + b"\xff" + bytes(64),
    "streams_group_describe": b"\x01" + bytes(64),
    "alter_user_scram_credentials": b"\x01\x01" + bytes(64),
    "initialize_share_group_state": b"\x01\x01" + bytes(64),
    "read_share_group_state": b"\x01\x01" + bytes(64),
    "write_share_group_state": b"\x01\x01" + bytes(64),
    "delete_share_group_state": b"\x01\x01" + bytes(64),
    "read_share_group_state_summary": b"\x01\x01" + bytes(64),
}


def smallest_request(api: ApiSpec) -> Any:
    """Encode a request of zeros: numbers are 0, texts and lists empty, except lists that must not be null."""
    body = NO_NULL_LISTS.get(api.name, bytes(64))
    return message(api.name).read(max(api.min_version, api.readable_from), body, 0)


@pytest.mark.parametrize("api", APIS, ids=lambda api: api.name)
def test_every_api_has_encodable_error(api: ApiSpec) -> None:
    response = answer(api.name, smallest_request(api))
    for version in range(max(api.min_version, api.readable_from), api.max_version + 1):
        assert message(api.name).write(version, 1, response)


def test_error_at_top_level() -> None:
    request = HeartbeatRequest(group_id="g", generation_id=1, member_id="m")
    assert answer("heartbeat", request).error_code is UNKNOWN


def test_error_per_partition() -> None:
    partitions = (PartitionProduceData(index=3, records=None), PartitionProduceData(index=5, records=None))
    topic = TopicProduceData(name="t", partition_data=partitions)
    response = answer("produce", ProduceRequest(acks=1, timeout_ms=1, topic_data=(topic,)))
    (topic_response,) = response.responses
    assert topic_response.name == "t"
    assert [
        (partition_response.index, partition_response.error_code)
        for partition_response in topic_response.partition_responses
    ] == [(3, UNKNOWN), (5, UNKNOWN)]


def test_error_per_named_entity() -> None:
    response = answer("delete_groups", DeleteGroupsRequest(groups_names=("a", "b")))
    assert [(result.group_id, result.error_code) for result in response.results] == [("a", UNKNOWN), ("b", UNKNOWN)]
