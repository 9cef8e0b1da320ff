"""A member whose requests repeat, as it is known to itself."""

from __future__ import annotations

from dataclasses import dataclass
from random import Random
from typing import Any

from kohort.protocol.messages.join_group import JoinGroupRequestProtocol
from kohort.whatif.clients.classic_group_member import ClassicMember
from tests.support.coordinator_world import subscription

PROTOCOLS = (("range",), ("range", "sticky"), ("sticky", "range"))


@dataclass(eq=False)
class RepeatingMember(ClassicMember):
    """State that a client knows about its membership, and the metadata that it sends with each join."""

    reason: str | None = None
    join_version: int = 0
    sync_version: int = 0

    def joining(self) -> dict[str, Any]:
        return self.join(reason=self.reason).fields

    def syncing(self, *, leads: bool) -> dict[str, Any]:
        return self.sync({self.member_id: b"share"} if leads else {}).fields


def some_member(group: str, chance: Random) -> RepeatingMember:
    names = chance.choice(PROTOCOLS)
    return RepeatingMember(
        "ada", group, instance=chance.choice((None, None, "one", "two")), session_ms=20_000, rebalance_ms=5_000,
        protocols=tuple((name, subscription("t")) for name in names), reason=chance.choice((None, "", "it is new")),
        join_version=chance.randint(0, 9), sync_version=chance.randint(0, 5),
    )  # fmt: skip


def odd_protocols(chance: Random) -> tuple[JoinGroupRequestProtocol, ...]:
    return chance.choice(((), (JoinGroupRequestProtocol(name="odd", metadata=b"\xff"),)))
