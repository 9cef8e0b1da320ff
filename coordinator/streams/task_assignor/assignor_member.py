"""Member of a streams group, from the assignor's point of view."""

from dataclasses import dataclass, field

from kohort.coordinator.streams.streams_values import Tasks


@dataclass(frozen=True, slots=True)
class AssignorMember:
    """Member and its previous tasks."""

    process_id: str  # the application instance with the member's thread
    active: Tasks = field(default_factory=dict)
    standby: Tasks = field(default_factory=dict)
