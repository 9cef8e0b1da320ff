"""Share groups (KIP-932) with clients that speak them: at least once, nothing lost, delivery counts right."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.clients.administration import Admin
from tests.clients.libraries import usable
from tests.clients.serving import serving
from tests.clients.sharing import CONFLUENT, FRANZ_GO, JAVA, LIBRARIES, Place, Sharing, accept, command_of, hold
from tests.restarting import SERVE, kill, restart, start

LOCK_MS = 2_000  # less than Kafka's defaults allow: see conftest.py


@pytest.fixture(
    params=[pytest.param(library, marks=() if library == CONFLUENT else pytest.mark.libraries) for library in LIBRARIES]
)
def library(request: pytest.FixtureRequest) -> str:
    """Each client that knows share groups."""
    return usable(request.param, command_of)


@pytest.fixture
def queue(bootstrap: str) -> Iterator[Sharing]:
    """A share group on a topic with one partition."""
    queue = Sharing(bootstrap, share_record_lock_duration_ms=str(LOCK_MS))
    yield queue
    queue.close()


def test_members_share_partition_without_duplicates(queue: Sharing, library: str) -> None:
    members = [queue.join(name, library, most=20) for name in ("ada", "bob", "eve")]
    sent: set[Place] = set()
    while not all(member.got for member in members):
        sent |= queue.produce(50)
        queue.until(lambda: queue.got >= sent, "all have come")  # noqa: B023
    # A member that stops before its next poll releases its records.
    queue.until(lambda: all(member.is_idle for member in members), "all are acknowledged")
    for member in members:
        member.stop()
    assert {place: queue.counts(place) for place in sent} == {key: [1] for key in sent}


def test_crashed_member_records_are_redelivered(queue: Sharing, library: str) -> None:
    sent = queue.produce(10)
    eve = queue.join("eve", library, hold)
    queue.until(lambda: queue.got >= sent, "eve has them")
    eve.crash()
    bob = queue.join("bob", library, accept)
    queue.until(lambda: {place for place, _ in bob.got} >= sent, "bob has them")
    bob.stop()
    assert {place: queue.counts(place) for place in sent} == {key: [1, 2] for key in sent}


def test_slow_member_loses_its_records(queue: Sharing, library: str) -> None:
    sent = queue.produce(5)
    queue.join("slow", library, hold)
    queue.until(lambda: queue.got >= sent, "slow has them")
    quick = queue.join("quick", library, accept)
    queue.until(lambda: {place for place, _ in quick.got} >= sent, "their locks have expired")
    for place in sent:
        first, last = queue.counts(place)
        assert first == 1
        assert last > 1


def test_poison_record_reaches_delivery_limit(bootstrap: str, library: str) -> None:
    queue = Sharing(bootstrap, share_delivery_count_limit="3")
    try:
        sent = queue.produce(6, one_by_one=True)
        poison = (0, 2)
        ada = queue.join("ada", library, lambda place, _: "release" if place == poison else "accept")
        queue.until(lambda: queue.counts(poison) == [1, 2, 3] and queue.got >= sent, "the limit is reached")
        more = queue.produce(3)
        queue.until(lambda: queue.got >= more, "the others continue")
        ada.stop()
        assert queue.counts(poison) == [1, 2, 3]
        assert all(queue.counts(place) == [1] for place in (sent | more) - {poison})
    finally:
        queue.close()


def test_released_comes_again_rejected_does_not(queue: Sharing, library: str) -> None:
    answers = {((0, 0), 1): "release", ((0, 1), 1): "reject"}
    sent = queue.produce(4, one_by_one=True)
    ada = queue.join("ada", library, lambda place, count: answers.get((place, count), "accept"))
    queue.until(lambda: queue.counts((0, 0)) == [1, 2] and queue.got >= sent, "the released one is back")
    more = queue.produce(2)
    queue.until(lambda: queue.got >= more, "new ones have come")
    ada.stop()
    assert queue.counts((0, 1)) == [1]


@pytest.mark.parametrize("library", [JAVA, FRANZ_GO])
@pytest.mark.libraries
def test_renewed_lock_keeps_record(bootstrap: str, library: str) -> None:
    queue = Sharing(bootstrap, share_record_lock_duration_ms=str(3 * LOCK_MS))
    try:
        slow = queue.join("slow", usable(library, command_of), hold)
        (place,) = queue.produce(1)
        queue.until(lambda: bool(queue.got), "slow has it")
        other = queue.join("other", library, accept)
        for _ in range(4):
            time.sleep(LOCK_MS / 1000)
            slow.says("renew", place)
        assert other.got == []
        slow.says("accept", place)
        more = queue.produce(3)
        queue.until(lambda: queue.got >= more, "others have come")
        assert queue.counts(place) == [1]
        assert slow.problems == []
    finally:
        queue.close()


@pytest.mark.needs("our own broker")
def test_killed_broker_keeps_accepted_records(tmp_path: Path, library: str) -> None:
    queue = Sharing(start(tmp_path, (*SERVE, "--fsync", "always")))
    try:
        sent = queue.produce(20, one_by_one=True)
        held = {place for place in sent if place[1] >= 10}
        ada = queue.join("ada", library, lambda place, count: "" if place in held else "accept", most=1)
        queue.until(lambda: queue.got >= sent - held and bool(queue.got & held), "the first half is accepted")
        restart(tmp_path)
        ada.crash()
        bob = queue.join("bob", library, accept)
        queue.until(
            lambda: {place for place, _ in bob.got} >= held, "records that were not accepted are delivered again"
        )
        bob.stop()
        assert {place: queue.counts(place) for place in sent - held} == {key: [1] for key in sent - held}
    finally:
        queue.close()
        kill(tmp_path)


@pytest.mark.needs("our own broker")
def test_moved_leaders_lose_no_record(library: str) -> None:
    settings = ("--set", "default.replication.factor=3", "--set", "share.coordinator.state.topic.replication.factor=3")
    with serving(nodes=3, options=("--control", ":0", *settings)) as ready:
        bootstrap, _, control = ready.partition(" control=")
        queue, admin = Sharing(bootstrap, partitions=3, copies=3), Admin(control)
        members = [queue.join(name, library) for name in ("ada", "bob")]
        sent = queue.produce(5)
        queue.until(lambda: queue.got >= sent, "the first have come")
        for node in ("2", "3", "1"):
            for happens in ("stop-node", "start-node"):
                admin(happens, node)
                sent |= queue.produce(5)
                queue.until(lambda: queue.got >= sent, f"all have come after {happens} {node}")  # noqa: B023
        for member in members:
            member.stop()
        queue.close()
