"""kohort on segments of Apache Kafka 4.3, compared with the output of Kafka's DumpLogSegments."""

from __future__ import annotations

import gzip
import json
import re
import shutil
from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest

from kohort.protocol.errors import ErrorCode as E
from kohort.storage.disk.files import Disk
from tests.crash.life import Life
from tests.support.frames import to_fetch

RECORDED_MS = 1_795_213_800_000
"""About when the recording ended: what was committed has not expired."""
OFFSET, CLASSIC_GROUP = "1", "2"


class Dump:
    """Contents of groups in the output of DumpLogSegments."""

    def __init__(self, lines: list[str]) -> None:
        self.groups: dict[str, dict[str, Any]] = {}
        """The last record of each classic group that was not deleted."""
        self.offsets: dict[tuple[str, str, int], tuple[int, int]] = {}
        """Position in the log and value of the commit, by group, topic and partition."""
        self._open: dict[int, list[tuple[tuple[str, str, int], int, Any]]] = defaultdict(list)
        producer_id, transactional = -1, False
        for line in lines:
            if line.startswith("baseOffset:"):
                words = dict(re.findall(r"(\w+): (\S+)", line))
                producer_id, transactional = int(words["producerId"]), words["isTransactional"] == "true"
            elif marker := re.search(r"endTxnMarker: (\w+)", line):
                ended = self._open.pop(producer_id, [])
                for key, at, value in ended if marker[1] == "COMMIT" else ():
                    self._commit(key, at, value)
            elif record := re.match(r"\| offset: (\d+) .* key: (\{.*?\}\}) payload: (.*)", line):
                self._record(int(record[1]), json.loads(record[2]), record[3], producer_id if transactional else None)

    def _record(self, at: int, key: dict[str, Any], payload: str, producer_id: int | None) -> None:
        value = None if payload in ("null", "<DELETE>") else json.loads(payload)["data"]
        data = key["data"]
        if key["type"] == CLASSIC_GROUP:
            self.groups.pop(data["group"], None)
            if value is not None:
                self.groups[data["group"]] = value
        elif key["type"] == OFFSET:
            where = data["group"], data["topic"], data["partition"]
            if producer_id is None:
                self._commit(where, at, value)
            else:
                self._open[producer_id].append((where, at, value))

    def _commit(self, key: tuple[str, str, int], at: int, value: Any) -> None:
        if value is None:
            self.offsets.pop(key, None)
        elif key not in self.offsets or self.offsets[key][0] < at:
            self.offsets[key] = at, value["offset"]


@pytest.fixture(scope="module")
def dump(recording: Path) -> Dump:
    with gzip.open(recording / "dump-log-segments.txt.gz", "rt") as file:
        return Dump(file.read().splitlines())


@pytest.fixture
def life(recording: Path, tmp_path: Path) -> Life:
    shutil.copytree(recording / "segments", tmp_path / "data")
    return Life(tmp_path / "data", Disk(), at_ms=RECORDED_MS, offsets_topic_num_partitions=50)


def committed(life: Life, group: str) -> dict[tuple[str, str, int], int]:
    answer = life.hears("offset_fetch", 8, groups=to_fetch(group), require_stable=False)
    assert answer.groups[0].error_code is E.none
    return {
        (group, topic.name, part.partition_index): part.committed_offset
        for topic in answer.groups[0].topics
        for part in topic.partitions
    }


OFFSETS_KEPT = ("classic", "consumer")
"""Group types that commit offsets."""


def test_all_groups_and_offsets_exist(life: Life, dump: Dump) -> None:
    listed = {group.group_id for group in life.hears("list_groups", 5, types_filter=OFFSETS_KEPT).groups}
    assert listed == set(dump.groups) | {group for group, _, _ in dump.offsets}
    assert len(listed) > 20
    for group in listed:
        there = {key: offset for key, (_, offset) in dump.offsets.items() if key[0] == group}
        assert committed(life, group) == there


def test_members_keep_ids_and_assignments(life: Life, dump: Dump) -> None:
    alive = {name: group for name, group in dump.groups.items() if group["members"]}
    assert alive
    for name, group in alive.items():
        (described,) = life.hears("describe_groups", 3, groups=(name,)).groups
        assert described.group_state == "Stable"
        assert described.protocol_data == group["protocol"]
        assert {each.member_id for each in described.members} == {each["memberId"] for each in group["members"]}
        for member in group["members"]:
            beat = life.hears(
                "heartbeat", 3, group_id=name, generation_id=group["generation"], member_id=member["memberId"],
                group_instance_id=member["groupInstanceId"],
            )  # fmt: skip
            assert beat.error_code is E.none


def test_controller_log_is_not_a_topic(tmp_path: Path) -> None:
    for name in ("orders-0", "__cluster_metadata-0"):
        (tmp_path / "data" / name).mkdir(parents=True)
    for seed in (1, 2):
        life = Life(tmp_path / "data", Disk(), seed=seed)
        assert [topic.name for topic in life.cluster.topics] == ["orders"]
        assert not life.directory.warnings
        life.directory.close()


def test_continues_and_returns_to_kafka(life: Life, dump: Dump, tmp_path: Path) -> None:
    life.directory.close()
    new_life = Life(tmp_path / "data", Disk(), seed=2, at_ms=RECORDED_MS, offsets_topic_num_partitions=50)
    assert not new_life.directory.warnings
    listed = new_life.hears("list_groups", 5, types_filter=OFFSETS_KEPT).groups
    assert {group.group_id for group in listed} == set(dump.groups) | {group for group, _, _ in dump.offsets}


def test_share_group_continues_in_epoch(life: Life) -> None:
    (listed,) = life.hears("list_groups", 5, types_filter=("share",)).groups
    (group,) = life.hears("share_group_describe", 1, group_ids=(listed.group_id,)).groups
    assert (group.group_state, group.group_epoch, group.assignment_epoch) == ("Empty", 6, 5)
    joined = life.hears(
        "share_group_heartbeat", 1, group_id=listed.group_id, member_id="m", member_epoch=0,
        subscribed_topic_names=("orders",),
    )  # fmt: skip
    assert (joined.error_code, joined.member_epoch) == (E.none, 7)
