"""Follower of a cluster that goes away and returns, or that withholds a permission for a time."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from kohort.client.security import OPEN
from kohort.pipeline.job.log_follower import ENDS_S, POLL_S, FollowedState, LogPoll, LogReader
from kohort.pipeline.job.rebalance_poller import CHECK_MS, GroupWatch
from kohort.pipeline.job.telling import Telling
from kohort.pipeline.live.follow_metrics import FollowMetrics
from kohort.pipeline.live.group_log import GroupLog
from kohort.pipeline.live.open_rebalances import OpenRebalances
from kohort.pipeline.live.silences import Silences
from kohort.pipeline.live.webhook import Message
from kohort.pipeline.sources.source_groups import SourceGroups
from kohort.pipeline.sources.waiting_records import WaitingRecords
from kohort.testing import Cluster, SyncCluster
from tests.pipeline.written_cluster import World

OFFSETS_TOPIC = "__consumer_offsets"


class Follower:
    """The parts of `kohort follow` that poll, with a clock that the test moves."""

    def __init__(self, kafka: SyncCluster, folder: Path) -> None:
        self.kafka, self.world = kafka, World(kafka, 1)
        self.lines, self.alerts = list[str](), list[Message]()
        self.metrics, self.state = FollowMetrics(), FollowedState(folder / "follow.json")
        self.reader = LogReader(kafka.bootstrap, OPEN, self.state.log, self.state.positions, self.state.lock)
        self._now_s = self.world.ts_ms / 1000
        alerts = Telling(self.alerts.append, self.alerts.append)
        self._poll = LogPoll(
            self.reader, self.state, alerts, self.metrics, self.lines.append, self._now_ms, lambda: self._now_s
        )

    def _now_ms(self) -> int:
        return round(self._now_s * 1000)

    def after(self, seconds: float) -> list[str]:
        """Let time pass and poll at each interval; return the printed lines."""
        for _ in range(round(seconds / POLL_S)):
            self._now_s += POLL_S
            self._poll.run_if_due()
        lines, self.lines[:] = list(self.lines), []
        return lines

    @property
    def is_up(self) -> bool:
        return self.metrics.registry.get_sample_value("kohort_follow_stream_up", {"stream": "log"}) == 1

    def assert_nothing_lost(self) -> None:
        """Compare the state with that of a follower that reads everything now."""
        log = GroupLog()
        reader = LogReader(self.kafka.bootstrap, OPEN, log, {}, self.state.lock)
        reader.poll(self._now_ms())
        reader.close()
        assert self.state.log.groups.keys() == log.groups.keys()
        for name, group in log.groups.items():
            followed = self.state.log.groups[name]
            assert (followed.committed, followed.rebalances) == (group.committed, group.rebalances)


@pytest.fixture
def follower(tmp_path: Path) -> Iterator[Follower]:
    with Cluster(seed=1) as kafka:
        kafka.topics.create("topic", partitions=6)
        follower = Follower(kafka, tmp_path)
        follower.world.write(20)
        yield follower
        follower.reader.close()


def test_cluster_goes_away_and_returns(follower: Follower) -> None:
    assert follower.after(POLL_S) == []
    assert follower.is_up
    follower.kafka.stop_node(1)
    (line,) = follower.after(60)
    assert line.startswith(follower.kafka.bootstrap)
    assert line.endswith("trying again every 5 s")
    assert not follower.is_up
    follower.kafka.start_node(1)
    follower.world.write(20)
    assert follower.after(POLL_S) == ["reading again"]
    assert follower.is_up
    assert follower.reader.watched is not None
    assert follower.reader.watched.since_ms == follower.reader.watched.until_ms, "no silence began while it was away"
    follower.assert_nothing_lost()


def test_each_interruption_is_reported(follower: Follower) -> None:
    follower.after(POLL_S)
    for _ in range(2):
        follower.kafka.stop_node(1)
        assert len(follower.after(10)) == 1
        follower.kafka.start_node(1)
        assert follower.after(POLL_S) == ["reading again"]


@pytest.mark.parametrize("operation", ["Read", "Describe"])
def test_offsets_topic_is_denied_temporarily(follower: Follower, operation: str) -> None:
    follower.after(POLL_S)
    with follower.kafka.faults.on().deny(operation, topic=OFFSETS_TOPIC):
        follower.world.write(20)
        (line,) = follower.after(30)
        assert line.endswith("is closed to this user: it needs Describe and Read on that topic; trying again every 5 s")
        assert not follower.is_up
    assert follower.after(POLL_S) == ["reading again"]
    follower.assert_nothing_lost()


def test_topic_is_denied_temporarily(follower: Follower) -> None:
    with follower.kafka.faults.on().deny("Describe", topic="topic"):
        assert follower.after(2 * ENDS_S) == ["no lag in topic: that needs Describe on the topic"]
        assert follower.is_up
    assert follower.after(ENDS_S) == ["the lag of all topics is visible again"]
    follower.assert_nothing_lost()


def test_group_is_denied_temporarily(follower: Follower) -> None:
    follower.after(POLL_S)
    groups, lines = SourceGroups(follower.kafka.bootstrap), list[str]()
    watch = GroupWatch(groups, OpenRebalances(lambda _: {}), print, lines.append, follower.state.group_names)
    with follower.kafka.faults.on().deny("Describe", group="billing"):
        watch.look(0)
        watch.look(CHECK_MS)
        assert lines == ["cannot detect open rebalances of billing: that needs Describe on the group"]
    watch.look(2 * CHECK_MS)
    assert lines[1:] == ["open rebalances of all groups are detected again"]
    groups.close()


def test_silence_is_reported_without_permission(follower: Follower) -> None:
    follower.after(POLL_S)
    follower.kafka.group("reports").commit({("topic", 0): 0})
    message = Message("reports", 0, "silent", "warning", "no commits for 31 s")
    waiting = WaitingRecords(follower.kafka.bootstrap)
    assert Silences(waiting.of, lambda: 0).hear(message) == [], "nothing waits"
    with follower.kafka.faults.on().deny("Describe", topic="topic"):
        assert Silences(waiting.of, lambda: 0).hear(message) == [message]
    waiting.close()


def test_restart_between_polls_is_no_interruption(follower: Follower) -> None:
    follower.after(POLL_S)
    follower.kafka.stop_node(1)
    follower.kafka.start_node(1)
    follower.world.write(20)
    assert follower.after(POLL_S) == []
    follower.assert_nothing_lost()
