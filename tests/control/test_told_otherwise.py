"""Rules that change responses: leaders, nodes, and supported versions."""

from __future__ import annotations

from functools import partial

import pytest

from kohort.broker.cluster.moving import move_leader
from kohort.control.control_errors import ControlError
from kohort.storage.topic import Topic
from tests.control.talking import Lab


def test_hidden_node_leads_nothing_in_metadata() -> None:
    lab = Lab("three-brokers")
    lab.laboratory.cluster.topics.create("t", 3)
    with lab.faults.hide_node(2):
        lab.talk("ada Metadata v4 {topics: [{name: t}]}")
        heard = lab.heard()
        assert [broker["node_id"] for broker in heard["brokers"]] == [1, 3]
        leaders = {part["leader_id"]: part["error_code"] for part in heard["topics"][0]["partitions"]}
        assert leaders == {1: "NONE", -1: "LEADER_NOT_AVAILABLE", 3: "NONE"}
    lab.talk("ada Metadata v4 {topics: [{name: t}]}")
    assert len(lab.heard()["brokers"]) == 3
    lab.stage.close()


def test_client_sees_older_release_versions(lab: Lab) -> None:
    about = "{client_software_name: x, client_software_version: v1}"
    with lab.faults.as_kafka("2.8", client_id="a*") as rule:
        lab.talk(f"ada ApiVersions v3 {about}")
        offered = {response["api_key"]: response["max_version"] for response in lab.heard()["api_keys"]}
        assert (offered[11], 68 in offered) == (7, False)
        lab.talk(f"ada/2 ApiVersions v4 {about}")
        refused = lab.heard()
        assert refused["error_code"] == "UNSUPPORTED_VERSION"
        assert [(item["api_key"], item["max_version"]) for item in refused["api_keys"]] == [(18, 3)]
        lab.talk(f"bob ApiVersions v4 {about}")
        assert {response["api_key"]: response["max_version"] for response in lab.heard()["api_keys"]}[11] == 9
        assert str(rule) == "rule 1: ApiVersions with client_id a*: answer as Kafka 2.8"
    with pytest.raises(ControlError, match=r"unknown Kafka release '2\.9'; did you mean 3\.9\?"):
        lab.faults.as_kafka("2.9")


def test_stale_metadata_names_previous_leader() -> None:
    lab = Lab("three-brokers")
    topic = lab.laboratory.cluster.topics.create("t", 1)
    assert isinstance(topic, Topic)
    (partition,) = topic.partitions
    then = partition.leader
    with lab.faults.stale_metadata():
        server = lab.laboratory.server
        server.act(partial(move_leader, server.cluster, topic, partition, then % 3 + 1))
        lab.talk("ada Metadata v7 {topics: [{name: t}]}")
        (told,) = lab.heard()["topics"][0]["partitions"]
        assert (told["leader_id"], told["leader_epoch"]) == (then, 0)
    lab.talk("ada Metadata v7 {topics: [{name: t}]}")
    (told,) = lab.heard()["topics"][0]["partitions"]
    assert (told["leader_id"], told["leader_epoch"]) == (partition.leader, 1)
    lab.stage.close()
