"""FindCoordinator (key 10): which node coordinates a group."""

from io import StringIO

import pytest

from kohort.protocol.errors import ErrorCode
from tests.support.broker import Broker, Client


def asked(client: Client, version: int, *keys: str, key_type: int = 0) -> list[tuple[int, str, int, str, str | None]]:
    response = client.asks("find_coordinator", version, coordinator_keys=keys, key_type=key_type)
    return [(c.node_id, c.host, c.port, c.error_code.name, c.error_message) for c in response.coordinators]


def ready(nodes: int = 1, advertise: str = "") -> Broker:
    broker = Broker(nodes, advertise)
    broker.cluster.offsets_topic.create(broker.clock.now_ms())
    return broker


def test_first_request_creates_offsets_topic() -> None:
    broker = Broker()
    client = broker.client()
    none_yet = (-1, "", -1, "coordinator_not_available", "The coordinator is not available.")
    assert asked(client, 3, "g") == [none_yet]
    assert asked(client, 3, "g") == [none_yet]
    assert not broker.cluster.offsets_topic.exists
    broker.loop.wait(5)
    assert asked(client, 3, "g") == [(1, "10.0.0.1", 9092, "none", "NONE")]


def test_too_few_nodes_for_offsets_topic(lines: StringIO) -> None:
    broker = Broker(offsets_topic_replication_factor=3)
    client = broker.client()
    for _ in range(3):
        assert asked(client, 4, "g") == [(-1, "", -1, "coordinator_not_available", "")]
        broker.loop.wait(5)
    assert len(lines.getvalue().splitlines()) == 1


@pytest.mark.parametrize(("version", "message"), [(1, "NONE"), (2, "NONE"), (3, "NONE"), (4, ""), (5, ""), (6, "")])
def test_success_message(version: int, message: str) -> None:
    assert asked(ready().client(), version, "g") == [(1, "10.0.0.1", 9092, "none", message)]


def test_several_groups_keep_their_order() -> None:
    client = ready(3).client()
    keys = ("", "a", "group", "test-group", "a")
    nodes = [node for node, *_ in asked(client, 4, *keys)]
    # Partitions 0, 47, 47, 12, 47 of 50; leaders go round the nodes 1, 2, 3.
    assert nodes == [1, 3, 3, 1, 3]
    assert asked(client, 4) == []


@pytest.mark.parametrize(("version", "key_type", "filled"), [(1, 7, True), (3, -1, True), (4, 7, True), (5, 2, False)])
def test_key_types_that_do_not_exist(version: int, key_type: int, filled: bool) -> None:
    ((node_id, host, port, error, message),) = asked(ready().client(), version, "k", key_type=key_type)
    assert (node_id, host, port, error) == (-1, "", -1, ErrorCode.invalid_request.name)
    assert bool(message) is filled


def test_nobody_coordinates_transactions_yet() -> None:
    assert asked(ready().client(), 4, "t", key_type=1) == [(-1, "", -1, "coordinator_not_available", "")]


def test_everybody_gets_the_address_they_dialled() -> None:
    broker = ready(2)
    assert asked(broker.client(dialled="192.168.1.5"), 4, "")[0][1:3] == ("192.168.1.5", 9092)
    assert asked(broker.client(dialled="::1"), 4, "a")[0][1:3] == ("::1", 9093)
    assert asked(broker.client(dialled="::ffff:10.1.1.1"), 4, "a")[0][1:3] == ("10.1.1.1", 9093)


def test_unless_another_is_advertised() -> None:
    broker = ready(advertise="kohort.example")
    assert asked(broker.client(), 4, "")[0][1:3] == ("kohort.example", 9092)


def test_mapped_ports_per_node() -> None:
    broker = ready(2, advertise="localhost:19092")
    assert asked(broker.client(), 4, "")[0][1:3] == ("localhost", 19_092)
    assert asked(broker.client(), 4, "a")[0][1:3] == ("localhost", 19_093)
    broker = ready(2, advertise="one.example:29092, [::1]:9")
    assert asked(broker.client(), 4, "")[0][1:3] == ("one.example", 29_092)
    assert asked(broker.client(), 4, "a")[0][1:3] == ("::1", 9)
