"""Groups of the consumer protocol (KIP-848), with clients that speak it; and groups that change their protocol."""

from __future__ import annotations

from pathlib import Path

import pytest
from confluent_kafka.admin import AdminClient, AlterConfigOpType, ConfigEntry, ConfigResource, ResourceType

from kohort.demo.libraries import LIBRARIES
from tests.clients.administration import Admin, partition_of
from tests.clients.company import (
    LONG_SESSION_MS,
    LONGEST_CONSUMER_SESSION_MS,
    SESSION_TIMEOUT_MS,
    Company,
    Member,
)
from tests.clients.libraries import BY_NAME, usable
from tests.clients.ordered_process import PATIENCE_S
from tests.restarting import SERVE, kill, restart, start
from tests.support.effort import in_turn
from tests.support.lacking import lacks

LIBRARY = "confluent-kafka"


@pytest.fixture
def group(company: Company) -> Company:
    """A group whose members are missed after SESSION_TIMEOUT_MS: these do not say themselves when."""
    miss_after(company, SESSION_TIMEOUT_MS)
    return company


def miss_after(company: Company, session_timeout_ms: int) -> None:
    """Set the session timeout of a group, which need not exist yet."""
    entry = ConfigEntry(
        "consumer.session.timeout.ms",
        str(session_timeout_ms),
        incremental_operation=AlterConfigOpType.SET,
    )
    resource = ConfigResource(ResourceType.GROUP, company.group, incremental_configs=[entry])
    admin = AdminClient({"bootstrap.servers": company.bootstrap})
    (done,) = admin.incremental_alter_configs([resource]).values()
    done.result(PATIENCE_S)


def joins(
    company: Company, name: str, library: str = LIBRARY, *, instance: str | None = None, topic: str | None = None
) -> Member:
    """Start a member of the consumer protocol."""
    return company.join(name, library, protocol="consumer", instance=instance, topic=topic)


def kind_of(company: Company) -> str:
    """Return the protocol of the company's group, as listed by a broker."""
    admin = AdminClient({"bootstrap.servers": company.bootstrap})
    listed = admin.list_consumer_groups().result(PATIENCE_S)
    return str(next(group.type.name for group in listed.valid if group.group_id == company.group))


def test_members_join_late_and_leave(group: Company, modern_library: str) -> None:
    sent = group.produce(10)
    ada, bob = joins(group, "ada", modern_library), joins(group, "bob", modern_library)
    group.until_shared_by(ada, bob)
    assert kind_of(group) == "CONSUMER"
    eve = joins(group, "eve", modern_library)
    group.until_shared_by(ada, bob, eve)
    bob.stop()
    group.until_shared_by(ada, eve)
    sent |= group.produce(10)
    group.until_consumed(sent, ada, bob, eve)
    # librdkafka may read records again of a partition that it keeps, with an Apache Kafka, too: these are ignored.
    group.assert_never_two_owners()


def test_only_moved_partitions_are_revoked(group: Company, modern_library: str) -> None:
    ada = joins(group, "ada", modern_library)
    group.until_shared_by(ada)
    bob = joins(group, "bob", modern_library)
    group.until_shared_by(ada, bob)
    group.until_calm()
    assert len(ada.revoked) == len(group.partitions) // 2
    assert not bob.revoked


def test_crashed_member_expires(group: Company, modern_library: str) -> None:
    ada, bob = joins(group, "ada", modern_library), joins(group, "bob", modern_library)
    group.until_shared_by(ada, bob)
    bob.crash()
    group.until_shared_by(ada)
    sent = group.produce(10)
    group.until_consumed(sent, ada)
    group.assert_never_two_owners()


def test_pattern_matches_its_topic(group: Company, modern_library: str) -> None:
    ada = joins(group, "ada", modern_library, topic=f"^{group.topic[:-1]}.$")
    bob = joins(group, "bob", modern_library)
    group.until_shared_by(ada, bob)
    sent = group.produce(10)
    group.until_consumed(sent, ada, bob)


def test_static_member_keeps_its_partitions(group: Company, modern_library: str) -> None:
    if not BY_NAME[modern_library].steps_out:
        lacks("feature", f"{modern_library} steps out without its group instance id, which Kafka refuses, too")
    miss_after(group, LONGEST_CONSUMER_SESSION_MS)
    ada = joins(group, "ada", modern_library, instance="i-ada")
    bob = joins(group, "bob", modern_library, instance="i-bob")
    group.until_shared_by(ada, bob)
    group.until_calm()
    had, moved = set(bob.owns), len(ada.revoked)
    bob.stop()
    again = joins(group, "bob again", modern_library, instance="i-bob")
    group.until_shared_by(ada, again)
    assert again.owns == had
    assert len(ada.revoked) == moved
    sent = group.produce(10)
    group.until_consumed(sent, ada, bob, again)


# A group that changes its protocol while it lives


MOVES_IN_PYTHON = [
    ("kafka-python", LIBRARY, True),
    (LIBRARY, LIBRARY, False),
    ("kafka-python", LIBRARY, False),
    ("aiokafka", LIBRARY, False),
]
MOVES = [
    *in_turn(MOVES_IN_PYTHON, 0),
    ("kafka-clients 4.4.0", "kafka-clients 4.4.0", False),
    ("kafka-clients 4.4.0", "kafka-clients 4.4.0", True),
    ("kafka-clients 2.8.2", "franz-go", True),
    ("franz-go", LIBRARY, True),
    ("sarama", "rdkafka (Rust)", False),
    ("kafkajs", "kafka-clients 4.4.0", False),
    ("rdkafka (Rust)", "franz-go", False),
]  # library of the classic members, library of the consumer members, and whether the classic ones are cooperative


