"""Coordinators that move: zombies that keep answering, and loads that are held at their end."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import pytest

from kohort.broker.cluster.moving import stop_node
from kohort.control.control_errors import ControlError, NotFoundError
from kohort.control.groups.lab_group import Group
from tests.control.talking import Lab

SHARED = """
    given topic $topic
    ada connects to the coordinator of $group
    bob connects to the coordinator of $group
    given ada, bob share a stable group {session_timeout_ms: 10000}
    """


@pytest.fixture
def lab() -> Iterator[Lab]:
    """Three brokers."""
    made = Lab("three-brokers")
    made.laboratory.record()
    yield made
    made.stage.close()


def group_of(lab: Lab) -> Group:
    return Group(lab.laboratory, lab.name("group"))


# Zombies


def test_zombie_writes_are_fenced(lab: Lab) -> None:
    lab.talk(SHARED)
    rule = lab.faults.zombie(group=lab.name("group"))
    lab.talk("""
        broker 1 leads __consumer_offsets partition $group_partition
        ada Heartbeat v4 {generation_id: 2}
          <- NONE
        ada OffsetCommit v9 {generation_id: 2, offsets: {$topic: {0: 6}}}
          <- {topics: [{name: $topic, partitions: [{partition_index: 0, error_code: NOT_COORDINATOR}]}]}
        eve connects to broker 1
        eve OffsetFetch v7 {offsets: {$topic: [0]}}
          <- NONE {topics: [{name: $topic, partitions: [{partition_index: 0, committed_offset: -1}]}]}
        bob connects to broker 1
        bob Heartbeat v4 {generation_id: 2}
          <- NONE
        """)
    assert (rule.acted, len(list(lab.laboratory.zombies)), group_of(lab).coordinator) == (1, 1, 1)


def test_zombie_join_never_gets_assignment(lab: Lab) -> None:
    lab.talk(SHARED)
    before = len(group_of(lab).history)
    lab.faults.zombie(group=lab.name("group"))
    lab.talk("""
        eve connects to the coordinator of $group
        broker 1 leads __consumer_offsets partition $group_partition
        eve joins
          <- nothing for 150 ms
        ada JoinGroup v9
        bob JoinGroup v9
        ada <- NONE {generation_id: 3, leader: $ada, members: [...]}
        bob <- NONE {generation_id: 3, members: []}
        eve <- NONE {generation_id: 3, members: []}
        ada SyncGroup v5 {generation_id: 3, assignments: {$ada: x, $bob: y, $eve: z}}
          <- NOT_COORDINATOR {protocol_type: null, protocol_name: null, assignment: ""}
        """)
    group = group_of(lab)
    assert (group.generation, [member.client_id for member in group.members]) == (2, ["ada", "bob"])
    assert len(group.history) == before, "a zombie's rebalance does not count for the group"
    assert "reported by zombie node" in group.timeline()


def test_zombie_names_itself_as_coordinator(lab: Lab) -> None:
    lab.talk(SHARED)
    old = group_of(lab).coordinator
    with lab.faults.zombie(group=lab.name("group")):
        lab.talk(f"""
            broker 1 leads __consumer_offsets partition $group_partition
            ada FindCoordinator v4 {{key_type: 0, coordinator_keys: [$group]}}
              <- {{coordinators: [{{key: $group, node_id: {old}, error_code: NONE}}]}}
            eve connects to broker 1
            eve FindCoordinator v4 {{key_type: 0, coordinator_keys: [$group]}}
              <- {{coordinators: [{{key: $group, node_id: 1, error_code: NONE}}]}}
            """)
    lab.talk("""
        ada FindCoordinator v4 {key_type: 0, coordinator_keys: [$group]}
          <- {coordinators: [{key: $group, node_id: 1, error_code: NONE}]}
        ada Heartbeat v4 {generation_id: 2}
          <- NOT_COORDINATOR
        """)
    assert not lab.laboratory.zombies


def test_rule_end_redirects_zombie_members(lab: Lab) -> None:
    lab.talk(SHARED)
    rule = lab.faults.zombie(group=lab.name("group"))
    lab.talk("""
        eve connects to the coordinator of $group
        broker 1 leads __consumer_offsets partition $group_partition
        eve joins
          <- nothing for 150 ms
        """)
    rule.remove()
    lab.talk("eve <- NOT_COORDINATOR {}")
    assert not lab.laboratory.zombies


def test_zombie_heartbeats_do_not_keep_member(lab: Lab) -> None:
    lab.talk(SHARED)
    lab.faults.zombie(group=lab.name("group"))
    lab.talk("""
        broker 1 leads __consumer_offsets partition $group_partition
        bob connects to broker 1
        bob Heartbeat v4 {generation_id: 2}
          <- NONE
        ada Heartbeat v4 {generation_id: 2}
          <- NONE
        """)
    group = group_of(lab)
    assert [member.is_alive for member in group.members] == [False, True]
    lab.laboratory.advance(10_500)
    assert [member.client_id for member in group.members] == ["bob"]
    lab.talk("""
        ada Heartbeat v4 {generation_id: 2}
          <- REBALANCE_IN_PROGRESS
        """)  # to the zombie it is bob that has fallen silent


def test_reelected_zombie_is_leader_again(lab: Lab) -> None:
    lab.talk(SHARED)
    old = group_of(lab).coordinator
    lab.faults.zombie(group=lab.name("group"), node=old)
    lab.talk(f"""
        broker 1 leads __consumer_offsets partition $group_partition
        broker {old} leads __consumer_offsets partition $group_partition
        ada OffsetCommit v9 {{generation_id: 2, offsets: {{$topic: {{0: 6}}}}}}
          <- {{topics: [{{name: $topic, partitions: [{{partition_index: 0, error_code: NONE}}]}}]}}
        """)
    assert not lab.laboratory.zombies
    assert group_of(lab).offsets == {(lab.name("topic"), 0): 6}


def test_stopped_node_leaves_no_zombie(lab: Lab) -> None:
    lab.talk(SHARED)
    lab.faults.zombie(group=lab.name("group"))
    group = group_of(lab)
    node = lab.laboratory.cluster.node(group.coordinator or 0)
    assert node is not None
    lab.stage.server.act(partial(stop_node, lab.laboratory.cluster, node))
    lab.talk("wait 10 ms")
    assert not lab.laboratory.zombies
    assert group.state == "Stable"


def test_other_groups_move_as_they_should(lab: Lab) -> None:
    lab.talk(SHARED)
    rule = lab.faults.zombie(group="another-*")
    lab.talk("""
        broker 1 leads __consumer_offsets partition $group_partition
        ada Heartbeat v4 {generation_id: 2}
          <- NOT_COORDINATOR
        """)
    assert rule.acted == 0


def test_zombie_is_selected_by_group(lab: Lab) -> None:
    with pytest.raises(ControlError, match="a zombie is selected by group and node; client_id is not supported"):
        lab.faults.on(client_id="ada").zombie()


# Loads


def test_load_is_held_before_completion(lab: Lab) -> None:
    lab.talk(SHARED)
    gate = lab.gates.hold("offsets-loaded", group=lab.name("group"))
    lab.talk("""
        broker 1 leads __consumer_offsets partition $group_partition
        ada connects to broker 1
        ada OffsetFetch v7 {offsets: {$topic: [0]}}
          <- COORDINATOR_LOAD_IN_PROGRESS {topics: [...]}
        ada Heartbeat v4 {generation_id: 2}
          <- NONE
        ada JoinGroup v9
          <- COORDINATOR_LOAD_IN_PROGRESS {}
        """)
    assert group_of(lab).state == "Unknown", "not Dead: it is only not known yet"
    (held,) = gate.held
    assert str(held) == f"the load of __consumer_offsets-{lab.name('group_partition')} at node 1"
    gate.release_all()
    lab.talk("""
        ada OffsetFetch v7 {offsets: {$topic: [0]}}
          <- NONE {topics: [...]}
        ada Heartbeat v4 {generation_id: 2}
          <- NONE
        """)
    assert gate.held == []
    gate.open()
    assert list(lab.gates) == []


def test_load_is_released_by_partition(lab: Lab) -> None:
    lab.talk(SHARED)
    gate = lab.gates.hold("offsets-loaded")
    lab.talk("broker 1 leads __consumer_offsets partition $group_partition")
    lab.settle()
    with pytest.raises(NotFoundError, match="ada is not waiting at offsets-loaded; waiting: the load of __consumer"):
        gate.release("ada")
    gate.release(f"__consumer_offsets-{lab.name('group_partition')}")
    assert group_of(lab).state == "Stable"


def test_unrelated_load_passes(lab: Lab) -> None:
    lab.talk(SHARED)
    elsewhere = next(
        name
        for name in map(str, range(100))
        if lab.laboratory.cluster.nodes[0].coordinator.partition_of(name) != int(lab.name("group_partition"))
    )
    gate = lab.gates.hold("offsets-loaded", group=elsewhere)
    lab.talk("broker 1 leads __consumer_offsets partition $group_partition")
    lab.talk("wait 10 ms")
    assert (gate.held, group_of(lab).state) == ([], "Stable")


def test_held_load_ends_when_partition_moves(lab: Lab) -> None:
    lab.talk(SHARED)
    gate = lab.gates.hold("offsets-loaded", group=lab.name("group"))
    lab.talk("broker 1 leads __consumer_offsets partition $group_partition")
    lab.talk("wait 10 ms")
    lab.talk("broker 2 leads __consumer_offsets partition $group_partition")
    lab.talk("wait 10 ms")
    assert [str(entry) for entry in gate.held] == [
        f"the load of __consumer_offsets-{lab.name('group_partition')} at node 2"
    ]
    assert gate.open() == 1
    assert group_of(lab).state == "Stable"


def test_held_load_does_not_block_others(lab: Lab) -> None:
    lab.talk(SHARED)
    lab.talk("""
        dan connects to the coordinator of $group2
        dan joins {group_id: $group2}
          <- NONE {generation_id: 1}
        dan SyncGroup v5 {group_id: $group2, generation_id: 1, assignments: {$dan: x}}
          <- NONE {assignment: x}
        """)
    gate = lab.gates.hold("offsets-loaded", group=lab.name("group"))
    lab.talk("""
        broker 1 leads __consumer_offsets partition $group_partition
        broker 1 leads __consumer_offsets partition $group2_partition
        """)
    lab.talk("wait 20 ms")
    assert len(gate.held) == 1
    assert Group(lab.laboratory, lab.name("group2")).state == "Stable"
