"""Real clients go on while coordinators and leaders move, and while a broker stops and comes back."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator

import pytest

from kohort.coordinator.group_placement import partition_for
from kohort.demo.libraries import LIBRARIES
from tests.clients.company import LONG_SESSION_MS, Company
from tests.clients.serving import ELSEWHERE, serving

pytestmark = pytest.mark.skipif(bool(ELSEWHERE), reason="an Apache Kafka has no control address")

ROUNDS = 3


class Admin:
    """`kohort admin`, for one cluster."""

    def __init__(self, control: str) -> None:
        self._control = control

    def __call__(self, *words: str) -> str:
        command = [sys.executable, "-m", "kohort.cli", "admin", *words, "--control", self._control]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        return done.stdout


@pytest.fixture
def cluster() -> Iterator[tuple[Company, Admin]]:
    """A cluster of its own, since its brokers stop; every topic has three copies."""
    with serving(nodes=3, options=("--control", ":0", "--set", "default.replication.factor=3")) as ready:
        bootstrap, _, control = ready.partition(" control=")
        company = Company(bootstrap, copies=3, session_timeout_ms=LONG_SESSION_MS)
        yield company, Admin(control)
        company.dissolve()


def partition_of(company: Company) -> str:
    """Where the group's coordinator keeps it."""
    return str(partition_for(company.group, 50))


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
    # Nobody had to rejoin: the new coordinator knows the generation, and everybody's share.
    assert [member.generations[-1] for member in members] == generations
    assert [member.owns for member in members] == owned
    for member in members:
        member.stop()


def test_a_broker_stops_and_starts(cluster: tuple[Company, Admin]) -> None:
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
