"""The group coordinator of one node: its groups, the partitions that hold them, and what it asks of the shell.

The functions that serve the APIs are in files of their own (`classic/`, `committing.py`, `deleting.py`, …); each is
imported by the API that needs it, so that a broker which only answers heartbeats has not loaded the rest.
"""

from collections.abc import Callable
from enum import Enum
from typing import TYPE_CHECKING

from kohort.coordinator.classic.group import ClassicGroup
from kohort.coordinator.effects import OFFSETS_TOPIC, Append, Effect
from kohort.coordinator.placement import partition_for
from kohort.coordinator.records import is_storable
from kohort.coordinator.settings import GroupSettings
from kohort.protocol.batches import EncodedRecords
from kohort.protocol.errors import ErrorCode
from kohort.purgatory import Purgatory

if TYPE_CHECKING:
    from kohort.coordinator.watching import Watch

Then = Callable[[ErrorCode, int], None]
"""What follows an `Append`: NONE or the error as a client may hear it, and the time."""


_NONE = ErrorCode.none


class Shard(Enum):
    """How far this node is with a partition of `__consumer_offsets` that it leads. Others it does not know at all."""

    LOADING = "loading"
    ACTIVE = "active"


class GroupCoordinator:
    """All of one node's groups, by id. Pure: it is told the time, and puts what it wants done into `effects`."""

    def __init__(
        self,
        settings: GroupSettings,
        purgatory: Purgatory,
        new_uuid: Callable[[], str],
        *,
        partitions: int = 50,
        epoch_ms: int = 0,
        effects: list[Effect] | None = None,
    ) -> None:
        """`new_uuid`: the source of member ids. `epoch_ms`: the wall clock at monotonic 0, see `wall_ms`.

        `effects`: where to put what is to be done, if several coordinators share one list.
        """
        self.settings = settings
        self.purgatory = purgatory
        self.new_uuid = new_uuid
        self.partitions = partitions
        """How many `__consumer_offsets` has."""
        self.epoch_ms = epoch_ms
        self.groups: dict[str, ClassicGroup] = {}
        self.shards: dict[int, Shard] = {}
        self.effects: list[Effect] = [] if effects is None else effects
        """What the shell is to do next; it takes them out, in order."""
        self.open_transactions: dict[tuple[int, int], set[str]] = {}
        """Partition and producer id of transactions that have committed offsets, and the groups whose they are."""
        self.watch: Watch | None = None
        """Makes group events of what happens, while somebody listens."""
        self.appended_offset: int | None = None
        """While what follows an `Append` is called: where its last record stands in the log, if the shell told."""
        self._awaited: dict[int, tuple[int, list[Then]]] = {}
        """Token to the partition that is written and what follows."""
        self._last_token = 0

    def wall_ms(self, now_ms: int) -> int:
        """The wall clock at a monotonic moment. A test that moves the one clock moves both."""
        return now_ms + self.epoch_ms

    def availability(self, group_id: str) -> ErrorCode:
        """Whether this node may speak for a group that it does not know: NONE, NOT_COORDINATOR or still loading."""
        return self.partition_availability(self.partition_of(group_id))

    def partition_of(self, group_id: str) -> int:
        """The partition of `__consumer_offsets` that a group lives in."""
        return partition_for(group_id, self.partitions)

    def creatable(self, group_id: str) -> ErrorCode:
        """Whether a group that this node does not know may be created: as `availability`, or UNKNOWN_SERVER_ERROR.

        A request can carry a longer id than a record's key. Kafka fails to write it (classic-groups §1.3 rule 4).
        """
        error = self.availability(group_id)
        if error is _NONE and not is_storable(group_id):
            return ErrorCode.unknown_server_error
        return error

    def partition_availability(self, partition: int) -> ErrorCode:
        """The same for a partition of `__consumer_offsets`."""
        shard = self.shards.get(partition)
        if shard is None:
            return ErrorCode.not_coordinator
        return ErrorCode.none if shard is Shard.ACTIVE else ErrorCode.coordinator_load_in_progress

    def create_group(self, group_id: str, now_ms: int) -> ClassicGroup:
        """A new, empty group."""
        group = ClassicGroup(self, group_id, self.partition_of(group_id), self.wall_ms(now_ms))
        self.groups[group_id] = group
        return group

    def append(
        self,
        partition: int,
        records: EncodedRecords,
        now_ms: int,
        then: Then | None = None,
        producer: tuple[int, int] | None = None,
    ) -> int:
        """Asks for records to be written, and calls `then` when they are. Returns the token of the `Append`.

        `producer`: id and epoch, of the transaction in which they are written.
        """
        self._last_token = token = self._last_token + 1
        self._awaited[token] = partition, [] if then is None else [then]
        self.effects.append(Append(token, partition, records, now_ms + self.epoch_ms, OFFSETS_TOPIC, producer))
        return token

    def after(self, token: int, then: Then) -> None:
        """Calls `then` too when that `Append` is written."""
        self._awaited[token][1].append(then)

    def appended(self, token: int, error: ErrorCode, now_ms: int, last_offset: int | None = None) -> None:
        """The shell's word that an `Append` is written (NONE), or the storage's error, which clients hear as theirs.

        `last_offset`: of its last record, which for a group's record is the only one.
        """
        if token in self._awaited:  # else its partition has gone meanwhile, and whoever waited has been told
            self.appended_offset = last_offset
            told = error if error is _NONE else STORAGE_ERRORS.get(error, ErrorCode.unknown_server_error)
            self._conclude(token, told, now_ms)

    def abandon_appends(self, partition: int, now_ms: int) -> None:
        """Waits no longer for what is being written to a partition: it failed for its clients (classic-groups §1.5)."""
        for token in [token for token, (where, _) in self._awaited.items() if where == partition]:
            self._conclude(token, ErrorCode.not_coordinator, now_ms)

    def _conclude(self, token: int, told: ErrorCode, now_ms: int) -> None:
        _, following = self._awaited.pop(token)
        for then in following:
            then(told, now_ms)


STORAGE_ERRORS: dict[ErrorCode, ErrorCode] = {
    ErrorCode.unknown_topic_or_partition: ErrorCode.coordinator_not_available,
    ErrorCode.not_enough_replicas: ErrorCode.coordinator_not_available,
    ErrorCode.request_timed_out: ErrorCode.coordinator_not_available,
    ErrorCode.not_leader_or_follower: ErrorCode.not_coordinator,
    ErrorCode.kafka_storage_error: ErrorCode.not_coordinator,
    ErrorCode.invalid_producer_epoch: ErrorCode.invalid_producer_epoch,
    ErrorCode.message_too_large: ErrorCode.unknown_server_error,
    ErrorCode.record_list_too_large: ErrorCode.unknown_server_error,
    ErrorCode.invalid_fetch_size: ErrorCode.unknown_server_error,
}
"""What a client hears when a record could not be written (classic-groups §1.3)."""
