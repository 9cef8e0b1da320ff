"""What a test asks of a group of a newer protocol, whose epochs count what happened to it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kohort.control.any_group import AnyGroup

if TYPE_CHECKING:
    from kohort.coordinator.modern.modern_group import ModernGroup


class EpochGroup(AnyGroup):
    """A share group or a streams group."""

    @property
    def type(self) -> str:
        """`share` or `streams`; empty where there is no such group."""
        group = self._found()
        return group.group_type if group is not None else ""

    @property
    def generation(self) -> int:
        """The group epoch; 0 where there is no such group."""
        group = self._found()
        return group.epoch if group is not None else 0

    @property
    def assignment_epoch(self) -> int:
        """The epoch that the target assignment was computed for."""
        group = self._found()
        return group.target_epoch if group is not None else 0

    # Within

    def _found(self) -> ModernGroup | None:
        """Raises ControlError where it is a group of another kind."""
        raise NotImplementedError

    def _state(self) -> str:
        group = self._found()
        return str(group.state.value) if group is not None else ""
