"""A member of a streams group as the assignor sees it."""

from dataclasses import dataclass, field

from kohort.coordinator.streams.streams_values import Tasks


@dataclass(frozen=True, slots=True)
class AssignorMember:
    """Who is to be given tasks, and what it was to have until now."""

    process_id: str
    """The instance of the application that it is a thread of."""
    active: Tasks = field(default_factory=dict)
    standby: Tasks = field(default_factory=dict)
