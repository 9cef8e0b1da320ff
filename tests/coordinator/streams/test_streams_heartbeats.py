"""Streams groups with failing writes, late members, and moving coordinators."""

from __future__ import annotations

from typing import Any

import pytest

from kohort.coordinator.groups.deleting import delete_group
from kohort.coordinator.offsets.committing_in_transactions import Committer, PendingCommit, check_committer
from kohort.coordinator.streams.streams_states import StreamsGroupState
from kohort.coordinator.streams.streams_values import StatusCode
from kohort.protocol.errors import ErrorCode as E
from kohort.protocol.messages.streams_group_heartbeat import Endpoint, KeyValue, Subtopology, TaskIds, Topology
from tests.coordinator.streams.streams_group_world import StreamsGroupWorld, reading

STABLE, EMPTY = StreamsGroupState.STABLE, StreamsGroupState.EMPTY


def test_tasks_move_only_after_revocation() -> None:
    world = StreamsGroupWorld(foo=4)
    ada, bob = world.member("ada"), world.member("bob")
    world.rests(ada)
    assert ada.active == {"0": {0, 1, 2, 3}}
    bob.joins()
    assert (bob.epoch, bob.active) == (3, {})
    ada.beats(active_tasks=None, standby_tasks=None, warmup_tasks=None)
    assert (ada.epoch, ada.active) == (2, {"0": {0, 1}})
    bob.acts()
    assert bob.active == {}, "the other tasks are not revoked yet"
    ada.acts()
    bob.acts()
    assert (ada.epoch, bob.active) == (3, {"0": {2, 3}})
    assert world.streams_group.state is STABLE


def test_rebalance_timeout_removes_member() -> None:
    world = StreamsGroupWorld(foo=2)
    ada, bob = world.member("ada"), world.member("bob")
    world.rests(ada)
    bob.joins()
    ada.beats()
    for _ in range(5):
        ada.beats(active_tasks=(TaskIds(subtopology_id="0", partitions=(0, 1)),))
        world.after(999)
    bob.acts()
    assert list(world.streams_group.members) == ["ada-id", "bob-id"]
    world.after(10)
    assert list(world.streams_group.members) == ["bob-id"]
    assert ada.beats().error is E.unknown_member_id


def test_failed_write_is_rolled_back() -> None:
    world = StreamsGroupWorld(foo=2)
    ada, bob = world.member("ada"), world.member("bob")
    world.failing = E.not_enough_replicas
    assert ada.joins().error is E.coordinator_not_available
    assert not world.coordinator.of_type("streams")
    world.failing = E.none
    world.rests(ada)
    world.failing = E.not_enough_replicas
    assert bob.joins().error is E.coordinator_not_available
    assert ada.leaves().error is E.coordinator_not_available
    assert list(world.streams_group.members) == ["ada-id"]
    world.failing = E.none
    assert ada.beats(member_epoch=2).heard.member_epoch == 2
    world.after(10_000)
    assert world.streams_group.state is EMPTY, "its session had begun again"


def test_failed_expiration_write_is_retried() -> None:
    world = StreamsGroupWorld(foo=1)
    ada = world.member("ada")
    world.rests(ada)
    world.failing = E.not_enough_replicas
    world.after(10_000)
    assert list(world.streams_group.members) == ["ada-id"]
    world.failing = E.none
    world.after(600)
    assert world.streams_group.state is EMPTY


def test_new_coordinator_loses_only_memory_state() -> None:
    world = StreamsGroupWorld(foo=2)
    ada = world.member("ada", topology=reading("foo", stores=["s"]))
    bob = world.member("bob", topology=ada.topology)
    world.rests(ada, bob)
    ada.beats(shutdown_application=True)
    assert ada.statuses == [StatusCode.SHUTDOWN_APPLICATION]
    before = world.streams_group
    world.restart()
    group = world.streams_group
    assert group is not before
    assert (group.topology, group.epoch, group.targets) == (before.topology, before.epoch, before.targets)
    assert (group.described, group.shutdown_requested_by) == (None, None)
    ada.acts()
    assert (ada.statuses, group.described) == ([], None), "that wrote nothing, so it shows nothing, as in Kafka"
    world.after(10_000)
    assert world.streams_group.state is EMPTY, "every member had a whole session"


