"""View of a streams group (KIP-1071) for tests: the tasks of each member, and the reasons for unassigned tasks."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from kohort.control.groups.any_group import AnyGroup
from kohort.control.suggesting import suggest_names
from kohort.groups.group_members import TaskMember
from kohort.groups.type_words import STREAMS

if TYPE_CHECKING:
    from kohort.groups.topology import LabTopology


@suggest_names
class StreamsGroup(AnyGroup):
    """A streams group. Task ids are those of Kafka Streams: `0_3` is partition 3 of subtopology 0.

    All properties and methods raise ControlError if the group has another type.
    """

    _types = (STREAMS,)

    @property
    def members(self) -> tuple[TaskMember, ...]:
        """The members in the order in which they joined."""
        return cast("tuple[TaskMember, ...]", super().members)

    def member(self, name: str) -> TaskMember:
        """Return a member by member id, instance id or client id.

        Raises:
            LookupError: With the names of the members.
        """
        return cast(TaskMember, super().member(name))

    @property
    def topology(self) -> LabTopology | None:
        """The topology of the application with its tasks, or None if no member has sent one."""
        view = self._view()
        return None if view is None or view.streams is None else view.streams.topology

    @property
    def status(self) -> dict[str, str]:
        """The status that members receive: `{"MISSING_SOURCE_TOPICS": "Source topics … are missing."}`.

        It is common to all members since the last heartbeat, and empty if tasks can be assigned.
        """
        view = self._view()
        return {} if view is None or view.streams is None else dict(view.streams.status)

    @property
    def owners(self) -> dict[str, str]:
        """The member id of the owner of each active task. A member that is revoking a task still owns it."""
        return {
            task: member.member_id for member in self.members for task in (*member.tasks.active, *member.pending.active)
        }

    @property
    def standbys(self) -> dict[str, list[str]]:
        """The ids of the members that keep a standby copy of each task."""
        standbys: dict[str, list[str]] = {}
        for member in self.members:
            for task in (*member.tasks.standby, *member.pending.standby):
                standbys.setdefault(task, []).append(member.member_id)
        return standbys
