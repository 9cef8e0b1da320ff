from kohort.protocol.errors import ErrorCode
from kohort.whatif.clients.group_member import to_commit
from tests.support.broker import Broker
from tests.support.data_requests import given_topic


def test_empty_commit_creates_group() -> None:
    # Kafka 4.3.0 checks the size of the metadata after it has created the group
    broker = Broker()
    ada = broker.client()
    given_topic(ada)
    broker.server.cluster.offsets_topic.create(0)
    topics = to_commit("topic", {0: 1}, "m" * 5_000)
    answer = ada.asks("offset_commit", 9, group_id="group", member_id="", topics=topics)
    assert answer.topics[0].partitions[0].error_code == ErrorCode.offset_metadata_too_large
    assert ada.asks("delete_groups", 2, groups_names=("group",)).results[0].error_code == ErrorCode.none
