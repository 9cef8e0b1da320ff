"""The hash of a group's topics: vectors that follow from KIP-1101, as Kafka's `Utils.computeTopicHash` has them."""

from uuid import UUID

from kohort.coordinator.modern.hashing import group_hash, topic_hash
from kohort.coordinator.topic_info import TopicInfo

FOO = TopicInfo(UUID(int=1 << 64 | 2), "foo", 2)
BAR = TopicInfo(UUID(int=3 << 64 | 4), "bar", 1)
IN_RACKS = FOO._replace(racks=(("rack1", "rack0"), ("rack1", "rack2")))


def test_topic_hashes_equal_kafka() -> None:
    assert topic_hash(FOO) == -5159372484819424185
    assert topic_hash(BAR) == -7579121919713719370
    assert topic_hash(IN_RACKS) == 4353889350917689232


def test_group_hashes_equal_kafka() -> None:
    assert group_hash([]) == 0
    assert group_hash([FOO]) == 7735322124282634187
    assert group_hash([FOO, BAR]) == group_hash([BAR, FOO]) == 8984983846963856724
