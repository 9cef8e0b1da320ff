"""Base of a node's coordinators: the purgatory, effects for the shell, and unfinished writes."""

from collections.abc import Callable
from enum import Enum
from typing import Final

from mypy_extensions import mypyc_attr

from kohort.coordinator.effects import Effect
from kohort.protocol.errors import ErrorCode
from kohort.purgatory import Purgatory

_NONE: Final = ErrorCode.none

OnWritten = Callable[[ErrorCode, int], None]  # callback after a write: NONE or the error for the client, and the time


class Shard(Enum):
    """Loading state of a partition of a coordinator's topic that the node leads."""

    LOADING = "loading"
    ACTIVE = "active"


@mypyc_attr(allow_interpreted_subclasses=True)
class CoordinatorContext:
    """Base class without I/O: a coordinator receives the time, and adds what the shell has to do to `effects`."""

    def __init__(
        self, purgatory: Purgatory, *, partitions: int = 50, epoch_ms: int = 0, effects: list[Effect] | None = None
    ) -> None:
        """Create a coordinator without partitions.

        Args:
            epoch_ms: Wall clock at monotonic time 0, see `wall_ms`.
            effects: List for the effects, which a node's coordinators share.
        """
        self.purgatory = purgatory
        self.partitions = partitions  # of the coordinator's topic
        self.epoch_ms = epoch_ms
        self.effects: list[Effect] = [] if effects is None else effects  # removed by the shell in this order
        # Offset of the last record of an `Append`, if known, while its callbacks run.
        self.appended_offset: int | None = None
        self._awaited: dict[int, tuple[int, list[OnWritten]]] = {}  # partition and callbacks by token
        self._last_token = 0

    def wall_ms(self, now_ms: int) -> int:
        """Return the wall clock at a monotonic time. A test that moves one clock moves both."""
        return now_ms + self.epoch_ms

    def await_write(self, partition: int, on_written: OnWritten | None) -> int:
        """Return a token for a write to a partition. `on_written` is called with the result."""
        self._last_token = token = self._last_token + 1
        self._awaited[token] = partition, [] if on_written is None else [on_written]
        return token

    def awaits(self, token: int) -> bool:
        """Return whether the result of a write is still needed: not after its partition was unloaded."""
        return token in self._awaited

    def after(self, token: int, on_written: OnWritten) -> None:
        self._awaited[token][1].append(on_written)

    def appended(self, token: int, error: ErrorCode, now_ms: int, last_offset: int | None = None) -> None:
        """Report the result of a write, NONE or the storage's error, which clients receive as a coordinator's error.

        Args:
            last_offset: Offset of the last record. A group's record is the only one.
        """
        awaited = self._awaited.pop(token, None)
        if awaited is None:
            return  # its partition was unloaded, and waiting requests were answered
        self.appended_offset = last_offset
        if error is not _NONE:
            error = STORAGE_ERRORS.get(error, ErrorCode.unknown_server_error)
        for on_written in awaited[1]:
            on_written(error, now_ms)

    def abandon_appends(self, partition: int, now_ms: int) -> None:
        """Fail the unfinished writes to a partition (classic-groups §1.5)."""
        for token in [
            token for token, (written_partition, _) in self._awaited.items() if written_partition == partition
        ]:
            self.conclude(token, ErrorCode.not_coordinator, now_ms)

    def conclude(self, token: int, error: ErrorCode, now_ms: int) -> None:
        """Call the callbacks of a write, with NONE or the error for clients. Has no effect a second time."""
        _, following = self._awaited.pop(token, (0, []))
        for on_written in following:
            on_written(error, now_ms)


# The error that a client receives if a record could not be written (classic-groups §1.3).
STORAGE_ERRORS: Final[dict[ErrorCode, ErrorCode]] = {
    ErrorCode.unknown_topic_or_partition: ErrorCode.coordinator_not_available,
    ErrorCode.not_enough_replicas: ErrorCode.coordinator_not_available,
    ErrorCode.request_timed_out: ErrorCode.coordinator_not_available,
    ErrorCode.not_leader_or_follower: ErrorCode.not_coordinator,
    ErrorCode.kafka_storage_error: ErrorCode.not_coordinator,
    ErrorCode.invalid_producer_epoch: ErrorCode.invalid_producer_epoch,
    ErrorCode.transaction_coordinator_fenced: ErrorCode.transaction_coordinator_fenced,
    ErrorCode.message_too_large: ErrorCode.unknown_server_error,
    ErrorCode.record_list_too_large: ErrorCode.unknown_server_error,
    ErrorCode.invalid_fetch_size: ErrorCode.unknown_server_error,
}
