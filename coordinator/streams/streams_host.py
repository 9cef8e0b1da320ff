"""What a streams group asks of its coordinator."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Protocol

from kohort.coordinator.modern.modern_host import ModernHost
from kohort.coordinator.modern.modern_observer import ModernObserver
from kohort.coordinator.streams.streams_config import StreamsConfig

if TYPE_CHECKING:
    from kohort.coordinator.streams.streams_group import StreamsGroup


class StreamsHost(ModernHost, Protocol):
    """Met by `GroupCoordinator`."""

    streams_config: Callable[[str], StreamsConfig]
    """The settings of a group, by its id."""
    streams_observer: "ModernObserver[StreamsGroup]"
