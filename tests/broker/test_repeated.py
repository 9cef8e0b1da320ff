"""Repeated names in a request: memory for the response depends on what exists, not on the number of repetitions."""

from __future__ import annotations

import tracemalloc
from collections.abc import Iterator
from dataclasses import fields
from enum import Enum
from types import UnionType
from typing import Any, Union, get_args, get_origin, get_type_hints
from uuid import UUID

import pytest

from kohort.protocol.errors import ErrorCode
from kohort.protocol.releases import CURRENT, apis_of
from kohort.whatif.clients.group_member import to_commit
from tests.support.broker import Broker
from tests.support.data_requests import given_topic
from tests.support.frames import frame, message

TIMES = 100
BYTES_EACH = 2_500
"""What one repetition may take: the objects of its request and its answer."""
COPIES = 4
"""Copies of a response's bytes: one is the broker's, the others are made by the fake socket."""

TOPIC, GROUP = "orders", "billing"
PARTITIONS, MEMBERS = 60, 60
NAMES = {
    **dict.fromkeys(("topic", "name", "topic_name", "topic_names", "names"), TOPIC),
    **dict.fromkeys(("group_id", "coordinator_keys", "groups", "group_ids", "groups_names"), GROUP),
    "resource_name": "1",
}
"""Values for fields by name: an existing topic, group or node, so that the response is large."""
NUMBERS = {"resource_type": 4, "timeout_ms": 1_000, "timeout_msec": 1_000, "count": 2, "validate_only": 1}
STREAMS = {"fetch", "sasl_handshake", "sasl_authenticate", "api_versions"}
"""Fetch answers with records, within limits of its own; the others name nothing, or begin a login."""


def value(name: str, kind: Any, lengths: dict[str, int]) -> Any:
    """Return some value for a field, whose lists repeat their element `lengths` times, or once."""
    if get_origin(kind) in (Union, UnionType):
        kind = next(arg for arg in get_args(kind) if arg is not type(None))
        if get_origin(kind) is tuple and lengths.keys().isdisjoint({name, *lists_in(kind)}):
            return None  # all there are
    if get_origin(kind) is tuple:
        return (value(name, get_args(kind)[0], lengths),) * lengths.get(name, 1)
    if kind is str:
        return NAMES.get(name, "x")
    if kind is bytes:
        return b""
    if kind is UUID:
        return None
    if isinstance(kind, type) and issubclass(kind, Enum):
        return next(iter(kind))
    if kind in (int, bool, float):
        return kind(NUMBERS.get(name, 0))
    return kind(**filled(kind, lengths))


def filled(shape: type, lengths: dict[str, int]) -> dict[str, Any]:
    hints = get_type_hints(shape)
    return {field.name: value(field.name, hints[field.name], lengths) for field in fields(shape)}


def lists_of(shape: Any) -> Iterator[str]:
    """Return the names of the list fields of a request, at every depth."""
    for name, kind in get_type_hints(shape).items():
        for part in get_args(kind) if get_origin(kind) in (Union, UnionType) else (kind,):
            if get_origin(part) is tuple:
                yield name
                yield from lists_in(part)


def lists_in(kind: Any) -> Iterator[str]:
    if hasattr(get_args(kind)[0], "__dataclass_fields__"):
        yield from lists_of(get_args(kind)[0])


CASES = [
    (api.name, api.max_version, name)
    for api in apis_of(CURRENT)
    if api.name not in STREAMS
    for name in dict.fromkeys(lists_of(message(api.name).request))
]


@pytest.fixture(scope="module")
def busy() -> Broker:
    """Return a broker with a topic of many partitions and a group of many members."""
    broker = Broker(group_initial_rebalance_delay_ms=0)
    client = broker.client()
    given_topic(client, TOPIC, PARTITIONS)
    says(broker, frame("find_coordinator", 4, coordinator_keys=(GROUP,), key_type=0))
    broker.loop.wait(1_000)
    for number in range(MEMBERS):
        answer = says(
            broker,
            frame(
                "consumer_group_heartbeat", 1, group_id=GROUP, member_id=f"member-{number}", member_epoch=0,
                rebalance_timeout_ms=60_000, subscribed_topic_names=(TOPIC,), topic_partitions=(),
            ),
        )  # fmt: skip
        epoch = message("consumer_group_heartbeat").read_response(1, answer)[1].member_epoch
        assert epoch > 0
    topics = to_commit(TOPIC, dict.fromkeys(range(PARTITIONS), 1))
    answer = says(
        broker,
        frame("offset_commit", 9, group_id=GROUP, member_id="member-59", topics=topics,
              generation_id_or_member_epoch=epoch),
    )  # fmt: skip
    assert message("offset_commit").read_response(9, answer)[1].topics[0].partitions[0].error_code is ErrorCode.none
    return broker


@pytest.mark.parametrize(("api", "version", "name"), CASES)
def test_repeated_names_share_memory(api: str, version: int, name: str, busy: Broker) -> None:
    request = filled(message(api).request, {name: TIMES})
    data = frame(api, version, **request)
    once = frame(api, version, **filled(message(api).request, {}))
    for each in (once, data):  # what is loaded, and what is made once
        says(busy, each)
    tracemalloc.start()
    try:
        answer = len(says(busy, data))
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < TIMES * BYTES_EACH + COPIES * answer, f"{(peak - COPIES * answer) / TIMES:,.0f} bytes for each"


def says(broker: Broker, data: bytes) -> bytes:
    """Return the response to this request, or nothing if the client was disconnected."""
    client = broker.client()
    client.says(data)
    for _ in range(100_000):
        if not broker.loop.run_soon():
            break
    responses = client.heard()
    client.connection.connection_lost(None)
    return responses[0] if responses else b""
