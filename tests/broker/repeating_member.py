"""A member whose requests repeat, as it is known to itself."""

from __future__ import annotations

from random import Random
from typing import Any

from kohort.protocol.messages.join_group import JoinGroupRequestProtocol
from kohort.protocol.messages.sync_group import SyncGroupRequestAssignment
from tests.support.coordinator_world import subscription

PROTOCOLS = (("range",), ("range", "sticky"), ("sticky", "range"))


class Member:
    """What somebody believes to be in a group, and what it says of itself whenever it joins."""

    def __init__(self, group: str, chance: Random) -> None:
        self.group = group
        self.member_id = ""
        self.generation = -1
        self.join_version, self.sync_version = chance.randint(0, 9), chance.randint(0, 5)
        self.instance_id = chance.choice((None, None, "one", "two"))
        names = chance.choice(PROTOCOLS)
        self.protocols = tuple(JoinGroupRequestProtocol(name=each, metadata=subscription("t")) for each in names)
        self.reason = chance.choice((None, "", "it is new"))

    def _named(self, since: int, version: int) -> dict[str, Any]:
        """`since`: the version in which instance ids came."""
        named = {"group_id": self.group, "member_id": self.member_id}
        return {**named, "group_instance_id": self.instance_id} if version >= since else named

    def heartbeat(self, version: int) -> dict[str, Any]:
        """The fields of its Heartbeat."""
        return {**self._named(3, version), "generation_id": self.generation}

    def join(self, version: int) -> dict[str, Any]:
        """The fields of its JoinGroup."""
        fields = {**self._named(5, version), "session_timeout_ms": 20_000}
        if version >= 1:
            fields["rebalance_timeout_ms"] = 5_000
        if version >= 8:
            fields["reason"] = self.reason
        return {**fields, "protocol_type": "consumer", "protocols": self.protocols}

    def sync(self, version: int, *, leads: bool) -> dict[str, Any]:
        """The fields of its SyncGroup."""
        share = SyncGroupRequestAssignment(member_id=self.member_id, assignment=b"share")
        fields = {**self._named(3, version), "generation_id": self.generation}
        if version >= 5:
            fields |= {"protocol_type": "consumer", "protocol_name": self.protocols[0].name}
        return {**fields, "assignments": (share,) if leads else ()}


def odd_protocols(chance: Random) -> tuple[JoinGroupRequestProtocol, ...]:
    """None, or one that nobody else has."""
    return chance.choice(((), (JoinGroupRequestProtocol(name="odd", metadata=b"\xff"),)))
