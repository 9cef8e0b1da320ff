"""Events of a share group and its records, as a test queries them afterwards, whichever nodes lead its partitions."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path

from kohort.broker.cluster.event_log import line_of
from kohort.broker.cluster.moving import move_leader
from kohort.control.history.recorder import Recorder
from kohort.pipeline.sources.event_lines import event_of_line
from kohort.protocol.errors import ErrorCode as E
from tests.broker.share_member import ACCEPT, GROUP, REJECT, RELEASE, Member, produce, ready
from tests.control.talking import Lab
from tests.support.broker import Broker


def recorded(broker: Broker) -> Recorder:
    recorder = Recorder(broker.cluster)
    recorder.start()
    return recorder


def test_records_line_by_line() -> None:
    broker = Broker(group_share_delivery_count_limit=2)
    recorder = recorded(broker)
    ready(broker)
    produce(broker, b"a", b"b", b"c", b"d")
    ada, bob = Member(broker), Member(broker, "bob")
    ada.fetches(0)
    broker.clock.advance(2_000)
    assert ada.acknowledges((0, 0, [ACCEPT]), (1, 2, [RELEASE])) is E.none
    bob.fetches(0)
    assert bob.acknowledges((1, 1, [RELEASE])) is E.none
    bob.disconnects()
    broker.loop.wait(28_000)
    lines = [" ".join(line.split()) for line in recorder.timeline(GROUP)]
    assert lines == [
        "0.000 s share partition loaded t-0 start 0",
        "0.000 s records acquired ada t-0 0-3",
        "2.000 s records accepted ada t-0 0",
        "2.000 s records released ada t-0 1-2 (acknowledged)",
        "2.000 s share start moved t-0 from 0 to 1",
        "2.000 s records acquired bob t-0 1-2 delivery 2",
        "2.000 s records released bob t-0 1 delivery 2 (acknowledged)",
        "2.000 s records archived bob t-0 1 delivery 2 (delivery limit)",
        "2.000 s share start moved t-0 from 1 to 2",
        "2.000 s records released bob t-0 2 delivery 2 (connection closed)",
        "2.000 s records archived bob t-0 2 delivery 2 (delivery limit)",
        "2.000 s share start moved t-0 from 2 to 3",
        "30.000 s lock expired ada t-0 3",
    ]


def test_partition_leader_emits_record_events() -> None:
    broker = Broker(nodes=2)
    topic = ready(broker, replicas=2)
    recorder = recorded(broker)
    produce(broker, b"a", b"b")
    where = topic.partitions[0]
    first, second = where.leader, 3 - where.leader
    ada = Member(broker, node=first - 1)
    ada.fetches(0)
    broker.server.act(partial(move_leader, broker.cluster, topic, where, second))
    bob = Member(broker, "bob", node=second - 1)
    bob.asks_for(0, wait_ms=5_000)
    broker.loop.wait(2_000)
    told = [(event.node_id, event.event.kind, event.event.cause) for event in recorder if event.event.group_id == GROUP]
    assert told == [
        (first, "share_partition_loaded", None),
        (first, "records_acquired", None),
        (first, "records_released", "state_forgotten"),
        (second, "share_partition_loaded", None),
        (second, "records_acquired", None),
    ]


def test_recorder_is_stopped_and_restarted() -> None:
    broker = Broker()
    ready(broker)
    produce(broker, b"a", b"b")
    ada = Member(broker)
    recorder = recorded(broker)
    ada.acquires(0, most=1, share_acquire_mode=1)
    recorder.stop()
    assert ada.acknowledges((0, 0, [ACCEPT])) is E.none
    recorder.start()
    ada.acquires(0)
    kinds = [event.kind for event in recorder.events(GROUP)]
    assert kinds == ["share_partition_loaded", "records_acquired", "records_acquired"]


def test_analysis_reads_event_log(tmp_path: Path) -> None:
    broker = Broker()
    recorder = recorded(broker)
    ready(broker)
    produce(broker, b"a")
    ada = Member(broker)
    ada.fetches(0)
    assert ada.acknowledges((0, 0, [REJECT])) is E.none
    rejected = next(event for event in recorder if event.event.kind == "records_rejected")
    read = event_of_line(line_of(rejected).decode())
    assert (read.kind, read.group_type, read.co_partition) == ("records_rejected", "share", -1)
    assert read.detail == json.loads(line_of(rejected))["detail"]


def test_share_group_rebalances() -> None:
    lab = Lab("share")
    lab.laboratory.record()
    lab.talk("""
        given topic $topic
        given ada shares a share group {topics: [$topic]}
        """)
    group = lab.name("group")
    first, *_, last = lab.laboratory.recorder.history(group)
    assert (first.cause, first.group_type, first.joined) == ("join new", "share", (lab.name("ada"),))
    assert (last.cause, last.outcome, last.moved) == ("partitions ready", "completed", None)
    assert "epoch" in str(last)
    lines = lab.laboratory.recorder.timeline(group)
    assert any("member assigned" in line for line in lines)
    lab.stage.close()