def test_creating_join_leaves_no_memory() -> None:
    world = StreamsGroupWorld(foo=2)
    ada = world.member("ada")
    heard = ada.joins(shutdown_application=True, user_endpoint=Endpoint(host="h", port=1)).heard
    assert ada.statuses == [StatusCode.SHUTDOWN_APPLICATION]
    assert heard.endpoint_information_epoch == 0
    assert [item.user_endpoint.host for item in heard.partitions_by_user_endpoint] == ["h"]
    group = world.streams_group
    assert (group.configured, group.endpoint_epoch, group.shutdown_requested_by) == (None, 0, None)


def test_initial_delay_ends_without_heartbeat() -> None:
    world = StreamsGroupWorld(delay_ms=3_000, foo=2)
    ada, bob = world.member("ada"), world.member("bob")
    ada.joins()
    world.after(1_000)
    bob.joins()
    assert (ada.epoch, ada.statuses, bob.active) == (1, [StatusCode.ASSIGNMENT_DELAYED], {})
    world.after(1_999)
    assert world.streams_group.target_epoch == 1
    world.after(1)
    assert world.streams_group.target_epoch == 3
    world.rests(ada, bob)
    assert [len(item.active["0"]) for item in (ada, bob)] == [1, 1]


def test_deletion_cancels_initial_delay() -> None:
    world = StreamsGroupWorld(delay_ms=3_000, foo=2)
    ada = world.member("ada")
    ada.joins()
    ada.beats()
    ada.leaves()
    heard: list[E] = []
    delete_group(world.coordinator, "g", world.now_ms, lambda error, _: heard.append(error))
    world.settle()
    assert heard == [E.none]
    assert not world.coordinator.of_type("streams")
    assert len(world.purgatory) == 0, "nothing waits for a group that is gone"


def test_created_internal_topics_get_tasks() -> None:
    world = StreamsGroupWorld(foo=3)
    ada = world.member("ada", topology=reading("foo", stores=["s"]))
    world.makes_topics = False
    heard = ada.joins().heard
    assert [status.status_detail for status in heard.status] == ["Internal topics are missing: s; Creation failed."]
    assert world.streams_group.state is StreamsGroupState.NOT_READY
    world.makes_topics = True
    ada.acts()
    ada.acts()
    assert (ada.epoch, ada.active, ada.statuses) == (3, {"0": {0, 1, 2}}, [])
    topic = world.topics.by_name("s")
    assert topic is not None
    assert topic.partitions == 3


def test_deleted_topic_removes_tasks() -> None:
    world = StreamsGroupWorld(foo=2)
    ada = world.member("ada")
    world.rests(ada)
    world.topics.delete("foo")
    ada.acts()
    assert (ada.epoch, ada.active, ada.statuses) == (2, {}, [StatusCode.MISSING_SOURCE_TOPICS])
    ada.acts()
    assert ada.epoch == 3
    world.topics.create("foo", 1)
    world.rests(ada)
    assert (ada.epoch, ada.active) == (4, {"0": {0}})


def test_copies_are_kept_by_other_processes() -> None:
    world = StreamsGroupWorld(foo=2)
    world.config = world.config._replace(num_standby_replicas=1)
    topology = reading("foo", stores=["s"])
    ada = world.member("ada", topology=topology, process_id="p")
    bob = world.member("bob", topology=topology, process_id="p")
    cem = world.member("cem", topology=topology, process_id="q")
    world.rests(ada, bob)
    assert (ada.standby, bob.standby) == ({}, {}), "one process keeps no copies of its own tasks"
    world.rests(ada, bob, cem)
    active = {(name, item) for member in (ada, bob, cem) for name in member.active for item in member.active[name]}
    copies = [(member.process_id, item) for member in (ada, bob, cem) for item in member.standby.get("0", set())]
    assert active == {("0", 0), ("0", 1)}
    owners = {item: member.process_id for member in (ada, bob, cem) for item in member.active.get("0", set())}
    assert sorted(each for _, each in copies) == [0, 1]
    assert all(owners[each] != process_id for process_id, each in copies)


