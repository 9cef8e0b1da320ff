"""Real clients continue while coordinators and leaders move, and while a broker restarts."""

from __future__ import annotations

import pytest

from kohort.demo.libraries import LIBRARIES
from tests.clients.administration import Admin, partition_of
from tests.clients.company import Company

pytestmark = pytest.mark.needs("our own broker")

ROUNDS = 3


def test_coordinator_and_leaders_move(cluster: tuple[Company, Admin]) -> None:
    company, admin = cluster
    members = [company.join(f"c{number}", library) for number, library in enumerate(LIBRARIES)]
    company.until_shared_by(*members)
    company.until_calm()
    expected = company.produce(5)
    company.until_consumed(expected, *members)
    owned = [set(member.owns) for member in members]
    generations = [member.generations[-1] for member in members]
    for number in range(ROUNDS):
        node = str(number % 3 + 1)
        admin("move-leader", "__consumer_offsets", partition_of(company), node)
        for partition in ("0", "3"):
            admin("move-leader", company.topic, partition, node)
        expected |= company.produce(5)
        company.until_consumed(expected, *members)
    # No member had to rejoin: the new coordinator knows the generation and all assignments.
    assert [member.generations[-1] for member in members] == generations
    assert [member.owns for member in members] == owned
    for member in members:
        member.stop()


def test_broker_stops_and_starts(cluster: tuple[Company, Admin]) -> None:
    company, admin = cluster
    members = [company.join(f"c{number}", library) for number, library in enumerate(LIBRARIES)]
    company.until_shared_by(*members)
    expected = company.produce(5)
    company.until_consumed(expected, *members)
    for node in ("2", "3", "1"):
        admin("stop-node", node)
        assert "stopped" in admin("nodes")
        expected |= company.produce(5)
        company.until_consumed(expected, *members)
        admin("start-node", node)
        expected |= company.produce(5)
        company.until_consumed(expected, *members)
    company.until_shared_by(*members)
    again = company.join("late", "aiokafka")
    company.until_shared_by(*members, again)
