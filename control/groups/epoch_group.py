"""Base class of the groups with epochs that tests inspect."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kohort.control.groups.any_group import AnyGroup

if TYPE_CHECKING:
    from kohort.coordinator.modern.modern_group import ModernGroup


class EpochGroup(AnyGroup):
    """Handle of a share group or a streams group."""

    @property
    def type(self) -> str:
        """The group type, `share` or `streams`; empty if the group doesn't exist."""
        group = self._find_group()
        return group.group_type if group is not None else ""

    @property
    def generation(self) -> int:
        """The group epoch; 0 if the group doesn't exist."""
        group = self._find_group()
        return group.epoch if group is not None else 0

    @property
    def assignment_epoch(self) -> int:
        """The epoch of the target assignment."""
        group = self._find_group()
        return group.target_epoch if group is not None else 0

    # Internals

    def _find_group(self) -> ModernGroup | None:
        """Return the group if it exists. Raise ControlError if it has another type."""
        raise NotImplementedError

    def _state(self) -> str:
        group = self._find_group()
        return str(group.state.value) if group is not None else ""
