"""kohort on segments of an Apache Kafka 4.3.0 with groups of the consumer protocol, compared with Kafka's responses.

How they were made: `recording.py`.
"""

from __future__ import annotations

import json
import tarfile
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest

from kohort.protocol.consumer_protocol import assigned_partitions
from kohort.protocol.errors import ErrorCode as E
from kohort.protocol.messages.consumer_group_heartbeat import TopicPartitions
from kohort.storage.disk.files import Disk
from tests.crash.life import Life
from tests.crash.recording import GROUPS, describe
from tests.support.frames import to_fetch

RECORDING = Path(__file__).parent / "kafka-4.3-consumer-groups.tar.gz"
RECORDED_MS = 1_795_350_960_000
"""About when the recording ended: what was committed has not expired."""


@pytest.fixture
def life(tmp_path: Path) -> Life:
    with tarfile.open(RECORDING) as archive:
        archive.extractall(tmp_path, filter="data")
    return Life(
        tmp_path / "data",
        Disk(),
        at_ms=RECORDED_MS,
        offsets_topic_num_partitions=3,
        group_consumer_assignment_interval_ms=0,
    )


@pytest.fixture
def told(life: Life, tmp_path: Path) -> dict[str, Any]:
    """Return Kafka's description of each group."""
    return {value["group_id"]: value for value in json.loads((tmp_path / "described.json").read_text())}


def told_now(life: Life) -> dict[str, Any]:
    return {each["group_id"]: each for each in describe(Asking(life), *GROUPS)}


class Asking:
    """Client of a broker in this process, with the interface of `recording.Kafka`."""

    def __init__(self, life: Life) -> None:
        self._life = life

    def asks(self, name: str, version: int, **fields: object) -> Any:
        return self._life.hears(name, version, **fields)


def test_groups_are_described_like_kafka(life: Life, told: dict[str, Any]) -> None:
    now = told_now(life)
    for group_id, before in told.items():
        assert _in_order(now[group_id]) == _in_order(before)
    assert [told[group]["error_code"] for group in GROUPS] == [0, 0, 0, E.group_id_not_found, 0]
    assert {told[group]["group_state"] for group in GROUPS} == {"Stable", "Reconciling", "Empty", ""}


def _in_order(group: dict[str, Any]) -> dict[str, Any]:
    for member in group["members"]:
        for assignment in (member["assignment"], member["target_assignment"]):
            assignment["topic_partitions"].sort(key=lambda each: each["topic_name"])
    return {**group, "members": sorted(group["members"], key=lambda each: str(each["member_id"]))}


def test_members_go_on_with_their_epochs(life: Life, told: dict[str, Any]) -> None:
    for group_id in ("modern", "giving-up", "mixed"):
        for member in told[group_id]["members"]:
            response = _beats(life, group_id, member)
            if member["member_type"]:
                assert response.error_code is E.none
                assert response.member_epoch == member["member_epoch"]


def test_revoked_partitions_reach_waiting_member(life: Life, told: dict[str, Any]) -> None:
    group = told["giving-up"]
    members = {member["member_id"]: member for member in group["members"]}
    (target,) = members["ada"]["target_assignment"]["topic_partitions"]
    kept = (TopicPartitions(topic_id=UUID(target["topic_id"]), partitions=tuple(target["partitions"])),)
    acknowledged = _beats(life, "giving-up", members["ada"], topic_partitions=kept)
    assert acknowledged.member_epoch == group["group_epoch"]
    response = _beats(life, "giving-up", members["bob"])
    (topic_partitions,) = response.assignment.topic_partitions
    assert sorted({*topic_partitions.partitions, *target["partitions"]}) == [0, 1, 2, 3]


def test_downgraded_group_is_classic(life: Life) -> None:
    (group,) = life.hears("describe_groups", 5, groups=("became-classic",)).groups
    (member,) = group.members
    assert group.group_state == "Stable"
    assert assigned_partitions(member.member_assignment) == {"foo": (2, 3)}, "its target when the last other one left"


@pytest.mark.parametrize("group", ["modern", "empty"])
def test_commits_are_there(life: Life, group: str) -> None:
    (answer,) = life.hears("offset_fetch", 8, groups=to_fetch(group), require_stable=False).groups
    ((topic,), (part,)) = answer.topics, answer.topics[0].partitions
    assert (topic.name, part.partition_index, part.committed_offset) == ("foo", 0, 17)


def _beats(life: Life, group_id: str, member: dict[str, Any], **fields: object) -> Any:
    return life.hears(
        "consumer_group_heartbeat", 1, group_id=group_id, member_id=member["member_id"],
        member_epoch=member["member_epoch"], **fields,
    )  # fmt: skip
