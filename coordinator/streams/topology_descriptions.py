"""Descriptions of topologies: a member sends one on request, and a plugin stores it (KIP-1331; newer-release §5).

The record of the group epoch has the topology epoch of the stored description. It is written before and after the
plugin is called, so that a coordinator that fails in between does not rely on a description that may be missing.
Source: Kafka's `StreamsGroupTopologyDescriptionManager`, `GroupCoordinatorService`.
"""

from collections.abc import Callable
from typing import NamedTuple, Protocol

from kohort.coordinator.context import OnWritten
from kohort.coordinator.effects import Cause, GroupWarning
from kohort.coordinator.modern.group_changes import GroupChanges
from kohort.coordinator.modern.group_refusals import Refusal, group_missing
from kohort.coordinator.streams.streams_group import StreamsGroup
from kohort.coordinator.streams.streams_group_values import NO_DESCRIPTION, UNCERTAIN, StreamsKind
from kohort.protocol.errors import GROUP_DELETION_FAILED, STREAMS_TOPOLOGY_DESCRIPTION_UPDATE_FAILED, ErrorCode
from kohort.protocol.messages.streams_group_topology_description_update import TopologyDescription

# Delay until a description is requested again. It doubles up to the maximum. Kafka adds a jitter of 20 %.
FIRST_BACKOFF_MS = 30_000
MAX_BACKOFF_MS = 3_600_000

OnOutcome = Callable[[Refusal, int], None]  # called with NONE or the error, and the time


class DescriptionError(Exception):
    """Failure of a plugin. After a permanent one, the description of the topology is not requested again."""

    def __init__(self, message: str, *, is_permanent: bool = False) -> None:
        super().__init__(message)
        self.is_permanent = is_permanent


class DescriptionPlugin(Protocol):
    """Store for descriptions, one for each group. Each method may raise DescriptionError."""

    def store(self, group_id: str, topology_epoch: int, description: TopologyDescription) -> None: ...

    def find(self, group_id: str, topology_epoch: int) -> TopologyDescription | None: ...

    def delete(self, group_id: str) -> None: ...


class InMemoryDescriptions:
    """The plugin that is part of Kafka. Descriptions are lost when the broker stops."""

    def __init__(self) -> None:
        self._descriptions: dict[str, tuple[int, TopologyDescription]] = {}

    def store(self, group_id: str, topology_epoch: int, description: TopologyDescription) -> None:
        self._descriptions[group_id] = topology_epoch, description

    def find(self, group_id: str, topology_epoch: int) -> TopologyDescription | None:
        stored_epoch, description = self._descriptions.get(group_id, (NO_DESCRIPTION, None))
        return description if stored_epoch == topology_epoch else None

    def delete(self, group_id: str) -> None:
        self._descriptions.pop(group_id, None)


class _Backoff(NamedTuple):
    """State of the requests for a description."""

    topology_epoch: int
    delay_ms: int
    retry_at_ms: int


