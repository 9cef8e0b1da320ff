"""Follower without Spark: state from the log, lags, and metrics."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from threading import Lock

import pytest
from prometheus_client import CollectorRegistry, Metric, generate_latest

from kohort.client.security import OPEN
from kohort.control.http import lag_metrics
from kohort.control.http.lag_metrics import of_groups
from kohort.control.http.metrics import Counts, read_counters
from kohort.coordinator.consumer.consumer_group_records import CONSUMER_RECORDS
from kohort.coordinator.consumer.values import Kind, MemberMetadata
from kohort.coordinator.modern.modern_values import Change, GroupEpoch
from kohort.coordinator.modern.record_parts import key_of
from kohort.pipeline.job.log_follower import LogReader
from kohort.pipeline.job.report_process import ReportProcess
from kohort.pipeline.live.follow_metrics import OTHER_LABEL
from kohort.pipeline.live.group_log import GroupLog, LoggedGroup
from kohort.pipeline.live.group_metrics import MAX_GROUPS, MAX_PARTITIONS, GroupMetrics
from kohort.pipeline.live.sampled_ends import LogEnds
from kohort.pipeline.sources.source_cluster import WireError
from kohort.protocol.batches import Record
from kohort.testing import Cluster, SyncCluster
from tests.control.talking import Lab
from tests.pipeline.written_cluster import World

NOW = 1_760_000_000_000


def feed_world(world: World, log: GroupLog, kafka: SyncCluster) -> LogReader:
    reader = LogReader(kafka.bootstrap, OPEN, log, {}, Lock())
    reader.poll(world.ts_ms)
    return reader


def text_of(log: GroupLog, ends: LogEnds, now_ms: int = NOW) -> str:
    registry = CollectorRegistry()
    registry.register(GroupMetrics(log, ends, lambda: {"held": "PreparingRebalance"}, lambda: now_ms, Lock()))
    return generate_latest(registry).decode()


def committed(groups: int, partitions: int) -> GroupLog:
    log = GroupLog()
    for number in range(groups):
        log.groups[f"g{number}"] = LoggedGroup(committed={("t", part): 5 for part in range(partitions)})
    return log


def test_lag_counts_since_sample_without_record() -> None:
    ends = LogEnds()
    for minute, end in enumerate((10, 20, 30)):
        ends.add(NOW + 60_000 * minute, {("t", 0): end})
    now = NOW + 150_000
    assert ends.lags([(("t", 0), 30)], now) == [(0, 0.0)]
    assert ends.lags([(("t", 0), 20)], now) == [(10, 90.0)]
    assert ends.lags([(("t", 0), 3)], now) == [(27, 150.0)]
    assert ends.lags([(("t", 1), 3)], now) == [None]


def test_lag_of_partition_added_later() -> None:
    ends = LogEnds()
    assert ends.lags([(("t", 0), 1)], NOW) == [None]
    ends.add(NOW, {("t", 0): 10})
    ends.add(NOW + 1_000, {("t", 0): 10, ("u", 0): 4})
    assert ends.lags([(("u", 0), 1), (("t", 0), 10)], NOW + 2_000) == [(3, 2.0), (0, 0.0)]


def test_log_gives_members_rebalances_and_offsets() -> None:
    with Cluster(seed=1) as kafka:
        world = World(kafka, 1)
        world.append("orders", world.rebalance("orders"))
        world.append("orders", world.rebalance("orders"))
        log = GroupLog()
        reader = feed_world(world, log, kafka)
        group = log.groups["orders"]
        assert group.tracked.members
        assert sum(group.rebalances.values()) == 2
        positions = dict(reader.positions)
        reader.poll(world.ts_ms)
        assert (dict(reader.positions), sum(group.rebalances.values())) == (positions, 2)
        world.append("orders", world.rebalance("orders"))
        saved = json.loads(json.dumps(log.saved()))
        continued = GroupLog(saved)
        later = LogReader(kafka.bootstrap, OPEN, continued, positions, Lock())
        later.poll(world.ts_ms)
        assert sum(continued.groups["orders"].rebalances.values()) == 3
        reader.close()
        later.close()


def test_epochs_name_changed_clients() -> None:
    additions = [Change(Kind.MEMBER, f"{name}-id", MemberMetadata(client_id=name)) for name in ("ada", "bob")]
    removals = [Change(Kind.MEMBER, f"{name}-id", None) for name in ("ada", "bob")]
    with Cluster(seed=1) as kafka:
        world, log = World(kafka, 1), GroupLog()
        for epoch, members in enumerate([additions[:1], additions[1:], [], removals[:1], removals[1:]], 1):
            changes = [*members, Change(Kind.GROUP_EPOCH, None, GroupEpoch(epoch))]
            keys = [key_of("orders", change.kind, change.name) for change in changes]
            values = map(CONSUMER_RECORDS.value_of, changes)
            world.append("orders", [Record(key, value, NOW) for key, value in zip(keys, values, strict=True)])
        feed_world(world, log, kafka).close()
        assert log.groups["orders"].rebalances == {
            ("member_joined", "ada"): 1, ("member_joined", "bob"): 1, ("members_rejoined", ""): 1,
            ("member_left", "ada"): 1,
        }  # fmt: skip


def test_shorter_log_is_another_cluster() -> None:
    with Cluster(seed=1) as kafka:
        world = World(kafka, 1)
        world.append("orders", world.rebalance("orders"))
        reader = feed_world(world, GroupLog(), kafka)
        reader.positions.update(dict.fromkeys(reader.positions, 1 << 40))
        with pytest.raises(WireError, match="another cluster"):
            reader.poll(world.ts_ms)
        reader.close()


def test_series_beyond_limits_are_counted() -> None:
    log, ends = committed(MAX_GROUPS + 7, 3), LogEnds()
    ends.add(NOW, {("t", part): 9 for part in range(3)})
    text = text_of(log, ends)
    assert 'kafka_consumergroup_series_beyond_limit{of="groups"} 7.0' in text
    beyond = 3 * (MAX_GROUPS + 7) - MAX_PARTITIONS
    assert f'kafka_consumergroup_series_beyond_limit{{of="partitions"}} {beyond}.0' in text
    assert text.count("kafka_consumergroup_lag{") == MAX_PARTITIONS
    assert text.count("kafka_consumergroup_members{") == MAX_GROUPS
    assert 'kafka_consumergroup_group_topic_sum_lag{consumergroup="g0",topic="t"} 12.0' in text


def test_clients_beyond_limit_share_series() -> None:
    log = committed(1, 1)
    log.groups["g0"].rebalances.update({("member_joined", f"c{n}"): 1 for n in range(5_000)})
    text = text_of(log, LogEnds())
    assert text.count("kafka_consumergroup_rebalances_total{") <= 2_001
    assert f'client="{OTHER_LABEL}",consumergroup="g0"}} 3000.0' in text


def test_failed_report_names_reason(tmp_path: Path) -> None:
    reports = ReportProcess(["/bin/sh", "-c", "echo cannot read >&2; exit 1"], tmp_path)
    assert not reports.finished()
    reports.start()
    with pytest.raises(WireError, match="cannot read"):
        reports.finished(30)
    assert not reports.finished()


def labels_of(families: Iterable[Metric]) -> dict[str, tuple[str, ...]]:
    return {family.name: getattr(family, "_labelnames", ()) for family in families}


def test_brokers_export_same_series() -> None:
    cluster = Lab().laboratory.cluster
    of_broker = labels_of((*of_groups(cluster), *read_counters(Counts(), cluster)))
    of_follower = labels_of(GroupMetrics(GroupLog(), LogEnds(), dict, lambda: 0, Lock()).collect())
    sums = {"kafka_consumergroup_group_topic_sum_lag", "kafka_consumergroup_group_topic_max_lag_seconds"}
    assert of_follower.keys() - of_broker.keys() == sums
    shared = of_follower.keys() - sums
    assert {name: of_follower[name] for name in shared} == {name: of_broker[name] for name in shared}
    assert (MAX_GROUPS, MAX_PARTITIONS) == (lag_metrics.MAX_GROUPS, lag_metrics.MAX_PARTITIONS)
