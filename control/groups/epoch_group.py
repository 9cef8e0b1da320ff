"""Base class of the groups with epochs that tests inspect."""

from __future__ import annotations

from typing import Any, ClassVar

from kohort.control.control_errors import ControlError
from kohort.control.groups.any_group import AnyGroup


class EpochGroup(AnyGroup):
    """Handle of a share group or a streams group."""

    _type: ClassVar[str]

    @property
    def type(self) -> str:
        """The group type, `share` or `streams`; empty if the group doesn't exist."""
        return "" if self._find_group() is None else self._type

    @property
    def generation(self) -> int:
        """The group epoch; 0 if the group doesn't exist."""
        group = self._find_group()
        return 0 if group is None else int(group.epoch)

    @property
    def assignment_epoch(self) -> int:
        """The epoch of the target assignment."""
        group = self._find_group()
        return 0 if group is None else int(group.target_epoch)

    # Internals

    def _find_group(self) -> Any:
        if self._is_another():
            raise ControlError(f"group {self.id} is not a {self._type} group; use group({self.id!r})")
        return self._laboratory.find(self.id)

    def _is_another(self) -> bool:
        group = self._laboratory.find(self.id)
        return group is not None and group.group_type != self._type
