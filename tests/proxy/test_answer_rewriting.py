"""Answers that say where brokers are name the proxy's ports, in all versions, however they come in pieces."""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from dataclasses import fields, is_dataclass, replace
from pathlib import Path
from typing import Any

import kio.schema
import pytest

from kohort.protocol.api_keys import API_BY_KEY
from kohort.protocol.wire import INT, SHORT
from kohort.proxy.addressed_apis import ADDRESSED, LEFT_ALONE, entity, known_versions, passable
from kohort.proxy.answer_layout import layout_of
from kohort.proxy.relay import Relay
from kohort.proxy.relay_error import RelayError
from tests.proxy import samples

CASES = [
    (key, version)
    for key, name in ADDRESSED.items()
    for version in known_versions(name)
    if layout_of(key, version) is not None
]


class Here:
    """Where nodes are for clients of the proxy."""

    def __init__(self, host: str = "10.9.8.7") -> None:
        self.host = host
        self.lists: list[set[int]] = []

    def address(self, node_id: int, host: str, port: int) -> tuple[str, int]:
        return self.host, 20_000 + port

    def listed(self, node_ids: set[int]) -> None:
        self.lists.append(node_ids)


def asked(nodes: Here, key: int, version: int, correlation_id: int = 5) -> Relay:
    """Return a relay whose client has sent a request."""
    relay = Relay(nodes)
    relay.requests(request(key, version, correlation_id))
    return relay


def request(key: int, version: int, correlation_id: int) -> bytes:
    """Return the header of a request with an arbitrary body: as Produce it has acks=-1."""
    header = SHORT.pack(key) + SHORT.pack(version) + INT.pack(correlation_id) + b"\x00\x03ada"
    flexible = b"\x00" if version >= API_BY_KEY[key].first_flexible else b""
    body = (b"\x00" if version >= 9 else b"\xff\xff" if version >= 3 else b"") + b"\xff\xff" + bytes(8)
    return INT.pack(len(header + flexible + body)) + header + flexible + body


def heard(relay: Relay, data: bytes, piece: int) -> bytes:
    """Return what the client receives of a response that arrives in pieces of a size."""
    return b"".join(
        bytes(response) for at in range(0, len(data), piece) for response in relay.answers(data[at : at + piece])
    )


def kinds(cls: Any) -> Iterator[Any]:
    """Yield a class and the classes of its fields."""
    yield cls
    for field in fields(cls):
        inner = samples._without_none(field.type)
        for part in (inner, *getattr(inner, "__args__", ())):
            if is_dataclass(part):
                yield from kinds(part)


def test_all_address_fields_are_covered() -> None:
    found: set[str] = set()
    for folder in Path(kio.schema.__file__).parent.iterdir():
        for file in folder.glob("v*/response.py"):
            module = importlib.import_module(f"kio.schema.{folder.name}.{file.parent.name}.response")
            for cls in [var for var in vars(module).values() if hasattr(var, "__type__") and is_dataclass(var)]:
                if any({"host", "port"} & {field.name for field in fields(kind)} for kind in kinds(cls)):
                    found.add(folder.name)
    assert found == set(ADDRESSED.values()) | LEFT_ALONE.keys()


@pytest.mark.parametrize(("key", "version"), CASES)
@pytest.mark.parametrize("piece", [1, 7, 100_000])
def test_addresses_are_replaced_and_nothing_else(key: int, version: int, piece: int) -> None:
    nodes, name = Here(), ADDRESSED[key]
    answer = samples.sample(entity(name, version))
    told = heard(asked(nodes, key, version), samples.frame(answer, 5), piece)
    assert INT.unpack_from(told, 4) == (5,)
    assert samples.read(told, name, version) == samples.moved(answer, nodes.address)
    assert nodes.lists == ([{1}] if name in ("metadata", "describe_cluster") else [])


@pytest.mark.parametrize(("key", "version"), [case for case in CASES if ADDRESSED[case[0]] in ("fetch", "share_fetch")])
@pytest.mark.parametrize("host", ["b", "127.0.0.1", "a-name-that-is-longer-than-that-of-the-cluster"])
@pytest.mark.parametrize("piece", [4_099, 1_000_000])
def test_large_fetch_keeps_its_length(key: int, version: int, host: str, piece: int) -> None:
    nodes, name = Here(host), ADDRESSED[key]
    answer = samples.sample(entity(name, version), records=bytes(range(256)) * 200)
    end = tuple(replace(endpoint, host="kafka-1.example.org") for endpoint in answer.node_endpoints)
    answer = replace(answer, node_endpoints=end)
    data = samples.frame(answer, 5)
    told = heard(asked(nodes, key, version), data, piece)
    assert len(told) == len(data)
    expected = samples.moved(answer, nodes.address)
    if len(host) > len(end[0].host):
        expected = replace(expected, node_endpoints=())  # no space: clients look up the leader
    assert samples.read(told, name, version) == expected


def test_large_response_is_streamed() -> None:
    answer = samples.sample(entity("fetch", 18), records=bytes(1_000_000), tagged=False)
    data = samples.frame(answer, 5)
    relay = asked(Here(), 1, 18)
    sent = 0
    for at in range(0, len(data), 10_000):
        sent += sum(len(response) for response in relay.answers(data[at : at + 10_000]))
        assert min(at + 10_000, len(data)) - sent < 100
    assert sent == len(data)


@pytest.mark.parametrize(("key", "version"), CASES)
def test_cut_response_closes_connection(key: int, version: int) -> None:
    answer = samples.frame(samples.sample(entity(ADDRESSED[key], version)), 5)
    cut = INT.pack(12) + answer[4:16]
    with pytest.raises(RelayError):
        heard(asked(Here(), key, version), cut, 100)


def test_missing_node_address_is_unchanged() -> None:
    answer = replace(samples.sample(entity("find_coordinator", 3)), node_id=-1, host="", port=-1)
    data = samples.frame(answer, 5)
    assert heard(asked(Here(), 10, 3), data, 100) == data


def test_controllers_are_named_as_they_are() -> None:
    answer = replace(samples.sample(entity("describe_cluster", 2)), endpoint_type=2)
    nodes = Here()
    data = samples.frame(answer, 5)
    assert heard(asked(nodes, 60, 2), data, 100) == data
    assert nodes.lists == []


def test_unreadable_response_versions_are_blocked() -> None:
    assert passable(3, 13)
    assert not passable(3, known_versions("metadata")[-1] + 1)
    assert passable(1, 0), "old ones say no address"
    assert not passable(78, 0)
    assert passable(93, 4), "an unknown API"
