"""Groups that were active before the listener, and the state of groups without traffic."""

from __future__ import annotations

from typing import Any

from kohort.groups.explain import explain
from kohort.protocol.errors import ErrorCode
from kohort.protocol.messages.leave_group import MemberIdentity
from kohort.protocol.messages.offset_commit import (
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
    OffsetCommitResponse,
    OffsetCommitResponsePartition,
    OffsetCommitResponseTopic,
)
from kohort.proxy.node_ports import NO_NODE
from kohort.proxy.observed import group_listener, group_memory, message_reading
from kohort.proxy.observed.group_listener import FORGOTTEN_US, STATS_US
from kohort.proxy.observed.group_memory import size_of
from kohort.proxy.observed.last_heartbeats import MAX_PER_CONNECTION
from kohort.proxy.observed.observed_view import view_of
from kohort.proxy.relay import Relay
from tests.proxy.conversing import Elsewhere, asks, hears
from tests.proxy.passing import Passing, S, Speaker
from tests.support.frames import frame, message


def test_active_group_is_discovered() -> None:
    passing = Passing()
    passing.beats("ada")
    passing.beats("bob")
    group = passing.group()
    assert (group.classic.generation_id, group.is_complete, sorted(group.members)) == (4, False, ["ada-1", "bob-1"])
    assert passing.events == [], "nothing has happened"
    headline = explain(view_of(group, passing.now_us)).headline
    assert headline == "group g: Stable, generation 4, 2 members observed, there may be others"


def test_member_removal_needs_cluster_confirmation() -> None:
    passing = Passing()
    passing.beats("ada")
    passing.beats("bob")
    passing.now_us += 100 * S
    passing.beats("ada")
    assert sorted(passing.group().members) == ["ada-1", "bob-1"]
    passing.beats("ada", ErrorCode.rebalance_in_progress)
    (started,) = passing.events
    assert (started.kind, started.cause, started.state_from, started.members) == (
        "rebalance_started", "unknown", "Stable", None,
    )  # fmt: skip
    assert started.detail == {
        "evidence": "an error response of the cluster: members must join again; the traffic does not show why"
    }
    passing.beats("bob", ErrorCode.unknown_member_id)
    removed = passing.events[1]
    assert (removed.kind, removed.member_id, removed.cause, removed.duration_us) == (
        "member_removed", "bob-1", "unknown", 103 * S,
    )  # fmt: skip


def test_repeated_heartbeat_is_not_decoded(monkeypatch: Any) -> None:
    passing = Passing()
    passing.beats("ada")
    monkeypatch.setattr(group_listener, "read_request", lambda observed: 1 / 0)
    for _ in range(3):
        passing.beats("ada")
    monkeypatch.undo()
    passing.beats("ada", generation=5)
    assert passing.group().classic.generation_id == 5
    passing.now_us += STATS_US
    passing.listener.settle(passing.now_us)
    (stats,) = passing.events
    assert (stats.kind, stats.detail) == (
        "heartbeat_stats",
        {"n": "5", "p50_us": "1000000", "p99_us": "1000000", "evidence": "counted messages"},
    )
    assert [item.event_id for item in passing.recorded] == ["7-seen-1"]


def test_leaving_member_is_reported() -> None:
    passing = Passing()
    passing.beats("ada")
    leaving = MemberIdentity(member_id="ada-1", group_instance_id=None, reason="consumer poll timeout has expired.")
    passing.says("ada", "leave_group", group_id="g", members=(leaving,))
    removed = passing.events[0]
    assert (removed.kind, removed.cause) == ("member_removed", "leave_poll_timeout")
    assert removed.client_reason == "consumer poll timeout has expired."


def test_retriable_error_changes_no_group() -> None:
    passing = Passing()
    passing.beats("ada", ErrorCode.not_coordinator)
    assert passing.listener.groups == {}
    passing.beats("ada")
    passing.beats("ada", ErrorCode.coordinator_load_in_progress)
    assert sorted(passing.group().members) == ["ada-1"]
    assert passing.events == []


