"""What a classic group asks of its coordinator."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Protocol

from kohort.coordinator.context import OnWritten
from kohort.coordinator.coordinator_settings import GroupSettings
from kohort.coordinator.effects import Effect
from kohort.protocol.batches import EncodedRecords
from kohort.purgatory import Purgatory

if TYPE_CHECKING:
    from kohort.coordinator.classic.classic_group import ClassicGroup
    from kohort.coordinator.classic.observer import Observer


class GroupHost(Protocol):
    """Met by `GroupCoordinator`."""

    settings: GroupSettings
    purgatory: Purgatory
    new_uuid: Callable[[], str]
    effects: list[Effect]
    groups: "dict[str, ClassicGroup]"
    observer: "Observer"

    def wall_ms(self, now_ms: int) -> int:
        """The wall clock at a monotonic moment."""
        ...

    def create_group(self, group_id: str, now_ms: int) -> "ClassicGroup":
        """A new, empty group."""
        ...

    def append(
        self,
        partition: int,
        records: EncodedRecords,
        now_ms: int,
        on_written: OnWritten | None = None,
        producer: tuple[int, int] | None = None,
        group_id: str | None = None,
    ) -> int:
        """Asks for records to be written. Returns the token of the `Append`.

        `group_id`: they come behind all that a consumer group of that id is still writing, and fail with it.
        """
        ...

    def after(self, token: int, on_written: OnWritten) -> None:
        """Calls `on_written` too when the write of that token is reported."""
        ...
