"""Who owns what in groups whose members have epochs: partitions, or active tasks, by what members say and hear.

Something is a member's from the answer that gives it until the member says that it has it no more, joins anew, leaves,
or is taken out of the group.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from kohort.protocol.errors import ErrorCode as E

if TYPE_CHECKING:
    from kohort.coordinator.modern.modern_group import ModernGroup

T = TypeVar("T", bound=tuple[Any, int])

_LOST = (E.fenced_member_epoch, E.unknown_member_id, E.fenced_instance_id, E.group_id_not_found)
"""After these a member has given everything up."""


def allowed_by(allowance: str, value: object = True) -> str:
    """Return the end of a violation that names the field of `Budget` that permits it."""
    return f" (@pytest.mark.kafka(safety=Budget({allowance}={value})) allows this)"


@dataclass
class EpochOwners(Generic[T]):
    """What each member has been given and has not given up. `violation` is called with sentences about `things`."""

    things: str
    violation: Callable[[str], None]
    owned: dict[str, dict[str, set[T]]] = field(default_factory=dict)
    """By group and member id."""

    def members(self, group: ModernGroup) -> dict[str, set[T]]:
        """By member id: those that are gone own nothing."""
        owned = self.owned.setdefault(group.group_id, {})
        for member_id in [each for each in owned if each not in group.members]:
            del owned[member_id]
        return owned

    def heartbeat(
        self, group: ModernGroup, request: Any, response: Any, kept: set[T] | None, assigned: set[T] | None
    ) -> set[T]:
        """Notes what a member says that it has, and is told to have. Returns what it has been given with this."""
        owned, is_refused = self.owned[group.group_id], response.error_code is not E.none
        if is_refused or request.member_epoch < 0:
            if not is_refused or response.error_code in _LOST:
                owned.pop(request.member_id, None)
            return set()
        member_id = response.member_id
        if request.member_epoch == 0:
            owned[member_id] = set()
        has = owned.setdefault(member_id, set())
        if kept is not None:
            has &= kept
        given = set() if assigned is None else assigned - has
        has |= given
        self._look_at_epoch(group, member_id, response.member_epoch, has)
        return given

    def _look_at_epoch(self, group: ModernGroup, member_id: str, epoch: int, has: set[T]) -> None:
        name = f"group {group.group_id}: {member_id}"
        if epoch > group.epoch:
            self.violation(f"{name} is at epoch {epoch}, the group only at {group.epoch}")
        if has and epoch <= 0:
            self.violation(f"{name} owns {self.things} without an epoch ({epoch})")

    def disputed(self, group: ModernGroup, member_id: str, given: set[T]) -> Iterator[tuple[T, str]]:
        """What was given to a member, and is still another one's; with that one."""
        for other, has in self.owned[group.group_id].items():
            if other != member_id:
                for each in sorted(given & has):
                    yield each, other
