"""Streams groups in tests: owners of tasks, requirements of the topology, tasks that wait for members."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

import pytest

from kohort.control.clock.jump import jump
from kohort.control.control_errors import ControlError
from kohort.control.groups.groups_by_id import group_of
from kohort.control.groups.lab_group import Group
from kohort.control.groups.lab_share_group import ShareGroup
from kohort.control.groups.lab_streams_group import StreamsGroup
from kohort.groups.group_members import MemberTasks
from kohort.groups.settings_advice import HABIT
from tests.control.talking import Lab

ALONE = """
given topic $topic with 4 partitions
ada streams-beats {topology: {0: {reads: [$topic]}}}
  <- NONE {member_epoch: 2, active_tasks: {0: [0, 1, 2, 3]}}
"""
BOB_JOINS = """
bob streams-beats
  <- NONE {member_epoch: 3, active_tasks: {}}
"""


class StreamsLab(Lab):
    """One broker, which gives tasks at once."""

    def __init__(self, profile: str = "streams") -> None:
        super().__init__(profile)
        self.laboratory.record()

    @property
    def words(self) -> StreamsGroup:
        """The group `$group`."""
        return StreamsGroup(self.laboratory, self.name("group"))

    @property
    def explained(self) -> str:
        return str(self.words.explain())

    @property
    def has(self) -> dict[str, str]:
        """Tasks by client id."""
        return {member.client_id: str(member.tasks) for member in self.words.members}


@pytest.fixture
def streams() -> Iterator[StreamsLab]:
    made = StreamsLab()
    yield made
    made.stage.close()


@pytest.fixture
def two(streams: StreamsLab) -> StreamsLab:
    """Ada with all four tasks, two of which must be revoked for bob."""
    streams.talk(ALONE + BOB_JOINS)
    streams.talk("""
        ada streams-beats {owns: {0: [0, 1, 2, 3]}}
          <- NONE {member_epoch: 2, active_tasks: {0: [0, 1]}}
        """)
    return streams


def test_members_and_their_tasks(streams: StreamsLab) -> None:
    streams.talk(ALONE)
    group, topic = streams.words, streams.name("topic")
    (ada,) = group.members
    assert (ada.client_id, ada.speaks, ada.epoch, ada.process_id) == ("ada", "streams", 2, "ada-process")
    assert (ada.topology_epoch, ada.state, ada.waits_for) == (0, "Stable", "")
    assert ada.tasks == ada.target_tasks == MemberTasks(("0_0", "0_1", "0_2", "0_3"))
    assert (ada.partitions, ada.topics) == ({topic: (0, 1, 2, 3)}, (topic,))
    assert (group.type, group.state, group.protocol, group.generation) == ("streams", "Stable", "sticky", 2)
    assert set(group.owners.values()) == {ada.member_id}
    assert group.member("ada") == ada
    assert ada.is_alive
    streams.talk("ada disconnects")
    assert not group.member("ada").is_alive


def test_revocation_precedes_task_assignment(two: StreamsLab) -> None:
    ada, bob = two.words.members
    assert (ada.pending, bob.target_tasks) == (MemberTasks(("0_2", "0_3")), MemberTasks(("0_2", "0_3")))
    assert (str(bob.tasks), bob.waits_for, ada.state) == ("nothing", "tasks", "UnrevokedTasks")
    assert two.words.state == "Reconciling"
    explained = two.explained
    assert "waits for ada to revoke active 0_2 0_3, which bob is to get; in 29.999 s: it is removed" in explained
    assert "task 0_2 waits, as bob's active task: ada still has it" in explained
    assert "bob: has nothing; waits for 0_2 0_3" in explained
    two.talk("""
        ada streams-beats {owns: {0: [0, 1]}}
          <- NONE {member_epoch: 3}
        """)
    assert "bob to send a heartbeat, which assigns it what other members have revoked" in two.explained
    two.talk("""
        bob streams-beats {owns: {}}
          <- NONE {member_epoch: 3, active_tasks: {0: [2, 3]}}
        """)
    assert two.has == {"ada": "active 0_0 0_1", "bob": "active 0_2 0_3"}
    assert "waits for nothing" in two.explained
    assert two.words.is_settled


STATIC_MEMBER_LEAVES = """
given topic $topic with 4 partitions
ada streams-beats {instance: i1, topology: {0: {reads: [$topic]}}}
  <- NONE {member_epoch: 2, active_tasks: {0: [0, 1, 2, 3]}}
ada streams-beats {instance: i1, epoch: -2}
  <- NONE {member_epoch: -2, active_tasks: null}
