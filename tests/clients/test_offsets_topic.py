"""`__consumer_offsets` is an ordinary topic: a consumer reads the records of groups."""

from __future__ import annotations

from confluent_kafka import Consumer, TopicPartition

from kohort.coordinator.groups.group_placement import partition_for
from kohort.coordinator.offsets.offsets_topic_records import (
    GroupKey,
    OffsetKey,
    read_group_value,
    read_key,
    read_offset_value,
)
from tests.clients.company import Company
from tests.clients.ordered_process import PATIENCE_S

OFFSETS_TOPIC = "__consumer_offsets"


def test_offsets_topic_has_commits_and_generations(company: Company, library: str) -> None:
    ada = company.join("ada", library)
    company.until_consumed(company.produce(7), ada)
    ada.stop()

    reader = Consumer({"bootstrap.servers": company.bootstrap, "group.id": "unused", "enable.auto.commit": False})
    partitions = len(reader.list_topics(OFFSETS_TOPIC, PATIENCE_S).topics[OFFSETS_TOPIC].partitions)
    place = TopicPartition(OFFSETS_TOPIC, partition_for(company.group, partitions), 0)
    _, end = reader.get_watermark_offsets(place, PATIENCE_S)
    reader.assign([place])
    commits: dict[int, int] = {}
    members: list[list[str]] = []
    position = 0
    while position < end:
        message = reader.poll(PATIENCE_S)
        assert message is not None
        assert message.error() is None, message.error()
        key, value, offset = message.key(), message.value(), message.offset()
        assert isinstance(key, bytes)
        assert offset is not None
        position = offset + 1
        match read_key(key):
            case OffsetKey(company.group, company.topic, partition):
                assert isinstance(value, bytes)
                commits[partition] = read_offset_value(value).offset
            case GroupKey(company.group):
                assert isinstance(value, bytes)
                members.append([member.client_id for member in read_group_value(value).members])
            case _:
                pass  # of another test's group
    reader.close()
    assert commits == dict.fromkeys(company.partitions, 7)
    assert ["ada"] in members, "the generation with ada in it"
    assert members[-1] == [], "and the empty group that she left behind"
