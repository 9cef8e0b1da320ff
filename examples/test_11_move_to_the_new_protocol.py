"""A group moves to the consumer protocol and back, member by member, under load.

Each consumer is restarted with the other `group.protocol`, as in a rolling deployment. The first one that returns
converts the group, the last one that leaves converts it back. Meanwhile records keep arriving, each is read, and no
partition ever has two owners. librdkafka's consumers run in threads.
"""

from __future__ import annotations

from typing import Any

from examples.rolling import Fleet


def test_rolling_migration_in_both_directions(kafka: Any) -> None:
    kafka.topics.create("orders", partitions=6)
    group = kafka.group("billing")
    with Fleet(kafka.bootstrap, "billing", "orders") as fleet:
        for name in ("ada", "bob"):
            fleet.start(name, "classic")
        group.wait_stable(members=2)
        assert group.migration.protocol == "classic"
        for protocol in ("consumer", "classic"):
            for name in ("ada", "bob"):
                fleet.restart(name, protocol)
                group.wait_for(lambda name=name, protocol=protocol: speaks(group, name) == protocol)
            group.wait_migrated(to=protocol, members=2, timeout=60)
            group.wait_stable(members=2, timeout=60)
        fleet.until_read(fleet.stop_writing())
    converted = [event.detail["to"] for event in group.events if event.kind == "group_converted"]
    assert converted == ["consumer", "classic"]
    assert kafka.violations == []


def speaks(group: Any, name: str) -> str | None:
    """Return the protocol of a member, or None if it is not in the group."""
    return next((member.speaks for member in group.members if member.client_id == name), None)
