"""Plays groups of the consumer protocol on a real Kafka, and packs what it keeps, for test_kafkas_consumer_groups.

    ../shared/conformance/kafka start --profile consumer --port 31000 --set offsets.topic.num.partitions=3
    python -m tests.crash.recording 31000 .../clusters/31000/node-1 tests/crash/kafka-4.3-consumer-groups.tar.gz

The directory is the broker's `log.dirs`. Stop Kafka, and provide its directory, when this script requests it.
"""

from __future__ import annotations

import json
import sys
import tarfile
from dataclasses import asdict
from io import BytesIO
from pathlib import Path
from typing import Any

from kohort.protocol.consumer_protocol import Subscription, write_subscription
from kohort.protocol.errors import ErrorCode as E
from kohort.protocol.messages.create_topics import CreatableTopic
from kohort.protocol.messages.join_group import JoinGroupRequestProtocol
from kohort.whatif.clients.group_member import ELSEWHERE, to_commit
from tests.support.wires import Blocking

GROUPS = ("modern", "giving-up", "mixed", "became-classic", "empty")


class Kafka(Blocking):
    """A connection that sends one request after the other."""

    def asks(self, name: str, version: int, *allowed: E, **fields: Any) -> Any:
        """Return the response, after retries of transient errors; fails on any error but `allowed`."""
        while True:
            response = super().asks(name, version, **fields)
            error = getattr(response, "error_code", E.none)
            if error not in ELSEWHERE:
                assert error in (E.none, *allowed), (name, response)
                return response

    def beats(self, group: str, member: str, epoch: int, **fields: Any) -> Any:
        """Send a heartbeat; a first one contains all fields."""
        if epoch == 0:
            fields = {"rebalance_timeout_ms": 300_000, "topic_partitions": (), **fields}
        return self.asks("consumer_group_heartbeat", 1, group_id=group, member_id=member, member_epoch=epoch, **fields)

    def settles(self, group: str, member: str, epoch: int) -> int:
        """Send heartbeats until the member owns its target assignment, and return its epoch."""
        for _ in range(5):
            response = self.beats(group, member, epoch)
            epoch = response.member_epoch
            if response.assignment is not None:
                epoch = self.beats(
                    group, member, epoch, topic_partitions=response.assignment.topic_partitions
                ).member_epoch
        return epoch

    def joins(self, group: str, member: str = "") -> Any:
        """Join as a member of the classic protocol, subscribed to foo."""
        metadata = write_subscription(Subscription(version=1, topics=("foo",)))
        fields: dict[str, Any] = {"group_id": group, "session_timeout_ms": 300_000, "rebalance_timeout_ms": 300_000}
        fields |= {
            "protocol_type": "consumer",
            "protocols": (JoinGroupRequestProtocol(name="range", metadata=metadata),),
        }
        response = self.asks("join_group", 5, E.member_id_required, member_id=member, **fields)
        return response if response.error_code is E.none else self.joins(group, response.member_id)

    def syncs(self, group: str, joined: Any) -> None:
        fields = {"group_id": group, "generation_id": joined.generation_id, "member_id": joined.member_id}
        self.asks("sync_group", 3, assignments=(), **fields)


def play(kafka: Kafka) -> None:
    """Create every type of record of consumer groups, and of groups that changed their protocol."""
    topics = tuple(
        CreatableTopic(name=name, num_partitions=count, replication_factor=1, assignments=(), configs=())
        for name, count in (("foo", 4), ("bar", 2))
    )
    kafka.asks("create_topics", 7, topics=topics, timeout_ms=30_000, validate_only=False)
    for group in GROUPS:
        kafka.asks("find_coordinator", 4, coordinator_keys=(group,), key_type=0)
    kafka.beats("modern", "ada", 0, subscribed_topic_names=("foo",), rack_id="r1", server_assignor="range")
    kafka.beats("modern", "bob", 0, subscribed_topic_names=("bar", "foo"), instance_id="i-bob")
    kafka.beats("modern", "eve", 0, subscribed_topic_regex="fo+")
    epochs: dict[str, int] = {}
    for _ in range(2):
        for member in ("ada", "bob", "eve"):
            epochs[member] = kafka.settles("modern", member, epochs.get(member) or _epoch(kafka, "modern", member))
    commit(kafka, "modern", "ada", epochs["ada"])

    first = kafka.beats("giving-up", "ada", 0, subscribed_topic_names=("foo",))
    kafka.beats("giving-up", "ada", first.member_epoch, topic_partitions=first.assignment.topic_partitions)
    kafka.beats("giving-up", "bob", 0, subscribed_topic_names=("foo",))
    kafka.beats("giving-up", "ada", first.member_epoch)

    for group in ("mixed", "became-classic"):
        kafka.beats(group, "ada", 0, subscribed_topic_names=("foo",))
        epoch = _epoch(kafka, group, "ada")
        joined = kafka.joins(group)
        kafka.settles(group, "ada", epoch)
        joined = kafka.joins(group, joined.member_id)
        kafka.syncs(group, joined)
    kafka.beats("became-classic", "ada", -1)

    kafka.beats("empty", "ada", 0, subscribed_topic_names=("foo",))
    commit(kafka, "empty", "ada", _epoch(kafka, "empty", "ada"))
    kafka.beats("empty", "ada", -1)


def _epoch(kafka: Kafka, group: str, member: str) -> int:
    (description,) = describe(kafka, group)
    return next(int(each["member_epoch"]) for each in description["members"] if each["member_id"] == member)


def commit(kafka: Kafka, group: str, member: str, epoch: int) -> None:
    """Commit offset 17 of foo-0."""
    fields = {"group_id": group, "member_id": member, "generation_id_or_member_epoch": epoch}
    answer = kafka.asks("offset_commit", 9, topics=to_commit("foo", {0: 17}), **fields)
    assert answer.topics[0].partitions[0].error_code is E.none, answer


def describe(kafka: Any, *groups: str) -> list[dict[str, Any]]:
    """Return the responses of ConsumerGroupDescribe as JSON values."""
    answer = kafka.asks("consumer_group_describe", 1, group_ids=groups)
    return [json.loads(json.dumps(asdict(group), default=str)) for group in answer.groups]


def pack(directory: Path, told: list[dict[str, Any]], file: Path) -> None:
    """Write the partitions with records and Kafka's responses to one file."""
    with tarfile.open(file, "w:gz") as archive:
        data = json.dumps(told, indent=1).encode()
        info = tarfile.TarInfo("described.json")
        info.size = len(data)
        archive.addfile(info, BytesIO(data))
        for folder in sorted(path for path in directory.glob("*-[0-9]*") if not path.name.startswith("__cluster")):
            for kept in (*sorted(folder.glob("*.log")), *folder.glob("partition.metadata")):
                archive.add(kept, f"data/{folder.name}/{kept.name}", filter=_anonymous)


def _anonymous(info: tarfile.TarInfo) -> tarfile.TarInfo:
    info.uid = info.gid = 0
    info.uname = info.gname = ""
    return info


if __name__ == "__main__":
    kafka = Kafka(int(sys.argv[1]))
    play(kafka)
    told = describe(kafka, *GROUPS)
    print(json.dumps(told, indent=1))
    input("stop Kafka, and press Enter ")
    pack(Path(sys.argv[2]), told, Path(sys.argv[3]))