def test_unknown_member_may_shut_down_application() -> None:
    world = StreamsGroupWorld(foo=1)
    ada, bob = world.member("ada"), world.member("bob")
    world.rests(ada)
    assert bob.leaves(shutdown_application=True).error is E.unknown_member_id
    ada.acts()
    assert ada.statuses == [StatusCode.SHUTDOWN_APPLICATION]


def test_endpoints_before_ready_topology() -> None:
    world = StreamsGroupWorld()
    ada = world.member("ada")
    assert ada.joins(user_endpoint=Endpoint(host="h", port=1)).error is E.unknown_server_error
    assert not world.coordinator.of_type("streams")
    world.topics.create("foo", 2)
    ada.joins(user_endpoint=Endpoint(host="h", port=1))
    ada.acts()
    world.topics.delete("foo")
    assert ada.beats().error is E.unknown_server_error
    assert (world.streams_group.endpoint_epoch, world.streams_group.epoch) == (1, 2)


@pytest.mark.parametrize(
    "changes",
    [
        {"client_tags": (KeyValue(key="a", value="b"), KeyValue(key="a", value="c"))},
        {"member_id": "m" * 32_768},
        {"topology": reading("foo", epoch=-1)},
        {"topology": Topology(epoch=0, subtopologies=(Subtopology(subtopology_id="0", source_topics=("foo",)),) * 2)},
    ],
)
def test_unexpected_topology_creates_no_group(changes: dict[str, Any]) -> None:
    world = StreamsGroupWorld(foo=1)
    assert world.member("ada").joins(**changes).error is E.unknown_server_error
    assert not world.coordinator.of_type("streams")
    assert len(world.purgatory) == 0


def test_previous_epoch_commits_kept_tasks() -> None:
    world = StreamsGroupWorld(foo=2)
    ada, bob = world.member("ada"), world.member("bob")
    world.rests(ada)
    world.rests(ada, bob)
    kept = next(iter(ada.active["0"]))

    def commits(epoch: int, partition: int, topic: str = "foo") -> E:
        committer = Committer(1, 0, "g", epoch, "ada-id", None)
        return check_committer(world.coordinator, committer, [PendingCommit(topic, None, partition, 5, -1, "")])

    assert commits(3, 1 - kept) is E.none, "with its epoch it may commit anything"
    assert commits(2, kept) is E.none
    assert commits(2, 1 - kept) is E.stale_member_epoch
    assert commits(1, kept) is E.stale_member_epoch
    assert commits(4, kept) is E.stale_member_epoch
    assert commits(2, kept, "other") is E.stale_member_epoch
    nobody = Committer(1, 0, "g", -1, "", None)
    assert check_committer(world.coordinator, nobody) is E.none


def test_failed_conversion_restores_streams_group() -> None:
    world = StreamsGroupWorld(foo=1)
    ada = world.member("ada")
    world.rests(ada)
    assert world.speaker("bob").joins().error is E.inconsistent_group_protocol
    ada.leaves()
    world.failing = E.not_enough_replicas
    world.speaker("bob").joins()
    world.settle()
    assert [group.group_id for group in world.coordinator.of_type("streams")] == ["g"]
    assert world.streams_group.topology is not None
    world.failing = E.none
    assert world.speaker("bob").joins().error is E.member_id_required
    assert not world.coordinator.of_type("streams")
    assert "g" in world.coordinator.groups


def test_large_target_does_not_block_heartbeats() -> None:
    world = StreamsGroupWorld(foo=20_000)
    ada = world.member("ada")
    ada.joins()
    assert ada.active == {}
    ada.acts()
    while (preparation := world.streams_group.preparation) is not None and preparation.targets is None:
        world.after(1)
    ada.acts()
    assert len(ada.active["0"]) == 20_000
