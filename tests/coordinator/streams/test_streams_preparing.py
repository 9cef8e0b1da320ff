"""Topologies that take their time are worked out ahead of the heartbeat that needs them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from kohort.coordinator.modern.modern_values import Change
from kohort.coordinator.streams.streams_group_records import STREAMS_RECORDS
from kohort.coordinator.streams.streams_group_values import StreamsKind
from kohort.coordinator.streams.streams_preparing import LARGE, large_topology, preparing
from kohort.coordinator.streams.streams_requests import topology_of
from kohort.coordinator.streams.streams_topologies import Prepared
from kohort.coordinator.streams.topology import ConfiguredTopology
from kohort.protocol.errors import ErrorCode as E
from kohort.protocol.messages.streams_group_heartbeat import Subtopology, TopicInfo, Topology
from tests.coordinator.streams.streams_group_world import StreamsGroupWorld, reading


def large(*, broken: bool = False) -> Topology:
    """Return topology and topics of the maximum size for one heartbeat. `broken`: a changelog is listed twice."""
    stores = [()] * (LARGE - 1) + [(TopicInfo(name="store", partitions=0, replication_factor=0, topic_configs=()),)]
    parts = [
        Subtopology(
            subtopology_id=f"{number:03d}", source_topics=("foo",), state_changelog_topics=store * (2 if broken else 1)
        )
        for number, store in enumerate(stores)
    ]
    return Topology(epoch=0, subtopologies=tuple(parts))


def prepared_for(
    world: StreamsGroupWorld, brought: Topology | None, between: Callable[[], None] = lambda: None
) -> tuple[Prepared, int]:
    """Return the result, and how often other work could have run. `between` is called half-way."""
    steps = preparing(world.coordinator, "g", None if brought is None else topology_of(brought))
    times = 0
    while True:
        try:
            next(steps)
        except StopIteration as end:
            return end.value, times
        times += 1
        if times == LARGE:
            between()


def test_heartbeat_uses_prepared_topology() -> None:
    world = StreamsGroupWorld(foo=2)
    ada = world.member("ada", topology=large())
    prepared, times = prepared_for(world, ada.topology)
    assert times > LARGE
    ada.joins(prepared=prepared)
    assert world.streams_group.configured is None, "the join that creates a group leaves nothing in memory"
    assert isinstance(prepared.outcome, ConfiguredTopology)
    assert [item.name for item in prepared.outcome.missing_internal] == ["store"]
    prepared, _ = prepared_for(world, None)
    ada.beats(prepared=prepared)
    assert world.streams_group.configured is prepared.outcome
    assert len(ada.active) == LARGE


def test_large_record_is_encoded_early() -> None:
    world, other = StreamsGroupWorld(foo=2), StreamsGroupWorld(foo=2)
    prepared, _ = prepared_for(world, large())
    topology = topology_of(large())
    assert prepared.encoded == STREAMS_RECORDS.value_of(Change(StreamsKind.TOPOLOGY, None, topology))
    world.member("ada", topology=large()).joins(prepared=prepared)
    other.member("ada", topology=large()).joins()
    assert world.log == other.log
    assert world.streams_group.encoded_topology is None


@pytest.mark.parametrize("changed", [False, True], ids=["equal", "another store"])
def test_large_topology_is_compared_early(changed: bool) -> None:
    world = StreamsGroupWorld(foo=2)
    world.rests(world.member("ada", topology=large()))
    brought = large()
    if changed:
        brought = replace(brought, subtopologies=(*brought.subtopologies[1:], brought.subtopologies[1]))
    else:
        brought = replace(brought, subtopologies=tuple(reversed(brought.subtopologies)))
    prepared, _ = prepared_for(world, brought)
    assert prepared.encoded is None
    assert (prepared.equal_to is world.streams_group.topology) is not changed
    heard = world.member("bob", topology=brought).joins(prepared=prepared).heard
    assert heard.error_code is (E.unknown_server_error if changed else E.none)


def test_known_topology_is_not_prepared() -> None:
    world = StreamsGroupWorld(foo=2)
    ada = world.member("ada", topology=large())
    world.rests(ada)
    assert large_topology(world.coordinator, "g", topology_of(ada.topology)) is None
    world.topics.create("foo", 3)
    assert large_topology(world.coordinator, "g", None) is world.streams_group.topology
    world.rests(ada)
    assert large_topology(world.coordinator, "g", None) is None


def test_small_topology_is_not_prepared() -> None:
    world = StreamsGroupWorld(foo=2)
    prepared, times = prepared_for(world, reading("foo"))
    assert times == 0
    assert prepared == Prepared(topology_of(reading("foo")))
    world.member("ada").joins(prepared=prepared)
    assert world.streams_group.target_of("ada-id").active == {"0": {0, 1}}


def test_changed_topics_are_checked_again() -> None:
    world = StreamsGroupWorld(foo=2, store=2)
    ada = world.member("ada", topology=large())
    world.rests(ada)
    world.topics.create("foo", 1)
    world.topics.create("store", 1)

    def grow() -> None:
        world.topics.create("foo", 3)
        world.topics.create("store", 3)

    prepared, _ = prepared_for(world, None, grow)
    ada.beats(prepared=prepared)
    world.rests(ada)
    assert world.streams_group.configured is not prepared.outcome
    assert ada.active["000"] == {0, 1, 2}


@pytest.mark.parametrize("is_prepared", [True, False])
def test_invalid_topology_is_rejected(is_prepared: bool) -> None:
    world = StreamsGroupWorld(foo=2)
    ada = world.member("ada", topology=large(broken=True))
    prepared = prepared_for(world, ada.topology)[0] if is_prepared else Prepared()
    assert ada.joins(prepared=prepared).heard.error_code is E.unknown_server_error
    assert world.coordinator.of_type("streams") == []


def test_newer_topology_wins() -> None:
    world = StreamsGroupWorld(foo=2, bar=1)
    ada, bob = world.member("ada", topology=large()), world.member("bob", topology=reading("bar"))
    prepared, _ = prepared_for(world, ada.topology)
    world.rests(bob)
    assert ada.joins(prepared=prepared).heard.error_code is E.invalid_request
    assert bob.active == {"0": {0}}
