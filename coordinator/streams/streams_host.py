"""Interface that streams groups use."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Protocol

from kohort.coordinator.context import OnWritten
from kohort.coordinator.modern.modern_host import ModernHost
from kohort.coordinator.modern.modern_observer import ModernObserver
from kohort.coordinator.streams.streams_config import StreamsConfig

if TYPE_CHECKING:
    from kohort.coordinator.streams.streams_group import StreamsGroup


class Descriptions(Protocol):
    """Interface of `TopologyDescriptions` for streams groups."""

    def request(self, group: "StreamsGroup", now_ms: int) -> bool: ...

    def delete(self, group: "StreamsGroup", now_ms: int, on_written: OnWritten) -> None: ...


class StreamsHost(ModernHost, Protocol):
    """Interface of `GroupCoordinator` for streams groups."""

    streams_config: Callable[[str], StreamsConfig]  # settings by group id
    streams_observer: "ModernObserver[StreamsGroup]"

    @property
    def topology_descriptions(self) -> Descriptions | None: ...
