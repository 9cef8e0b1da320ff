"""Prometheus metrics of a broker and its groups."""

import pytest
from prometheus_client.parser import text_string_to_metric_families

from kohort.control.http import lag_metrics
from kohort.control.http.metrics import OTHER_NAMES, Metrics
from kohort.coordinator.groups.observer import UNOBSERVED
from tests.control.sharing_lab import SharingLab
from tests.control.talking import Lab

P = "kafka_coordinator_group_"


@pytest.fixture
def metrics(lab: Lab) -> Metrics:
    return Metrics(lab.laboratory.cluster)


def read(metrics: Metrics) -> dict[str, float]:
    """Return samples by `name{label="value"}`, without the label of the only node."""
    found = {}
    for family in text_string_to_metric_families(metrics.text().decode()):
        for sample in family.samples:
            labels = ",".join(value for name, value in sorted(sample.labels.items()) if name != "node")
            found[f"{sample.name}{{{labels}}}"] = sample.value
    return found


def test_counting_starts_with_creation(lab: Lab) -> None:
    metrics, (coordinator,) = Metrics(lab.laboratory.cluster), lab.laboratory.cluster.coordinators
    assert coordinator.observer is not UNOBSERVED
    lab.talk("given ada, bob share a stable group")
    assert rebalances_of(read(metrics), lab.name("group")) == 2


def rebalances_of(samples: dict[str, float], group: str) -> float:
    """Return the rebalances of a group, over all causes and clients."""
    return sum(
        value
        for name, value in samples.items()
        if name.startswith("kafka_consumergroup_rebalances_total{") and name.endswith(f",{group}}}")
    )


def test_groups_by_state_members_and_partitions(lab: Lab, metrics: Metrics) -> None:
    lab.talk("given ada, bob share a stable group")
    told = read(metrics)
    assert told[f"{P}group_count{{classic,Stable}}"] == 1
    assert told[f"{P}group_count{{classic,Empty}}"] == 0
    assert told[f"{P}member_count{{classic}}"] == 2
    assert told[f"{P}member_count{{consumer}}"] == 0
    assert told[f"{P}num_partitions{{active}}"] == 50
    assert told[f"{P}num_partitions{{loading}}"] == 0


def test_rebalances_by_cause_and_group(lab: Lab, metrics: Metrics) -> None:
    lab.talk("""
        given ada, bob share a stable group
        wait 10001 ms
        """)
    told = read(metrics)
    assert told[f"{P}rebalance_total{{session_expired}}"] == 1
    assert told[f"{P}member_removal_total{{session_expired}}"] == 2
    started = sum(value for name, value in told.items() if name.startswith(f"{P}rebalance_total"))
    assert rebalances_of(told, lab.name("group")) == started
    assert told[f"kafka_consumergroup_rebalances_total{{session_expired,ada,{lab.name('group')}}}"] == 1
    # Bob's join superseded the first rebalance, in which no member had synced yet.
    assert (started, told[f"{P}completed_rebalance_seconds_count{{}}"]) == (3, 2)


def test_consumer_groups_by_state_and_epoch(lab: Lab, metrics: Metrics) -> None:
    lab.talk("""
        given topic $topic with 2 partitions
        given ada shares a consumer group {topics: [$topic]}
        bob beats {topics: [$topic]}
          <- NONE {member_epoch: 2}
        """)
    told = read(metrics)
    assert told[f"{P}group_count{{consumer,Assigning}}"] == 1
    assert told[f"{P}group_count{{consumer,Stable}}"] == 0
    assert told[f"{P}group_count{{classic,Stable}}"] == 0
    assert (told[f"{P}member_count{{classic}}"], told[f"{P}member_count{{consumer}}"]) == (0, 2)
    assert told[f"{P}epoch_bump_total{{join_new}}"] == 2
    assert rebalances_of(told, lab.name("group")) == 2
    assert told[f"{P}reconciliation_seconds_count{{}}"] == 1, "ada alone, at once"
    lab.talk("""
        wait 1001 ms
        ada beats
          <- NONE {assignment: {$topic: [$kept]}}
        wait 700 ms
        ada beats {owns: {$topic: [$kept]}}
          <- NONE
        bob beats
          <- NONE
        """)
    told = read(metrics)
    assert told[f"{P}group_count{{consumer,Stable}}"] == 1
    assert told[f"{P}reconciliation_seconds_count{{}}"] == 2
    assert told[f"{P}reconciliation_seconds_sum{{}}"] == pytest.approx(1.7, abs=0.1)


def test_protocol_change_is_counted(lab: Lab, metrics: Metrics) -> None:
    lab.talk("""
        given topic $topic with 2 partitions
        given ada shares a stable group {protocols: {range: subscription($topic)}, shares: {ada: assignment($topic:0)}}
        bob beats {topics: [$topic]}
          <- NONE
        """)
    told = read(metrics)
    assert told[f"{P}conversion_total{{consumer}}"] == 1
    assert (told[f"{P}member_count{{classic}}"], told[f"{P}member_count{{consumer}}"]) == (1, 1)
    lab.talk("""
        bob leaves the group
          <- NONE
        """)
    told = read(metrics)
    assert told[f"{P}conversion_total{{classic}}"] == 1
    assert (told[f"{P}member_count{{classic}}"], told[f"{P}member_count{{consumer}}"]) == (1, 0)


