"""Watch of a cluster's groups next to the streams: a consumer without polls, and unresponsive clusters."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Consumer
from confluent_kafka.admin import AdminClient, NewTopic

from kohort.pipeline.job.rebalance_poller import GroupWatch
from kohort.pipeline.live.last_generations import LastGenerations
from kohort.pipeline.live.open_rebalances import OpenRebalances
from kohort.pipeline.live.webhook import Message
from kohort.pipeline.silver.parquet_files import Writer, publish
from kohort.pipeline.silver.read_sources import expand, ingest
from kohort.pipeline.silver.silver_schemas import table_of
from kohort.pipeline.sources.found import WIRE, Source
from kohort.pipeline.sources.seen_groups import PREPARING, SeenGroup, SeenMember
from kohort.pipeline.sources.source_cluster import WireError
from kohort.pipeline.sources.source_groups import SeenCluster, SourceGroups
from kohort.pipeline.sources.source_rows import GroupEvent
from tests.clients.serving import serving

START_MS = 1_700_000_000_000
PATIENCE_S = 120


class Scripted(SourceGroups):
    """Broker with responses set by the test."""

    def __init__(self) -> None:
        self.next: SeenCluster | Exception = SeenCluster()

    def look(self) -> SeenCluster:
        if isinstance(self.next, Exception):
            raise self.next
        return self.next

    def find_denied(self, names: Sequence[str]) -> list[str]:
        raise WireError("no response")


class Watched:
    def __init__(self) -> None:
        self.source, self.told, self.said = Scripted(), list[Message](), list[str]()
        self.watch = GroupWatch(self.source, OpenRebalances(lambda _: {}), self.told.append, self.said.append)


def test_missing_describe_right_is_reported_once() -> None:
    watched = Watched()
    watched.source.next = SeenCluster(closed="groups can't be listed: that needs Describe on the groups or the cluster")
    for second in range(20):
        watched.watch.look(START_MS + 1_000 * second)
    assert watched.said == [
        "cannot detect open rebalances: groups can't be listed: that needs Describe on the groups or the cluster"
    ]
    assert watched.told == []


def test_cluster_failures_do_not_end_watch() -> None:
    watched = Watched()
    watched.source.next = WireError("refused")
    watched.watch.look(START_MS)
    watched.source.next = KeyError("nonsense")
    for second in range(3):
        watched.watch.look(START_MS + 1_000 * second)
    assert len(watched.said) == 1
    member = SeenMember("c-1-id", "c-1", "/10.0.0.7")
    watched.source.next = SeenCluster([SeenGroup("orders", PREPARING, "b:1", (member,))])
    for second in range(40):
        watched.watch.look(START_MS + 60_000 + 1_000 * second)
    assert [(each.kind, each.severity) for each in watched.told] == [("rebalance_open", "warning")]


def test_failed_permission_check_keeps_look() -> None:
    source, messages = Scripted(), list[Message]()
    source.next = SeenCluster([SeenGroup("orders", PREPARING, "b:1", (SeenMember("c-1-id", "c-1", "/10.0.0.7"),))])
    rebalances = OpenRebalances(lambda _: {}, open_ms=0)
    watch = GroupWatch(source, rebalances, messages.append, print, group_names=lambda: ["orders"])
    watch.look(START_MS)  # checks permissions, without a response
    assert rebalances.states == {"orders": PREPARING}


def test_event_log_shows_open_rebalance(tmp_path: Path) -> None:
    def event(after_s: int, kind: str, **more: Any) -> GroupEvent:
        return GroupEvent(ts=START_MS + 1_000 * after_s, kind=kind, group_id="orders", **more)

    rows = [
        event(-300, "rebalance_started"),
        event(-200, "join_progress", waited_for=["bob-id"]),
        event(-190, "join_completed"),
        event(-2, "rebalance_started"),
        event(8, "join_progress", waited_for=["eve-id", "bob-id"]),
        event(13, "join_progress", waited_for=["eve-id"]),
    ]
    with Writer(tmp_path, "0") as writer:
        writer.add("events", table_of("events", rows, ""))
    publish(tmp_path, "0", [writer.task])
    known = LastGenerations(tmp_path)({"orders": START_MS, "billing": START_MS})
    assert known["orders"].started_ms == START_MS - 2_000
    assert known["orders"].waited_for == frozenset({"eve-id"})
    assert known["billing"].waited_for is None


@pytest.mark.clients
@pytest.mark.timeout(500)
def test_consumer_without_polls_is_named(tmp_path: Path) -> None:
    with serving(nodes=2) as bootstrap:
        admin = AdminClient({"bootstrap.servers": bootstrap})
        admin.create_topics([NewTopic("orders", 2, 1)])["orders"].result(PATIENCE_S)
        config = {"bootstrap.servers": bootstrap, "group.id": "g", "partition.assignment.strategy": "range"}
        slow = Consumer({**config, "client.id": "slow"})
        slow.subscribe(["orders"])
        until = time.monotonic() + PATIENCE_S
        while len(slow.assignment()) < 2:
            slow.poll(0.2)
            assert time.monotonic() < until
        until = time.monotonic() + PATIENCE_S
        waiting = Consumer({**config, "client.id": "waiting"})
        waiting.subscribe(["orders"])
        source = SourceGroups(bootstrap)
        while not (seen := source.look()).groups or len(seen.groups[0].members) < 2:
            waiting.poll(0.2)
            assert time.monotonic() < until
        (group,) = seen.groups
        assert (group.group_id, group.state, seen.silent, seen.closed) == ("g", PREPARING, set(), "")
        with Writer(tmp_path, "0") as writer:
            ingest(expand([Source(WIRE, bootstrap)])[0], "", writer)
        publish(tmp_path, "0", [writer.task])
        told: list[Message] = []
        watch = GroupWatch(source, OpenRebalances(LastGenerations(tmp_path)), told.append, print)
        now_ms = round(time.time() * 1000) + 1_000
        for second in range(12):
            watch.look(now_ms + 1_000 * second)
        assert [each.text for each in told] == ["rebalance open 10 s, waiting for slow on /127.0.0.1"]
        until = time.monotonic() + PATIENCE_S
        while source.look().groups:
            slow.poll(0.2)
            waiting.poll(0.2)
            assert time.monotonic() < until
        watch.look(now_ms + 13_000)
        assert told[-1].text == "rebalance ended after 13 s; it waited for slow on /127.0.0.1"
        source.close()
        slow.close()
        waiting.close()