def move(classic: str, modern: str, cooperative: bool) -> object:
    """Return one of the moves as a test's parameters."""
    here = {"aiokafka", "kafka-python", LIBRARY}
    marks = () if {classic, modern} <= here else pytest.mark.libraries
    name = f"{classic}-{'cooperative' if cooperative else 'eager'}-{modern}"
    return pytest.param(classic, modern, cooperative, id=name, marks=marks)


@pytest.mark.parametrize(("library", "modern_library", "cooperative"), [move(*item) for item in MOVES])
def test_group_migrates_and_returns(group: Company, library: str, modern_library: str, cooperative: bool) -> None:
    usable(library), usable(modern_library)
    classic = [group.join(f"classic {number}", library, cooperative=cooperative) for number in range(2)]
    group.until_shared_by(*classic)
    sent = group.produce(5)
    assert kind_of(group) == "CLASSIC"

    modern: list[Member] = []
    while classic:
        modern.append(joins(group, f"modern {len(modern)}", modern_library))
        group.until_shared_by(*classic, *modern)
        sent |= group.produce(5)
        group.until_consumed(sent, *group.members)
        assert kind_of(group) == "CONSUMER"
        classic.pop().stop()
        group.until_shared_by(*classic, *modern)
    sent |= group.produce(5)
    group.until_consumed(sent, *group.members)

    while modern:
        classic.append(group.join(f"back {len(classic)}", library, cooperative=cooperative))
        group.until_shared_by(*classic, *modern)
        sent |= group.produce(5)
        group.until_consumed(sent, *group.members)
        modern.pop().stop()
        group.until_shared_by(*classic, *modern)
    group.until_calm()
    assert kind_of(group) == "CLASSIC"
    sent |= group.produce(5)
    group.until_consumed(sent, *group.members)
    group.assert_never_two_owners()


def test_librdkafka_sticky_group_stays_classic(group: Company) -> None:
    members: list[Member] = []
    for name in ("ada", "bob"):  # from the second generation on there is something to put there
        members.append(group.join(name, LIBRARY, cooperative=True))
        group.until_shared_by(*members)
        group.until_calm()
    refused = joins(group, "refused")
    sent = group.produce(10)
    group.until_consumed(sent, *members)
    group.until_calm()
    assert kind_of(group) == "CLASSIC"
    assert not refused.owns
    group.until_shared_by(*members)


def test_mixed_libraries_and_protocols_share_group(group: Company) -> None:
    sent = group.produce(10)
    members = [group.join(library, library) for library in LIBRARIES]
    group.until_shared_by(*members)
    modern = joins(group, "modern")
    group.until_shared_by(*members, modern)
    group.until_consumed(sent, *members, modern)
    members.pop(0).crash()
    group.until_shared_by(*members, modern)
    modern.crash()
    group.until_shared_by(*members)
    group.until_calm()
    assert kind_of(group) == "CLASSIC"
    sent = group.produce(10)
    group.until_consumed(sent, *members)


# Coordinators that move, and brokers that are killed


CREWS = [
    pytest.param((LIBRARY, LIBRARY), "kafka-python", id="Python"),
    pytest.param(
        ("kafka-clients 4.4.0", "franz-go", "rdkafka (Rust)", LIBRARY),
        "kafka-clients 2.8.2",
        id="several languages",
        marks=pytest.mark.libraries,
    ),
]  # libraries of a group's consumer members, and library of its classic member


def crew(company: Company, modern: tuple[str, ...], classic: str) -> list[Member]:
    """Yield a group of both protocols; its second member is static."""
    for library in (*modern, classic):
        usable(library)
    members = [
        joins(company, f"modern {number}", library, instance="i-static" if number == 1 else None)
        for number, library in enumerate(modern)
    ]
    members.append(company.join("classic", classic))
    company.until_shared_by(*members)
    company.until_calm()
    return members


@pytest.mark.needs("our own broker")
@pytest.mark.parametrize(("modern", "classic"), CREWS)
def test_coordinator_moves(cluster: tuple[Company, Admin], modern: tuple[str, ...], classic: str) -> None:
    company, admin = cluster
    members = crew(company, modern, classic)
    owned = [set(member.owns) for member in members]
    expected: set[tuple[int, int]] = set()
    for node in ("1", "2", "3", "1"):
        admin("move-leader", "__consumer_offsets", partition_of(company), node)
        expected |= company.produce(5)
        company.until_consumed(expected, *members)
    assert [member.owns for member in members] == owned
    eve = joins(company, "eve")
    company.until_shared_by(*members, eve)
    for member in (*members, eve):
        member.stop()
    company.assert_never_two_owners()


@pytest.mark.needs("our own broker")
@pytest.mark.parametrize("fsync", ["never", "always"])
@pytest.mark.parametrize(("modern", "classic"), CREWS)
def test_members_survive_broker_kill(tmp_path: Path, modern: tuple[str, ...], classic: str, fsync: str) -> None:
    session = f"group.consumer.session.timeout.ms={LONGEST_CONSUMER_SESSION_MS}"
    made = Company(start(tmp_path, (*SERVE, "--fsync", fsync, "--set", session)), session_timeout_ms=LONG_SESSION_MS)
    try:
        members = crew(made, modern, classic)
        expected = made.produce(5)
        made.until_consumed(expected, *members)
        owned = [set(member.owns) for member in members]
        restart(tmp_path)
        expected |= made.produce(5)
        made.until_consumed(expected, *members)
        assert [member.owns for member in members] == owned
        eve = joins(made, "eve")
        made.until_shared_by(*members, eve)
        restart(tmp_path)
        expected |= made.produce(5)
        made.until_consumed(expected, *members, eve)
        made.assert_never_two_owners()
    finally:
        made.dissolve()
        kill(tmp_path)
