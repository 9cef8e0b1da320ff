"""What a node's two coordinators have in common: the purgatory, effects for the shell, and writes under way."""

from collections.abc import Callable
from enum import Enum
from typing import Final

from mypy_extensions import mypyc_attr

from kohort.coordinator.effects import Effect
from kohort.protocol.errors import ErrorCode
from kohort.purgatory import Purgatory

_NONE: Final = ErrorCode.none

OnWritten = Callable[[ErrorCode, int], None]
"""What follows a write: NONE or the error as a client may hear it, and the time."""


class Shard(Enum):
    """How far a node is with a partition of a coordinator's topic that it leads. Others it does not know at all."""

    LOADING = "loading"
    ACTIVE = "active"


@mypyc_attr(allow_interpreted_subclasses=True)
class CoordinatorContext:
    """Pure: a coordinator gets the time, and puts what it wants done into `effects`."""

    def __init__(
        self, purgatory: Purgatory, *, partitions: int = 50, epoch_ms: int = 0, effects: list[Effect] | None = None
    ) -> None:
        """`epoch_ms`: the wall clock at monotonic 0, see `wall_ms`.

        `effects`: where to put what is to be done; a node's two coordinators share one list.
        """
        self.purgatory = purgatory
        self.partitions = partitions
        """How many the coordinator's topic has."""
        self.epoch_ms = epoch_ms
        self.effects: list[Effect] = [] if effects is None else effects
        """What the shell is to do next; it takes them out, in order."""
        self.appended_offset: int | None = None
        """While what follows an `Append` is called: where its last record stands in the log, if that is known."""
        self._awaited: dict[int, tuple[int, list[OnWritten]]] = {}
        """Token to the partition that is written and what follows."""
        self._last_token = 0

    def wall_ms(self, now_ms: int) -> int:
        """The wall clock at a monotonic moment. A test that moves the one clock moves both."""
        return now_ms + self.epoch_ms

    def await_write(self, partition: int, on_written: OnWritten | None) -> int:
        """A token for a write on behalf of a partition; `on_written` is called when the shell reports it."""
        self._last_token = token = self._last_token + 1
        self._awaited[token] = partition, [] if on_written is None else [on_written]
        return token

    def awaits(self, token: int) -> bool:
        """Whether somebody still waits for a write: not after its partition has gone."""
        return token in self._awaited

    def after(self, token: int, on_written: OnWritten) -> None:
        """Calls `on_written` too when the write of that token is reported."""
        self._awaited[token][1].append(on_written)

    def appended(self, token: int, error: ErrorCode, now_ms: int, last_offset: int | None = None) -> None:
        """The shell's report that a write is done (NONE), or the storage's error, which clients hear as theirs.

        `last_offset`: of its last record, which for a group's record is the only one.
        """
        awaited = self._awaited.pop(token, None)
        if awaited is None:
            return  # its partition has gone meanwhile, and whoever waited has been answered
        self.appended_offset = last_offset
        if error is not _NONE:
            error = STORAGE_ERRORS.get(error, ErrorCode.unknown_server_error)
        for on_written in awaited[1]:
            on_written(error, now_ms)

    def abandon_appends(self, partition: int, now_ms: int) -> None:
        """Waits no longer for writes to a partition: for the clients they have failed (classic-groups §1.5)."""
        for token in [token for token, (where, _) in self._awaited.items() if where == partition]:
            self.conclude(token, ErrorCode.not_coordinator, now_ms)

    def conclude(self, token: int, heard: ErrorCode, now_ms: int) -> None:
        """Calls what follows a write, with NONE or the error as clients hear it; does nothing a second time."""
        _, following = self._awaited.pop(token, (0, []))
        for on_written in following:
            on_written(heard, now_ms)


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
"""What a client hears when a record could not be written (classic-groups §1.3)."""
