"""Owners of partitions or active tasks in groups with member epochs, derived from requests and responses.

A member owns something from the response that assigns it until the member reports that it no longer owns it, rejoins,
leaves, or is removed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from kohort.protocol.errors import ErrorCode as E

if TYPE_CHECKING:
    from kohort.coordinator.modern.modern_group import ModernGroup

T = TypeVar("T", bound=tuple[Any, int])

# after these errors a member has lost its assignment
_LOST = (E.fenced_member_epoch, E.unknown_member_id, E.fenced_instance_id, E.group_id_not_found)


def allowed_by(allowance: str, value: object = True) -> str:
    """Return the end of a violation that names the field of `Budget` that permits it."""
    return f" (@pytest.mark.kafka(safety=Budget({allowance}={value})) allows this)"


@dataclass
class EpochOwners(Generic[T]):
    """Partitions or tasks that each member was assigned and has not revoked. `violation` is called with sentences."""

    things: str
    violation: Callable[[str], None]
    owned: dict[str, dict[str, set[T]]] = field(default_factory=dict)  # by group id and member id

    def members(self, group: ModernGroup) -> dict[str, set[T]]:
        owned = self.owned.setdefault(group.group_id, {})
        for member_id in [owner for owner in owned if owner not in group.members]:
            del owned[member_id]
        return owned

    def heartbeat(
        self, group: ModernGroup, request: Any, response: Any, kept: set[T] | None, assigned: set[T] | None
    ) -> set[T]:
        """Record what a member reports and is assigned. Return what this response newly assigns."""
        owned, is_refused = self.owned[group.group_id], response.error_code is not E.none
        if is_refused or request.member_epoch < 0:
            if not is_refused or response.error_code in _LOST:
                owned.pop(request.member_id, None)
            return set()
        member_id = response.member_id
        if request.member_epoch == 0:
            owned[member_id] = set()
        current = owned.setdefault(member_id, set())
        if kept is not None:
            current &= kept
        added = set() if assigned is None else assigned - current
        current |= added
        self._check_epoch(group, member_id, response.member_epoch, current)
        return added

    def _check_epoch(self, group: ModernGroup, member_id: str, epoch: int, current: set[T]) -> None:
        name = f"group {group.group_id}: {member_id}"
        if epoch > group.epoch:
            self.violation(f"{name} is at epoch {epoch}, the group only at {group.epoch}")
        if current and epoch <= 0:
            self.violation(f"{name} owns {self.things} without an epoch ({epoch})")

    def disputed(self, group: ModernGroup, member_id: str, added: set[T]) -> Iterator[tuple[T, str]]:
        """Yield newly assigned partitions or tasks that another member still owns, with that member's id."""
        for other, current in self.owned[group.group_id].items():
            if other != member_id:
                for item in sorted(added & current):
                    yield item, other
