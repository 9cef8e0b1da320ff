from kohort.protocol.errors import ErrorCode
from kohort.protocol.messages.offset_commit import OffsetCommitRequestPartition, OffsetCommitRequestTopic
from tests.support.broker import Broker
from tests.support.data_requests import given_topic


def test_a_commit_of_which_nothing_is_kept_makes_its_group_all_the_same() -> None:
    """As in Kafka 4.3.0, which looks at the metadata's size when it has the group."""
    broker = Broker()
    ada = broker.client()
    given_topic(ada)
    broker.server.cluster.offsets_topic.create(0)
    part = OffsetCommitRequestPartition(partition_index=0, committed_offset=1, committed_metadata="m" * 5_000)
    topics = (OffsetCommitRequestTopic(name="topic", partitions=(part,)),)
    answer = ada.asks("offset_commit", 9, group_id="group", member_id="", topics=topics)
    assert answer.topics[0].partitions[0].error_code == ErrorCode.offset_metadata_too_large
    assert ada.asks("delete_groups", 2, groups_names=("group",)).results[0].error_code == ErrorCode.none