def test_groups_are_forgotten(monkeypatch: Any) -> None:
    passing = Passing()
    passing.beats("ada", group="old")
    passing.now_us += FORGOTTEN_US
    passing.beats("ada", group="new")
    passing.listener.settle(passing.now_us)
    assert sorted(passing.listener.groups) == ["new"]
    monkeypatch.setattr(group_memory, "MAX_GROUPS", 3)
    for number in range(5):
        passing.beats("ada", group=f"g{number}")
    assert sorted(passing.listener.groups) == ["g2", "g3", "g4"]


def test_disconnect_is_no_leave() -> None:
    passing = Passing()
    passing.beats("ada")
    assert passing.group().connected == {"ada-1": True}
    line = passing.lines["ada"]._line
    assert line is not None
    line.on_close()
    assert passing.group().connected == {"ada-1": False}
    assert sorted(passing.group().members) == ["ada-1"]
    assert passing.events == []


def test_commit_reveals_coordinator() -> None:
    passing = Passing()
    passing.beats("ada")
    assert passing.group().node_id == 7
    anywhere = Speaker()
    anywhere.node_id = NO_NODE
    relay = Relay(Elsewhere(), line=passing.tap.line(anywhere))
    partition = OffsetCommitRequestPartition(partition_index=0, committed_offset=5, committed_metadata="")
    topic = OffsetCommitRequestTopic(name="t", partitions=(partition,))
    asks(relay, frame("offset_commit", 8, 1, group_id="g", member_id="ada-1", topics=(topic,)))
    done = OffsetCommitResponsePartition(partition_index=0, error_code=ErrorCode.none)
    answer = OffsetCommitResponse(topics=(OffsetCommitResponseTopic(name="t", partitions=(done,)),))
    written = message("offset_commit").write(8, 1, answer)
    hears(relay, written if isinstance(written, bytes) else b"".join(written))
    assert (passing.group().offsets, passing.group().node_id) == ({("t", 0): 5}, 7)


def test_groups_are_bounded_by_bytes(monkeypatch: Any) -> None:
    passing = Passing()
    monkeypatch.setattr(group_memory, "MAX_GROUPS_BYTES", 1_000_000)
    for number in range(200):
        passing.now_us += 1
        passing.beats("ada", group=f"{number:03}" + "g" * 20_000)
    groups = passing.listener.groups
    assert 5 < len(groups) < 50
    assert list(groups)[-1].startswith("199")
    assert sum(map(size_of, groups.values())) < 2_000_000
    assert sum(map(len, passing.listener._groups_of_lines.values())) == len(groups)


def test_large_group_is_forgotten(monkeypatch: Any) -> None:
    passing = Passing()
    monkeypatch.setattr(group_memory, "MAX_GROUP_BYTES", 500_000)
    for number in range(2_000):
        member_id = f"{number:04}" + "m" * 1_000
        passing.says("ada", "heartbeat", group_id="g", generation_id=4, member_id=member_id)
        assert "g" not in passing.listener.groups or size_of(passing.group("g")) < 1_000_000


def test_last_heartbeats_are_bounded_per_connection() -> None:
    passing = Passing()
    relay = passing.lines.setdefault("ada", Relay(Elsewhere(), line=passing.tap.line(Speaker())))
    for number in range(3 * MAX_PER_CONNECTION):
        passing.lines[f"client {number}"] = relay
        passing.beats(f"client {number}")
    (heartbeats,) = passing.listener._heartbeats.by_line.values()
    assert len(heartbeats) == MAX_PER_CONNECTION


def test_closed_connection_leaves_no_entry() -> None:
    passing = Passing()
    passing.beats("ada")
    line = passing.lines["ada"]._line
    assert line is not None
    line.on_close()
    listener = passing.listener
    assert (listener._heartbeats.by_line, listener._groups_of_lines, passing.group().lines) == ({}, {}, set())


def test_request_with_many_elements_passes_unseen(monkeypatch: Any) -> None:
    passing = Passing()
    monkeypatch.setattr(message_reading, "MAX_READ_ELEMENTS", 3_000)
    for count, group in ((3_001, "large"), (2_999, "small")):
        members = tuple(MemberIdentity(member_id="gone", group_instance_id=None) for _ in range(count))
        passing.beats("ada", group=group)
        version = passing.group(group).version
        passing.says("ada", "leave_group", group_id=group, members=members)
        assert (passing.group(group).version > version) == (group == "small")
