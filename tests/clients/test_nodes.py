"""A cluster of three nodes, as clients see it."""

from __future__ import annotations

import itertools
from collections.abc import Callable

from confluent_kafka import ConsumerGroupTopicPartitions
from confluent_kafka.admin import AdminClient

from kohort.coordinator.groups.group_placement import partition_for
from tests.clients.company import Company
from tests.clients.ordered_process import PATIENCE_S


def test_partitions_are_led_by_different_nodes(company: Company) -> None:
    metadata = AdminClient({"bootstrap.servers": company.bootstrap}).list_topics(company.topic, PATIENCE_S)
    assert len(metadata.brokers) == 3
    assert metadata.controller_id in metadata.brokers
    leaders = {partition.leader for partition in metadata.topics[company.topic].partitions.values()}
    assert leaders == metadata.brokers.keys()


def test_any_node_leads_to_the_others(make_company: Callable[..., Company], bootstrap: str, library: str) -> None:
    for address in bootstrap.split(","):
        company = make_company(partitions=3)
        company.bootstrap = address
        ada = company.join("ada", library)
        company.until_consumed(company.produce(1), ada)
        ada.stop()


def test_groups_are_coordinated_by_different_nodes(make_company: Callable[..., Company], bootstrap: str) -> None:
    companies = [make_company(partitions=1) for _ in range(3)]
    for number, company in enumerate(companies):
        names = (f"{company.group}-{n}" for n in itertools.count())
        company.group = next(name for name in names if partition_for(name, 50) == number)
    admin = AdminClient({"bootstrap.servers": bootstrap})
    for company in companies:
        ada = company.join("ada", "confluent-kafka")
        company.until_consumed(company.produce(3), ada)
        ada.stop()
    described = admin.describe_consumer_groups([company.group for company in companies])
    coordinators = {described[company.group].result(PATIENCE_S).coordinator.id for company in companies}
    assert coordinators == {1, 2, 3}
    for company in companies:
        asked = admin.list_consumer_group_offsets([ConsumerGroupTopicPartitions(company.group)])
        committed = asked[company.group].result(PATIENCE_S).topic_partitions
        assert [(item.topic, item.partition, item.offset) for item in committed] == [(company.topic, 0, 3)]
