"""Listener that passes members' requests and their responses to the model of each group.

Most are heartbeats equal to the previous one, which are recognized by their bytes and not parsed.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

from kohort.coordinator.groups.group import CLASSIC, CONSUMER
from kohort.protocol.api_keys import API_BY_KEY, API_BY_NAME
from kohort.protocol.errors import ErrorCode
from kohort.proxy.node_ports import NO_NODE
from kohort.proxy.observed import classic_description, classic_joins, classic_traffic, epoch_description
from kohort.proxy.observed.commits import MEMBER_ERRORS, committed_in, find_commit_error
from kohort.proxy.observed.epoch_heartbeats import on_heartbeat_response
from kohort.proxy.observed.epoch_protocols import EPOCH_PROTOCOLS
from kohort.proxy.observed.group_memory import GroupMemory
from kohort.proxy.observed.last_heartbeats import LastHeartbeats
from kohort.proxy.observed.message_reading import read_request, read_response
from kohort.proxy.observed.observed_classic_group import COORDINATOR_ERRORS, ObservedClassicGroup
from kohort.proxy.observed.observed_epoch_group import ObservedEpochGroup
from kohort.proxy.observed.pending_requests import PendingRequests

if TYPE_CHECKING:
    from kohort.proxy.observed.observed_group import Traffic
    from kohort.proxy.tap import Line, ObservedCall

MAX_TOPICS: Final = 100_000  # topic names kept; the oldest are dropped

FORGOTTEN_US: Final = 24 * 3_600 * 1_000_000  # how long a silent group is kept

SETTLED_US: Final = 20_000
"""A JoinGroup without a response for this long waits for other members, because errors come at once."""

STATS_US: Final = 60_000_000  # interval of the events with counters (offsets-topic §9.2)

MAX_METADATA_BYTES: Final = 256 << 10  # larger Metadata responses are not read for topic names

_KEYS: Final = {
    name: API_BY_NAME[name].key
    for name in (
        "metadata", "offset_commit", "offset_fetch", "join_group", "heartbeat", "leave_group", "sync_group",
        "api_versions", "delete_groups", *(protocol.heartbeat_api for protocol in EPOCH_PROTOCOLS.values()),
    )
}  # fmt: skip
_HEARTBEATS: Final = frozenset(key for name, key in _KEYS.items() if name.endswith("heartbeat"))
UNKNOWN_VERSION: Final = -1  # version of a group without observed traffic

AnyObserved = ObservedClassicGroup | ObservedEpochGroup


class GroupListener:
    """All observed groups by id; a `Listener` without I/O."""

    keys = frozenset(_KEYS.values())

    def __init__(
        self,
        traffic: Traffic,
        changed: Callable[[], None] = lambda: None,
        needs: Callable[[str, str], None] = lambda _, __: None,
    ) -> None:
        """Set up the listener.

        Args:
            changed: Called when any group may have changed.
            needs: Called with the id and type of a group whose description is needed.
        """
        self.traffic = traffic
        self.groups: dict[str, AnyObserved] = {}
        self._changed = changed
        self._needs = needs
        self._heartbeats = LastHeartbeats()
        self._memory = GroupMemory(self.groups)
        self._groups_of_lines: dict[int, dict[str, AnyObserved]] = {}  # groups observed on a connection, by its number
        self._open: dict[ObservedCall, ObservedClassicGroup] = {}  # JoinGroup and SyncGroup requests without a response
        self._pending = PendingRequests()
        # groups for which `settle` may have something to note, by id
        self._unsettled: dict[str, ObservedClassicGroup] = {}
        self._flushed_us = traffic.now_us

    # See `kohort.proxy.tap.Listener`

    def on_request(self, observed: ObservedCall) -> None:
        key = observed.header.api_key
        if (apply_request := _ON_REQUEST.get(key)) is not None:
            self._set_now(observed.requested_us)
            request = read_request(observed)
            if request is not None and (group := self._classic(observed, request.group_id)) is not None:
                self._open[observed] = group
                self._unsettled[request.group_id] = group
                apply_request(group, observed, request)
                group.version += 1
        self._pending.on_request(observed)

    def on_response(self, observed: ObservedCall) -> None:
        assert observed.answered_us is not None, "the response is complete"
        self._set_now(observed.answered_us)
        self._pending.on_response(observed)
        key = observed.header.api_key
        if key in _HEARTBEATS and (heartbeat := self._heartbeats.find_repeated(observed)) is not None:
            heartbeat.group.active_us = self.traffic.now_us
            heartbeat.group.note_heartbeat(heartbeat.member_id)
            return
        _HANDLERS[API_BY_KEY[key].name](self, observed)
        self._changed()

    def on_close(self, line: Line) -> None:
        for observed in [call for call in self._open if call.line is line]:
            classic_traffic.on_close(self._open.pop(observed), observed)
        self._pending.on_close(line)
        self._heartbeats.on_close(line)
        self.traffic.software.pop(line.number, None)
        for group in self._groups_of_lines.pop(line.number, {}).values():
            group.lines.discard(line.number)
            group.on_connection_end(line.number)
        self._changed()

    # Periodic work

    @property
    def is_unsettled(self) -> bool:
        """Whether `settle` must be called soon."""
        return bool(self._unsettled)

    def settle(self, now_us: int) -> None:
        """Note requests that have waited long enough to be waiting for other members; report counters once a minute."""
        for group_id, group in list(self._unsettled.items()):
            classic_joins.settle(group, now_us - SETTLED_US)
            if not group.is_unsettled:
                del self._unsettled[group_id]
        self._set_now(now_us)
        if now_us - self._flushed_us >= STATS_US:
            self._flushed_us = now_us
            self.flush()
            self._forget_all([group for group in self.groups.values() if now_us - group.active_us > FORGOTTEN_US])
        self._changed()

    def flush(self) -> None:
        """Report the counted events."""
        for group in self.groups.values():
            group.flush()

    def forget(self, group_id: str) -> None:
        self._forget_all([self.groups[group_id]])

    def _forget_all(self, groups: list[AnyObserved]) -> None:
        """Forget groups that were silent for long, are too many or too large, or were deleted."""
        for group in groups:
            self._drop(group)
            self.groups.pop(group.group_id, None)
            self._unsettled.pop(group.group_id, None)

    def _drop(self, group: AnyObserved) -> None:
        """Remove references to a group."""
        self._memory.remove(group)
        self._heartbeats.remove_group(group)
        for number in group.lines:
            self._groups_of_lines.get(number, {}).pop(group.group_id, None)
        group.lines.clear()

    def _count(self, group: AnyObserved, observed: ObservedCall) -> None:
        """Count a parsed message as memory of its group, and forget groups if there is too much."""
        if self.groups.get(group.group_id) is group:
            number = observed.line.number
            if number not in group.lines:
                group.lines.add(number)
                self._groups_of_lines.setdefault(number, {})[group.group_id] = group
            self._memory.count(group, len(observed.request) + len(observed.answer or b""))
            self._forget_all(self._memory.excess())

    # Messages

    def _remember(self, observed: ObservedCall, group: AnyObserved, member_id: str) -> None:
        """Keep a response without an error or changes, since the next one may be equal."""
        if self.groups.get(group.group_id) is group:
            self._heartbeats.add(observed, group, member_id)

    def _join_or_sync_group(self, observed: ObservedCall) -> None:
        group, answer = self._open.pop(observed, None), read_response(observed)
        if group is not None:
            self._note_response(group, observed, answer)
            _ON_RESPONSE[observed.header.api_key](group, observed, answer)
            self._note_change(group)
            if group.awaits_leader:
                self._unsettled[group.group_id] = group

    def _heartbeat(self, observed: ObservedCall) -> None:
        request, answer = read_request(observed), read_response(observed)
        self._heartbeats.remove(observed)
        if request is None or answer is None or answer.error_code in COORDINATOR_ERRORS:
            return
        group = self._classic(observed, request.group_id)
        if group is None:
            return
        self._note_response(group, observed, answer)
        last = group.classic.generation_id
        classic_traffic.on_heartbeat_response(group, observed, request, answer)
        if answer.error_code is ErrorCode.none:
            self._remember(observed, group, request.member_id)
        self._note_change(group, answer.error_code is not ErrorCode.none or group.classic.generation_id != last)

    def _leave_group(self, observed: ObservedCall) -> None:
        request, answer = read_request(observed), read_response(observed)
        group = None if request is None else self.groups.get(request.group_id)
        if isinstance(group, ObservedClassicGroup) and answer is not None:
            self._note_response(group, observed, answer)
            classic_traffic.on_leave_response(group, request, answer)
            self._note_change(group)

    def _offset_commit(self, observed: ObservedCall) -> None:
        request, answer = read_request(observed), read_response(observed)
        if request is None or answer is None:
            return
        committed, error = committed_in(request, answer, self.traffic.topics), find_commit_error(answer)
        group = self.groups.get(request.group_id)
        if group is None and committed:
            group = self._classic(observed, request.group_id)
        if group is None:
            return
        if committed:
            self._set_coordinator(group, observed.line.node_id)
            self._count(group, observed)
            group.offsets |= committed
            group.committed(request.member_id, len(committed))
            group.needs_description |= request.member_id not in group.members and not group.described_us
        elif error in MEMBER_ERRORS:
            if isinstance(group, ObservedClassicGroup):
                classic_traffic.on_commit_error(group, request, error, observed)
            else:
                group.on_commit_error(request, error, observed)
        self._note_change(group, not committed)

    def _offset_fetch(self, observed: ObservedCall) -> None:
        """Note a group that is active but was unknown."""
        request = read_request(observed)
        for group in () if request is None else request.groups:
            if group.group_id not in self.groups:
                self._needs(group.group_id, CLASSIC if group.member_id is None else CONSUMER)

    def _epoch_heartbeat(self, observed: ObservedCall) -> None:
        request, answer = read_request(observed), read_response(observed)
        self._heartbeats.remove(observed)
        if request is None or answer is None or answer.error_code in COORDINATOR_ERRORS:
            return
        group_type = API_BY_KEY[observed.header.api_key].name.partition("_")[0]
        group = self.groups.get(request.group_id)
        if not isinstance(group, ObservedEpochGroup) or group.group_type != group_type:
            if answer.error_code is not ErrorCode.none:
                return
            group = self._new(request.group_id, group_type)
        self._note_response(group, observed, answer)
        is_changed = on_heartbeat_response(group, observed, request, answer)
        self._note_change(group, is_changed)
        if not is_changed:
            self._remember(observed, group, request.member_id)

    def _delete_groups(self, observed: ObservedCall) -> None:
        answer = read_response(observed)
        for result in () if answer is None else answer.results:
            if result.error_code is ErrorCode.none and (group := self.groups.get(result.group_id)) is not None:
                group.deleted()
                self.forget(result.group_id)

    def _api_versions(self, observed: ObservedCall) -> None:
        request = read_request(observed)
        if request is not None and request.client_software_name:
            software = f"{request.client_software_name}/{request.client_software_version}"
            self.traffic.software[observed.line.number] = software

    def _metadata(self, observed: ObservedCall) -> None:
        if observed.answer is None or len(observed.answer) > MAX_METADATA_BYTES:
            return
        answer = read_response(observed)
        for topic in () if answer is None else answer.topics:
            if topic.topic_id is not None and topic.name:
                self.traffic.topics[topic.topic_id] = topic.name
        while len(self.traffic.topics) > MAX_TOPICS:
            del self.traffic.topics[next(iter(self.traffic.topics))]

    # Descriptions

    def version_of(self, group_id: str) -> int:
        """Return the version to pass to `described` for a request sent now."""
        group = self.groups.get(group_id)
        return UNKNOWN_VERSION if group is None else group.version

    def described(self, group_id: str, group_type: str, description: Any, version: int, now_us: int) -> bool:
        """Apply a description of a group. Return false if a message that may be newer has passed meanwhile.

        Args:
            group_type: Type of the group at the time of the request.
            description: Element of the Describe… response.
            version: Version of the group at the time of the request.
        """
        if self.version_of(group_id) != version:
            return False
        if version == UNKNOWN_VERSION:
            self._new(group_id, group_type)
        group = self.groups[group_id]
        if group.group_type != group_type:
            return True
        if self._pending.may_change(group_id):
            return False
        self._set_now(now_us)
        if isinstance(group, ObservedClassicGroup):
            return classic_description.apply_description(group, description)
        return epoch_description.apply_description(group, description)

    def not_described(self, group_id: str, refusal: str) -> None:
        """Note that the cluster did not describe a group."""
        if group_id in self.groups:
            self.groups[group_id].not_described = refusal

    @property
    def undescribed_groups(self) -> list[AnyObserved]:
        """Groups whose descriptions are needed."""
        return [group for group in self.groups.values() if group.needs_description]

    def _note_change(self, group: AnyObserved, is_changed: bool = True) -> None:
        """Note a change, after which descriptions requested before are outdated."""
        group.version += is_changed
        if group.needs_description:
            self._needs(group.group_id, group.group_type)

    # Groups

    def _classic(self, observed: ObservedCall, group_id: str) -> ObservedClassicGroup | None:
        """Return the classic group, or None if it is a consumer group with members of the classic protocol."""
        group = self.groups.get(group_id)
        if group is None:
            group = self._new(group_id, CLASSIC)
        return group if isinstance(group, ObservedClassicGroup) else None

    def _new(self, group_id: str, group_type: str) -> Any:
        protocol = EPOCH_PROTOCOLS.get(group_type)
        group: AnyObserved = (
            ObservedClassicGroup(group_id, self.traffic)
            if protocol is None
            else ObservedEpochGroup(group_id, protocol, self.traffic)
        )
        old = self.groups.pop(group_id, None)
        if old is not None:
            group.offsets, group.is_new = old.offsets, False
            self._drop(old)
        self.groups[group_id] = group
        self._memory.add(group)
        self._forget_all(self._memory.excess())
        return group

    def _note_response(self, group: AnyObserved, observed: ObservedCall, answer: Any) -> None:
        """Note the coordinator of a group, which is the node that responds without a coordinator error."""
        is_away = answer is None or answer.error_code in COORDINATOR_ERRORS
        self._set_coordinator(group, NO_NODE if is_away else observed.line.node_id)
        self._count(group, observed)

    def _set_coordinator(self, group: AnyObserved, node_id: int) -> None:
        group.active_us = self.traffic.now_us
        if node_id != NO_NODE:
            group.node_id = node_id

    def _set_now(self, moment_us: int) -> None:
        self.traffic.now_us = moment_us


_ON_REQUEST: Final[dict[int, Callable[[ObservedClassicGroup, ObservedCall, Any], None]]] = {
    _KEYS["join_group"]: classic_joins.on_join_request,
    _KEYS["sync_group"]: classic_traffic.on_sync_request,
}
_ON_RESPONSE: Final[dict[int, Callable[[ObservedClassicGroup, ObservedCall, Any], None]]] = {
    _KEYS["join_group"]: classic_joins.on_join_response,
    _KEYS["sync_group"]: classic_traffic.on_sync_response,
}
_HANDLERS: Final[dict[str, Callable[[GroupListener, ObservedCall], None]]] = {
    "join_group": GroupListener._join_or_sync_group,
    "sync_group": GroupListener._join_or_sync_group,
    "heartbeat": GroupListener._heartbeat,
    "leave_group": GroupListener._leave_group,
    "offset_commit": GroupListener._offset_commit,
    "offset_fetch": GroupListener._offset_fetch,
    **{protocol.heartbeat_api: GroupListener._epoch_heartbeat for protocol in EPOCH_PROTOCOLS.values()},
    "api_versions": GroupListener._api_versions,
    "delete_groups": GroupListener._delete_groups,
    "metadata": GroupListener._metadata,
}