"""


def test_static_member_with_temporary_leave(streams: StreamsLab) -> None:
    streams.talk(STATIC_MEMBER_LEAVES)
    (ada,) = streams.words.members
    assert (ada.instance_id, ada.epoch, ada.is_away, ada.is_alive) == ("i1", -2, True, False)
    assert streams.words.member("i1") == ada
    assert str(ada.tasks) == "active 0_0 0_1 0_2 0_3"
    (*_, wait) = streams.words.explain().waits
    assert wait.for_whom == ("i1",)
    assert wait.what.startswith("to rejoin: it left temporarily with")
    assert "it left temporarily, and should rejoin with its group.instance.id" in streams.explained
    streams.talk("""
        cleo streams-beats {instance: i1, process: ada-process}
          <- NONE {member_epoch: 2, active_tasks: {0: [0, 1, 2, 3]}}
        """)
    (cleo,) = streams.words.members
    assert (cleo.client_id, cleo.instance_id, cleo.epoch, cleo.is_alive) == ("cleo", "i1", 2, True)
    assert streams.words.explain().waits == ()
    kinds = [event.kind for event in streams.words.events]
    assert kinds[kinds.index("member_stepped_out") :] == ["member_stepped_out", "member_replaced"]
    assert len(streams.words.history) == 1


async def test_jump_expires_absent_static_member(streams: StreamsLab) -> None:
    """The connection of the member is still open."""
    streams.talk(STATIC_MEMBER_LEAVES)
    assert await jump(streams.laboratory, 45_001, patience_s=0.1) == []
    assert not streams.words.members
    removed = next(event for event in streams.words.events if event.kind == "member_removed")
    assert (removed.cause, removed.instance_id) == ("session_expired", "i1")


def test_advice_about_instance_ids(streams: StreamsLab) -> None:
    streams.talk("given topic $topic with 2 partitions")
    for number in range(HABIT + 1):
        streams.talk(f"""
            ada streams-beats {{member_id: id{number}, epoch: 0, topology: {{0: {{reads: [$topic]}}}}}}
              <- NONE {{member_id: _}}
            """)
        if number < HABIT:
            streams.talk(f"""
                ada streams-beats {{member_id: id{number}, epoch: -1}}
                  <- NONE {{member_id: _, task_offset_interval_ms: _}}
                """)
    assert "with a group.instance.id a restart within its session moves nothing" in streams.explained


def test_rebalances_and_their_events(two: StreamsLab) -> None:
    assert [rebalance.outcome for rebalance in two.words.history] == ["completed", "open"]
    assert (two.words.history[1].group_type, two.words.history[1].moved) == ("streams", 2)
    revoking = next(event for event in two.words.events if event.kind == "member_revoking")
    assert (revoking.client_id, revoking.detail) == ("ada", {"active": "0_2 0_3"})
    assert "member revoking ada active 0_2 0_3 generation 3" in two.words.timeline()


def test_missing_source_topic(streams: StreamsLab) -> None:
    streams.talk("""
        ada streams-beats {topology: {0: {reads: [$topic]}}}
          <- NONE {member_epoch: 2, status: _, active_tasks: {}}
        ada streams-beats {owns: {}}
          <- NONE {status: _}
        """)
    group, topic = streams.words, streams.name("topic")
    assert group.state == "NotReady"
    assert list(group.status) == ["MISSING_SOURCE_TOPICS"]
    assert topic in group.status["MISSING_SOURCE_TOPICS"]
    assert group.topology is not None
    assert (group.topology.is_ready, group.topology.subtopologies[0].tasks) == (False, None)
    assert f"topics (MISSING_SOURCE_TOPICS): {group.status['MISSING_SOURCE_TOPICS']}" in streams.explained
    streams.talk("""
        given topic $topic with 2 partitions
        ada streams-beats {owns: {}}
          <- eventually NONE {active_tasks: {0: [0, 1]}}
        """)
    assert (group.status, group.topology and group.topology.tasks) == ({}, 2)


def test_group_awaiting_more_members() -> None:
    lab = StreamsLab("streams-initial-delay")
    lab.talk("""
        given topic $topic with 2 partitions
        ada streams-beats {topology: {0: {reads: [$topic]}}}
          <- NONE {member_epoch: 1, status: _, active_tasks: {}}
        ada streams-beats {owns: {}}
          <- NONE {status: _}
        """)
    assert list(lab.words.status) == ["ASSIGNMENT_DELAYED"]
    assert "waits for more members (group.streams.initial.rebalance.delay.ms); in 0.998 s" in lab.explained
    lab.talk("wait 1000 ms")
    assert "ada to send a heartbeat, which moves it from epoch 1 to 2" in lab.explained
    lab.stage.close()


def test_standby_tasks_and_missing_process(streams: StreamsLab) -> None:
    streams.talk("""
        given topic $topic with 2 partitions
        zoe IncrementalAlterConfigs v1 {configs: {streams.num.standby.replicas: 1}}
          <- {responses: [{error_code: NONE}]}
        wait 500 ms
        given ada shares a streams group {topology: {0: {reads: [$topic], stores: [$topicstore]}}}
        """)
    streams.talk("""
        ada streams-beats {owns: {0: [0, 1]}}
          <- NONE
        """)
    assert "badly set: streams.num.standby.replicas is 1, and there is only 1 process" in streams.explained
    streams.talk("""
        bob streams-beats
          <- NONE {standby_tasks: {0: [0]}}
        ada streams-beats {owns: {0: [0, 1]}}
          <- NONE {active_tasks: {0: [0]}, standby_tasks: {0: [1]}}
        """)
    assert streams.has == {"ada": "active 0_0; standby 0_1", "bob": "standby 0_0"}
    assert sorted(streams.words.standbys) == ["0_0", "0_1"]
    ada = streams.words.member("ada")
    assert (ada.pending, ada.target_tasks) == (MemberTasks(("0_1",)), MemberTasks(("0_0",), ("0_1",)))
    assert "task 0_1 waits, as bob's active task: ada still has it" in streams.explained
    assert "badly set" not in streams.explained


def test_wrong_group_type_is_rejected(streams: StreamsLab) -> None:
    streams.talk(ALONE)
    name = streams.words.id
    with pytest.raises(ControlError, match=f"is a streams group; use streams_group\\('{name}'\\)"):
        _ = Group(streams.laboratory, name).members
    with pytest.raises(ControlError, match="is not a share group"):
        _ = ShareGroup(streams.laboratory, name).members
    streams.talk("""
        bob share-beats {group_id: $group2, topics: [$topic]}
          <- NONE
        """)
    with pytest.raises(ControlError, match="is not a streams group"):
        _ = StreamsGroup(streams.laboratory, streams.name("group2")).members
    assert "which is a share group" in str(StreamsGroup(streams.laboratory, streams.name("group2")))
    assert isinstance(group_of(streams.laboratory, name), StreamsGroup)


def test_one_that_is_not_there_yet(streams: StreamsLab) -> None:
    group = StreamsGroup(streams.laboratory, "none")
    assert (group.type, group.state, group.members, group.topology, group.status) == ("", "Dead", (), None, {})
    assert "does not exist" in str(group.explain())
    assert (group.generation, group.assignment_epoch, group.protocol, group.offsets) == (0, 0, "", {})


def test_shutdown_request_names_member(two: StreamsLab) -> None:
    two.talk("""
        bob streams-beats {owns: {}, shutdown: true}
          <- NONE {status: _}
        """)
    assert list(two.words.status) == ["SHUTDOWN_APPLICATION"]
    assert "ada: has active 0_0 0_1; should shut down, as bob has requested for all members" in two.explained


def test_lag_of_tasks(streams: StreamsLab) -> None:
    streams.talk(ALONE)
    topic = streams.name("topic")
    assert streams.words.is_caught_up
    streams.laboratory.topics.append(topic, "a", "b", partition=1)
    assert streams.words.lag[topic, 1] == 2
    assert not streams.words.is_caught_up


def test_live_member_survives_jump(streams: StreamsLab) -> None:
    streams.talk(ALONE)
    streams.laboratory.advance(600_000)
    assert [str(member) for member in streams.words.members] == ["ada"]
    streams.talk("ada disconnects")
    streams.laboratory.advance(600_000)
    assert streams.words.members == ()


def test_waiting_until_everybody_has_its_tasks(streams: StreamsLab) -> None:
    streams.talk(ALONE)

    async def wait() -> None:
        await streams.words.wait_stable(members=1)
        with pytest.raises(TimeoutError, match="is not stable with 2 members"):
            await streams.words.wait_stable(members=2, timeout=0)

    asyncio.run(wait())


def test_heartbeat_held_by_gate(streams: StreamsLab) -> None:
    streams.talk(ALONE)
    with streams.laboratory.gates.hold("streams-heartbeat-received") as gate:
        streams.talk("""
            ada streams-beats {owns: {0: [0, 1, 2, 3]}}
              <- nothing for 500 ms
            """)
        assert len(gate.held) == 1
    streams.talk("ada <- NONE {member_epoch: 2}")