class TopologyDescriptions:
    """The descriptions that a coordinator's groups have stored, and the requests for missing ones."""

    def __init__(self, plugin: DescriptionPlugin) -> None:
        self._plugin = plugin
        self._backoffs: dict[str, _Backoff] = {}  # by group id

    def is_missing(self, group: StreamsGroup) -> bool:
        """Return whether the group has a topology whose description was neither stored nor rejected."""
        topology = group.topology
        return topology is not None and topology.epoch not in (group.stored_description, group.failed_description)

    def request(self, group: StreamsGroup, now_ms: int) -> bool:
        """Return whether to request a description from a member. It is requested again only after a delay."""
        topology = group.topology
        if topology is None or not self.is_missing(group):
            return False
        backoff = self._backoffs.get(group.group_id)
        if backoff is not None and backoff.topology_epoch == topology.epoch and now_ms < backoff.retry_at_ms:
            return False
        self._back_off(group.group_id, topology.epoch, now_ms)
        return True

    def find(self, group: StreamsGroup) -> TopologyDescription | None:
        """Return the description of the current topology, or None if it is not stored.

        Raises:
            DescriptionError: The plugin has failed.
        """
        topology = group.topology
        if topology is None or group.stored_description != topology.epoch:
            return None
        try:
            return self._plugin.find(group.group_id, topology.epoch)
        except DescriptionError as error:
            _warn(group, f"cannot read the description of the topology: {error}")
            raise

    def store(
        self,
        group: StreamsGroup,
        topology_epoch: int,
        description: TopologyDescription,
        now_ms: int,
        on_outcome: OnOutcome,
    ) -> None:
        """Store a description. The error is STREAMS_TOPOLOGY_DESCRIPTION_UPDATE_FAILED if the plugin fails."""

        def written_uncertain(error: ErrorCode, now_ms: int) -> None:
            if error is ErrorCode.none and not group.is_there:
                on_outcome(group_missing(group.group_id), now_ms)
            elif error is ErrorCode.none:
                call_plugin(now_ms)
            else:
                on_outcome(Refusal(error), now_ms)

        def call_plugin(now_ms: int) -> None:
            try:
                self._plugin.store(group.group_id, topology_epoch, description)
            except DescriptionError as error:
                _warn(group, f"cannot store the description of the topology: {error}")
                outcome = Refusal(STREAMS_TOPOLOGY_DESCRIPTION_UPDATE_FAILED, str(error))
                if not error.is_permanent:
                    self._back_off(group.group_id, topology_epoch, now_ms)
                    on_outcome(outcome, now_ms)
                    return
                values = group.epoch_values._replace(failed_description=max(group.failed_description, topology_epoch))
            else:
                outcome = Refusal(ErrorCode.none)
                stored = group.stored_description
                # Without the mark, a deletion came in between: the plugin may have lost the description again.
                stored = UNCERTAIN if stored == NO_DESCRIPTION else max(stored, topology_epoch)
                values = group.epoch_values._replace(stored_description=stored)

            def written(error: ErrorCode, now_ms: int) -> None:
                if error is ErrorCode.none:
                    self._backoffs.pop(group.group_id, None)
                    on_outcome(outcome, now_ms)
                else:
                    self._back_off(group.group_id, topology_epoch, now_ms)
                    on_outcome(Refusal(error), now_ms)

            _write(group, values, now_ms, written)

        self._mark_uncertain(group, now_ms, written_uncertain)

    def delete(self, group: StreamsGroup, now_ms: int, on_written: OnWritten) -> None:
        """Delete the description of an empty group. The error is GROUP_DELETION_FAILED if the plugin fails."""

        def marked(error: ErrorCode, now_ms: int) -> None:
            if error is not ErrorCode.none or not group.is_there:
                on_written(error, now_ms)
                return
            try:
                self._plugin.delete(group.group_id)
            except DescriptionError as failure:
                _warn(group, f"cannot delete the description of the topology: {failure}")
                on_written(GROUP_DELETION_FAILED, now_ms)
                return
            self._backoffs.pop(group.group_id, None)
            _write(group, group.epoch_values._replace(stored_description=NO_DESCRIPTION), now_ms, on_written)

        self._mark_uncertain(group, now_ms, marked)

    def discard(self, group: StreamsGroup) -> None:
        """Delete the description of a group that is replaced by another one. A failure of the plugin is logged."""
        self._backoffs.pop(group.group_id, None)
        if group.stored_description == NO_DESCRIPTION:
            return
        try:
            self._plugin.delete(group.group_id)
        except DescriptionError as error:
            _warn(group, f"cannot delete the description of the topology: {error}")

    def _mark_uncertain(self, group: StreamsGroup, now_ms: int, on_written: OnWritten) -> None:
        _write(group, group.epoch_values._replace(stored_description=UNCERTAIN), now_ms, on_written)

    def _back_off(self, group_id: str, topology_epoch: int, now_ms: int) -> None:
        previous = self._backoffs.get(group_id)
        delay_ms = FIRST_BACKOFF_MS
        if previous is not None and previous.topology_epoch == topology_epoch:
            delay_ms = min(2 * previous.delay_ms, MAX_BACKOFF_MS)
        self._backoffs[group_id] = _Backoff(topology_epoch, delay_ms, now_ms + delay_ms)


def _write(group: StreamsGroup, values: object, now_ms: int, on_written: OnWritten) -> None:
    """Write the record of the group epoch unless it has these values already."""
    changes = GroupChanges(group)
    if values != group.epoch_values:
        changes.make(StreamsKind.GROUP_EPOCH, None, values)
    changes.write(now_ms, Cause("topology_description"), on_written)


def _warn(group: StreamsGroup, text: str) -> None:
    group.coordinator.effects.append(GroupWarning(group.group_id, text))
