"""DescribeQuorum and UpdateFeatures: what kohort has in the place of Kafka's metadata log and feature levels."""

from __future__ import annotations

from io import StringIO
from pathlib import Path
from typing import Any

import pytest

from kohort.protocol.errors import ErrorCode
from kohort.protocol.messages.describe_quorum import PartitionRequest, TopicRequest
from kohort.protocol.messages.update_features import FeatureUpdateKey
from kohort.storage.disk.directory import DataDirectory
from tests.support.broker import Broker


def asked(name: str, *indexes: int) -> TopicRequest:
    return TopicRequest(topic_name=name, partitions=tuple(PartitionRequest(partition_index=index) for index in indexes))


@pytest.mark.parametrize("version", [0, 1, 2])
def test_all_nodes_vote(version: int) -> None:
    broker = Broker(nodes=3)
    response = broker.client().asks("describe_quorum", version, topics=(asked("__cluster_metadata", 0),))
    (partition,) = response.topics[0].partitions
    assert (response.error_code, partition.error_code) == (ErrorCode.none, ErrorCode.none)
    assert (partition.leader_id, partition.leader_epoch) == (1, 1)
    assert [voter.replica_id for voter in partition.current_voters] == [1, 2, 3]
    assert {voter.log_end_offset for voter in partition.current_voters} == {partition.high_watermark}
    broker.cluster.topics.create("t", 1, 1)
    later = broker.client().asks("describe_quorum", version, topics=(asked("__cluster_metadata", 0),))
    assert later.topics[0].partitions[0].high_watermark > partition.high_watermark
    if version == 2:
        assert [(node.node_id, node.listeners[0].port) for node in response.nodes] == [(1, 9092), (2, 9093), (3, 9094)]


@pytest.mark.parametrize("topics", [(asked("t", 0),), (asked("__cluster_metadata", 1),)])
def test_other_partitions_are_unknown(topics: tuple[TopicRequest, ...]) -> None:
    response = Broker().client().asks("describe_quorum", 2, topics=topics)
    assert response.error_code is ErrorCode.none
    assert response.topics[0].partitions[0].error_code is ErrorCode.unknown_topic_or_partition


def updates(feature: str, level: int, version: int = 1, **more: Any) -> tuple[ErrorCode, str | None, list[str]]:
    update = FeatureUpdateKey(feature=feature, max_version_level=level, **more)
    response = Broker().client().asks("update_features", version, feature_updates=(update,))
    return response.error_code, response.error_message, [result.feature for result in response.results]


def test_same_level_changes_nothing() -> None:
    assert updates("group.version", 1) == (ErrorCode.none, None, ["group.version"])
    assert updates("group.version", 1, version=2) == (ErrorCode.none, None, [])


@pytest.mark.parametrize(
    ("feature", "level", "upgrade_type", "words"),
    [
        ("group.version", 7, 1, "Local controller 1 only supports versions 0-1"),
        ("group.version", -1, 1, "A feature version cannot be less than 0."),
        ("no.version", 1, 1, "Local controller 1 does not support this feature."),
        ("group.version", 0, 1, "without setting the upgrade type"),
        ("group.version", 0, 2, "kohort serves this feature at level 1 only."),
        ("metadata.version", 6, 2, "Local controller 1 only supports versions 7-33"),
        ("kraft.version", 1, 1, "kohort serves this feature at level 0 only."),
    ],
)
def test_another_level_is_refused(feature: str, level: int, upgrade_type: int, words: str) -> None:
    error, message, results = updates(feature, level, upgrade_type=upgrade_type)
    assert (error, results) == (ErrorCode.invalid_update_version, [])
    assert message is not None
    assert message.startswith("The update failed for all features since the following feature had an error: Invalid")
    assert words in message


def test_finalized_levels_of_kafka() -> None:
    # the feature streams.version is missing in Kafka
    about = {"client_software_name": "x", "client_software_version": "1"}
    newer, older = (Broker().client().asks("api_versions", version, **about) for version in (4, 3))
    assert [(feature.name, feature.min_version, feature.max_version) for feature in newer.supported_features] == [
        ("group.version", 0, 1),
        ("kraft.version", 0, 1),
        ("metadata.version", 7, 33),
        ("share.version", 0, 2),
        ("streams.version", 0, 1),
        ("transaction.version", 0, 2),
        ("eligible.leader.replicas.version", 0, 1),
    ]
    assert [feature.name for feature in older.supported_features] == ["metadata.version"], "it could not begin at 0"
    for answer in (newer, older):
        assert {feature.name: feature.max_version_level for feature in answer.finalized_features} == {
            "group.version": 1,
            "share.version": 2,
            "streams.version": 1,
            "transaction.version": 2,
            "eligible.leader.replicas.version": 1,
            "metadata.version": 33,
        }


def shares_at(broker: Broker) -> tuple[int | None, int]:
    """Return the advertised level of share.version, or None, and the epoch of the levels."""
    about = {"client_software_name": "x", "client_software_version": "1"}
    answer = broker.client().asks("api_versions", 4, **about)
    levels = {feature.name: feature.max_version_level for feature in answer.finalized_features}
    return levels.get("share.version"), answer.finalized_features_epoch


def test_share_groups_can_be_disabled() -> None:
    broker = Broker()
    assert shares_at(broker) == (2, 0)

    def moves(level: int, upgrade_type: int, **more: Any) -> ErrorCode:
        update = FeatureUpdateKey(feature="share.version", max_version_level=level, upgrade_type=upgrade_type)
        error: ErrorCode = broker.client().asks("update_features", 1, feature_updates=(update,), **more).error_code
        return error

    assert moves(0, 1) is ErrorCode.invalid_update_version, "that would be a downgrade"
    assert moves(0, 2, validate_only=True) is ErrorCode.none
    assert shares_at(broker) == (2, 0)
    assert moves(0, 2) is ErrorCode.none
    assert shares_at(broker) == (None, 1)
    assert moves(0, 2) is ErrorCode.none
    assert shares_at(broker) == (None, 1), "it was so before"
    assert moves(1, 1) is ErrorCode.none
    assert shares_at(broker) == (1, 2)
    assert moves(3, 1) is ErrorCode.invalid_update_version


def test_rejected_level_is_logged(lines: StringIO) -> None:
    update = FeatureUpdateKey(feature="share.version", max_version_level=3, upgrade_type=1)
    Broker().client().asks("update_features", 1, feature_updates=(update,))
    assert lines.getvalue().count("rejected level 3 of feature share.version: Local controller 1 only supports") == 1


def test_levels_survive_a_restart(tmp_path: Path) -> None:
    directory = DataDirectory(tmp_path)
    broker = Broker(directory=directory)
    update = FeatureUpdateKey(feature="share.version", max_version_level=0, upgrade_type=2)
    assert broker.client().asks("update_features", 1, feature_updates=(update,)).error_code is ErrorCode.none
    directory.close()
    assert shares_at(Broker(directory=DataDirectory(tmp_path))) == (None, 1)