def test_commits_are_counted_once(lab: Lab, metrics: Metrics) -> None:
    lab.talk("""
        given topic $topic with 2 partitions
        given ada shares a stable group
        ada OffsetCommit v8 {generation_id: 1, offsets: {$topic: {0: 5, 1: 6}}}
          <- {topics: [...]}
        """)
    told = read(metrics)
    assert (told[f"{P}offset_commit_total{{}}"], told[f"{P}num_offsets{{}}"]) == (2, 2)
    lab.talk("wait 60001 ms")  # the sums are reported, and the member is gone
    assert read(metrics)[f"{P}offset_commit_total{{}}"] == 2


def test_excess_groups_share_a_counter(lab: Lab) -> None:
    metrics = Metrics(lab.laboratory.cluster, max_groups=1)
    metrics.text()
    for number in range(3):
        lab.talk(f"""
            ada JoinGroup v3 {{group_id: "g-{number}", member_id: ""}}
              <- NONE
            """)
    told = read(metrics)
    assert [rebalances_of(told, group) for group in ("g-0", "g-1", OTHER_NAMES)] == [1, 0, 2]


def test_share_groups_and_record_outcomes(shared: SharingLab) -> None:
    metrics = Metrics(shared.laboratory.cluster)
    assert read(metrics)["kafka_server_share_in_flight_message_count{}"] == 0
    shared.produce("a b c")
    shared.talk("""
        ada ShareFetch v2 {epoch: 0, from: {$topic: [0]}}
          <- NONE
        ada ShareAcknowledge v2 {epoch: 1, acks: {$topic: {0: {1: accept, 2: reject}}}}
          <- NONE
        wait 2000 ms
        """)
    told = read(metrics)
    assert (told[f"{P}group_count{{share,Stable}}"], told[f"{P}member_count{{share}}"]) == (1, 1)
    assert told["kafka_server_share_in_flight_message_count{}"] == 3
    assert (told["kafka_server_share_partition_count{}"], told["kafka_server_share_session_count{}"]) == (1, 1)
    counted = {what: told[f"kafka_server_share_records_total{{{what}}}"] for what in ("acquired", "accepted")}
    assert counted == {"acquired": 3, "accepted": 1}
    assert told["kafka_server_share_records_total{lock_expired}"] == 1


def test_any_group_id_can_be_written(lab: Lab, metrics: Metrics) -> None:
    lab.talk("""
        ada JoinGroup v3 {group_id: 'a "quoted" \\\\ id', member_id: ""}
          <- NONE
        """)
    assert any('a "quoted"' in name for name in read(metrics))


def test_streams_groups_by_state_and_epoch() -> None:
    lab = Lab("streams")
    metrics = Metrics(lab.laboratory.cluster)
    read(metrics)
    lab.talk("""
        ada streams-beats {topology: {0: {reads: [$topic]}}}
          <- NONE {status: _}
        """)
    told = read(metrics)
    assert (told[f"{P}group_count{{streams,NotReady}}"], told[f"{P}member_count{{streams}}"]) == (1, 1)
    assert told[f"{P}epoch_bump_total{{join_new}}"] == 1
    lab.stage.close()


LAG = "kafka_consumergroup_"


def test_lag_of_each_partition(lab: Lab, metrics: Metrics) -> None:
    topics = lab.laboratory.topics
    lab.talk("""
        given topic $topic with 2 partitions
        given ada shares a stable group
        ada OffsetCommit v8 {generation_id: 1, offsets: {$topic: {0: 1, 1: 0}}}
          <- {topics: [...]}
        """)
    group, topic = lab.name("group"), lab.name("topic")
    clock = lab.laboratory.clock
    topics.append(topic, "a", timestamp=clock.now_ms() + clock.epoch_ms - 60_000)
    topics.append(topic, "b", "c", timestamp=clock.now_ms() + clock.epoch_ms - 30_000)
    samples = read(metrics)
    assert samples[f"{LAG}current_offset{{{group},0,{topic}}}"] == 1
    assert [samples[f"{LAG}lag{{{group},{index},{topic}}}"] for index in (0, 1)] == [2, 0]
    assert samples[f"{LAG}lag_seconds{{{group},0,{topic}}}"] == pytest.approx(30, abs=0.1)
    assert samples[f"{LAG}lag_seconds{{{group},1,{topic}}}"] == 0
    assert samples[f"{LAG}members{{{group}}}"] == 1
    assert samples[f"{LAG}state{{{group},Stable}}"] == 1


def test_series_are_bounded(lab: Lab, metrics: Metrics, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lag_metrics, "MAX_PARTITIONS", 1)
    monkeypatch.setattr(lag_metrics, "MAX_GROUPS", 0)
    lab.talk("""
        given topic $topic with 2 partitions
        given ada shares a stable group
        ada OffsetCommit v8 {generation_id: 1, offsets: {$topic: {0: 0, 1: 0}}}
          <- {topics: [...]}
        """)
    samples = read(metrics)
    assert sum(name.startswith(f"{LAG}lag{{") for name in samples) == 1
    assert not any(name.startswith(f"{LAG}members") for name in samples)
    assert samples[f"{LAG}series_beyond_limit{{partitions}}"] == 1
    assert samples[f"{LAG}series_beyond_limit{{groups}}"] == 1


def test_lag_of_deleted_topic_is_gone(lab: Lab, metrics: Metrics) -> None:
    lab.talk("""
        given topic $topic with 2 partitions
        given ada shares a stable group
        ada OffsetCommit v8 {generation_id: 1, offsets: {$topic: {0: 5}}}
          <- {topics: [...]}
        """)
    assert any(name.startswith(f"{LAG}lag{{") for name in read(metrics))
    lab.laboratory.topics.delete(lab.name("topic"))
    assert not any(name.startswith(f"{LAG}lag{{") for name in read(metrics))
