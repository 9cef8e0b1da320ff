"""Listener that passes members' requests and their responses to the model of each group.

Most are heartbeats equal to the previous one, which are recognized by their bytes and not parsed.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

from kohort.protocol.api_keys import API_BY_KEY, API_BY_NAME
from kohort.protocol.errors import ErrorCode
from kohort.proxy.node_ports import NO_NODE
from kohort.proxy.seen.classic_known import AWAY
from kohort.proxy.seen.classic_sight import ClassicSight
from kohort.proxy.seen.commits import REFUSED, commit_refusal, committed_in
from kohort.proxy.seen.epoch_kinds import SIGHTS
from kohort.proxy.seen.epoch_sight import EpochSight
from kohort.proxy.seen.group_memory import GroupMemory
from kohort.proxy.seen.last_heartbeat import LastHeartbeat
from kohort.proxy.seen.overheard_reading import answer_in, request_in
from kohort.proxy.seen.requests_under_way import RequestsUnderWay

if TYPE_CHECKING:
    from kohort.proxy.seen.sight import SightWorld
    from kohort.proxy.tap import Line, ObservedCall

MAX_BEATS: Final = 16  # last heartbeats kept per connection, by client id; the oldest are dropped

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
        "api_versions", "delete_groups", "consumer_group_heartbeat", "share_group_heartbeat", "streams_group_heartbeat",
    )
}  # fmt: skip
_WAITING: Final = (_KEYS["join_group"], _KEYS["sync_group"])
_BEATS: Final = frozenset(key for name, key in _KEYS.items() if name.endswith("heartbeat"))
UNKNOWN_VERSION: Final = -1  # version of a group without observed traffic

AnySight = ClassicSight | EpochSight


class GroupListener:
    """All observed groups by id; a `Listener` without I/O."""

    keys = frozenset(_KEYS.values())

    def __init__(
        self,
        world: SightWorld,
        changed: Callable[[], None] = lambda: None,
        needs: Callable[[str, str], None] = lambda _, __: None,
    ) -> None:
        """Set up the listener.

        Args:
            changed: Called when any group may have changed.
            needs: Called with the id and type of a group whose description is needed.
        """
        self.world = world
        self.groups: dict[str, AnySight] = {}
        self._changed = changed
        self._needs = needs
        self._beats: dict[int, dict[str, LastHeartbeat]] = {}  # last heartbeats, by connection number and client id
        self._memory = GroupMemory(self.groups)
        self._groups_of_lines: dict[int, dict[str, AnySight]] = {}  # groups seen on a connection, by its number
        self._open: dict[ObservedCall, AnySight] = {}  # JoinGroup and SyncGroup requests without a response
        self._under_way = RequestsUnderWay()
        self._unsettled: dict[str, ClassicSight] = {}  # groups for which `settle` may have something to note, by id
        self._flushed_us = world.moment.us

    # See `kohort.proxy.tap.Listener`

    def on_request(self, observed: ObservedCall) -> None:
        key = observed.header.api_key
        if key in _WAITING:
            name = API_BY_KEY[key].name
            self._now(observed.requested_us)
            request = request_in(observed)
            if request is not None and (sight := self._classic(observed, request.group_id)) is not None:
                self._open[observed] = sight
                self._unsettled[request.group_id] = sight
                handle = sight.join_asked if name == "join_group" else sight.sync_asked
                handle(observed, request)
                sight.version += 1
        self._under_way.on_request(observed)

    def on_response(self, observed: ObservedCall) -> None:
        assert observed.answered_us is not None, "the response is complete"
        self._now(observed.answered_us)
        self._under_way.on_response(observed)
        key = observed.header.api_key
        if key not in _BEATS or not self._is_as_before(observed):
            _HANDLERS[API_BY_KEY[key].name](self, observed)
            self._changed()

    def on_close(self, line: Line) -> None:
        for observed in [beat for beat in self._open if beat.line is line]:
            self._open.pop(observed).on_close(observed)
        self._under_way.on_close(line)
        self._beats.pop(line.number, None)
        self.world.clients.forget(line)
        for sight in self._groups_of_lines.pop(line.number, {}).values():
            sight.lines.discard(line.number)
            sight.line_ended(line.number)
        self._changed()

    # Periodic work

    @property
    def is_unsettled(self) -> bool:
        """Whether `settle` must be called soon."""
        return bool(self._unsettled)

    def settle(self, now_us: int) -> None:
        """Note requests that have waited long enough to be waiting for other members; report counters once a minute."""
        for group_id, sight in list(self._unsettled.items()):
            sight.settle(now_us - SETTLED_US)
            if not sight.is_unsettled:
                del self._unsettled[group_id]
        self._now(now_us)
        if now_us - self._flushed_us >= STATS_US:
            self._flushed_us = now_us
            self.flush()
            self._forget_all([group for group in self.groups.values() if now_us - group.active_us > FORGOTTEN_US])
        self._changed()

    def flush(self) -> None:
        """Report the counted events."""
        for sight in self.groups.values():
            sight.flush()

    def forget(self, group_id: str) -> None:
        self._forget_all([self.groups[group_id]])

    def _forget_all(self, sights: list[AnySight]) -> None:
        """Forget groups that were silent for long, are too many or too large, or were deleted."""
        for sight in sights:
            self._drop(sight)
            self.groups.pop(sight.group_id, None)
            self._unsettled.pop(sight.group_id, None)

    def _drop(self, sight: AnySight) -> None:
        """Remove references to a group."""
        self._memory.remove(sight)
        for number in sight.lines:
            self._groups_of_lines.get(number, {}).pop(sight.group_id, None)
            beats = self._beats.get(number, {})
            for client_id in [name for name, beat in beats.items() if beat.sight is sight]:
                del beats[client_id]
        sight.lines.clear()

    def _count(self, sight: AnySight, observed: ObservedCall) -> None:
        """Count a parsed message as memory of its group, and forget groups if there is too much."""
        if self.groups.get(sight.group_id) is sight:
            number = observed.line.number
            if number not in sight.lines:
                sight.lines.add(number)
                self._groups_of_lines.setdefault(number, {})[sight.group_id] = sight
            self._memory.count(sight, len(observed.request) + len(observed.answer or b""))
            self._forget_all(self._memory.excess())

    # Messages

    def _is_as_before(self, observed: ObservedCall) -> bool:
        beats = self._beats.get(observed.line.number)
        beat = None if beats is None else beats.get(observed.header.client_id or "")
        if beat is None or not beat.is_repeated_by(observed):
            return False
        beat.sight.active_us = self.world.moment.us
        beat.sight.beat(beat.member_id)
        return True

    def _remember(self, observed: ObservedCall, sight: AnySight, member_id: str) -> None:
        """Keep a response without an error or changes, since the next one may be equal."""
        if self.groups.get(sight.group_id) is not sight:
            return
        beats = self._beats.setdefault(observed.line.number, {})
        beats[observed.header.client_id or ""] = LastHeartbeat(observed, sight, member_id)
        if len(beats) > MAX_BEATS:
            del beats[next(iter(beats))]

    def _forget_beat(self, observed: ObservedCall) -> None:
        self._beats.get(observed.line.number, {}).pop(observed.header.client_id or "", None)

    def _join_group(self, observed: ObservedCall) -> None:
        sight, answer = self._open.pop(observed, None), answer_in(observed)
        if isinstance(sight, ClassicSight):
            self._answers(sight, observed, answer)
            sight.join_answered(observed, answer)
            self._news(sight)
            if sight.awaits_leader:
                self._unsettled[sight.group_id] = sight

    def _sync_group(self, observed: ObservedCall) -> None:
        sight, answer = self._open.pop(observed, None), answer_in(observed)
        if isinstance(sight, ClassicSight):
            self._answers(sight, observed, answer)
            sight.sync_answered(observed, answer)
            self._news(sight)

    def _heartbeat(self, observed: ObservedCall) -> None:
        request, answer = request_in(observed), answer_in(observed)
        self._forget_beat(observed)
        if request is None or answer is None or answer.error_code in AWAY:
            return
        sight = self._classic(observed, request.group_id)
        if sight is None:
            return
        self._answers(sight, observed, answer)
        last = sight.group.generation_id
        sight.heartbeat_answered(observed, request, answer)
        if answer.error_code is ErrorCode.none:
            self._remember(observed, sight, request.member_id)
        self._news(sight, answer.error_code is not ErrorCode.none or sight.group.generation_id != last)

    def _leave_group(self, observed: ObservedCall) -> None:
        request, answer = request_in(observed), answer_in(observed)
        sight = None if request is None else self.groups.get(request.group_id)
        if isinstance(sight, ClassicSight) and answer is not None:
            self._answers(sight, observed, answer)
            sight.leave_answered(request, answer)
            self._news(sight)

    def _offset_commit(self, observed: ObservedCall) -> None:
        request, answer = request_in(observed), answer_in(observed)
        if request is None or answer is None:
            return
        committed, error = committed_in(request, answer, self.world.topics), commit_refusal(answer)
        sight = self.groups.get(request.group_id)
        if sight is None and committed:
            sight = self._classic(observed, request.group_id)
        if sight is None:
            return
        if committed:
            self._set_coordinator(sight, observed.line.node_id)
            self._count(sight, observed)
            sight.offsets |= committed
            sight.committed(request.member_id, len(committed))
            sight.is_open_question |= request.member_id not in sight.members and not sight.described_us
        elif error in REFUSED:
            sight.commit_rejected(request, error, observed)
        self._news(sight, not committed)

    def _offset_fetch(self, observed: ObservedCall) -> None:
        """Note a group that is active but was unknown."""
        request = request_in(observed)
        for group in () if request is None else request.groups:
            if group.group_id not in self.groups:
                self._needs(group.group_id, "classic" if group.member_id is None else "consumer")

    def _epoch_heartbeat(self, observed: ObservedCall) -> None:
        request, answer = request_in(observed), answer_in(observed)
        self._forget_beat(observed)
        if request is None or answer is None or answer.error_code in AWAY:
            return
        kind = API_BY_KEY[observed.header.api_key].name.partition("_")[0]
        sight = self.groups.get(request.group_id)
        if not isinstance(sight, EpochSight) or sight.group_type != kind:
            if answer.error_code is not ErrorCode.none:
                return
            sight = self._new(request.group_id, SIGHTS[kind](request.group_id, self.world))
        self._answers(sight, observed, answer)
        news = sight.heartbeat_answered(observed, request, answer)
        self._news(sight, news)
        if not news:
            self._remember(observed, sight, request.member_id)

    def _delete_groups(self, observed: ObservedCall) -> None:
        answer = answer_in(observed)
        for result in () if answer is None else answer.results:
            if result.error_code is ErrorCode.none and (sight := self.groups.get(result.group_id)) is not None:
                sight.deleted()
                self.forget(result.group_id)

    def _api_versions(self, observed: ObservedCall) -> None:
        request = request_in(observed)
        if request is not None and request.client_software_name:
            software = f"{request.client_software_name}/{request.client_software_version}"
            self.world.clients.named(observed.line, software)

    def _metadata(self, observed: ObservedCall) -> None:
        if observed.answer is None or len(observed.answer) > MAX_METADATA_BYTES:
            return
        answer = answer_in(observed)
        for topic in () if answer is None else answer.topics:
            if topic.topic_id is not None and topic.name:
                self.world.topics[topic.topic_id] = topic.name
        while len(self.world.topics) > MAX_TOPICS:
            del self.world.topics[next(iter(self.world.topics))]

    # Descriptions

    def version_of(self, group_id: str) -> int:
        """Return the version to pass to `described` for a request sent now."""
        sight = self.groups.get(group_id)
        return UNKNOWN_VERSION if sight is None else sight.version

    def described(self, group_id: str, kind: str, description: Any, version: int, now_us: int) -> bool:
        """Apply a description of a group. Return false if a message that may be newer has passed meanwhile.

        Args:
            kind: Type of the group at the time of the request.
            said: Element of the Describe… response.
            version: Version of the group at the time of the request.
        """
        if self.version_of(group_id) != version:
            return False
        if version == UNKNOWN_VERSION:
            self._new(group_id, SIGHTS.get(kind, ClassicSight)(group_id, self.world))
        sight = self.groups[group_id]
        if sight.group_type != kind:
            return True
        if self._under_way.may_change(group_id):
            return False
        self._now(now_us)
        return sight.described(description)

    def not_described(self, group_id: str, refusal: str) -> None:
        """Note that the cluster did not describe a group."""
        if group_id in self.groups:
            self.groups[group_id].not_described = refusal

    @property
    def open_questions(self) -> list[AnySight]:
        """Groups whose descriptions are needed."""
        return [sight for sight in self.groups.values() if sight.is_open_question]

    def _news(self, sight: AnySight, is_news: bool = True) -> None:
        """Note a change, after which descriptions requested before are outdated."""
        sight.version += is_news
        if sight.is_open_question:
            self._needs(sight.group_id, sight.group_type)

    # Groups

    def _classic(self, observed: ObservedCall, group_id: str) -> ClassicSight | None:
        """Return the classic group, or None if it is a consumer group with members of the classic protocol."""
        sight = self.groups.get(group_id)
        if sight is None:
            sight = self._new(group_id, ClassicSight(group_id, self.world))
        return sight if isinstance(sight, ClassicSight) else None

    def _new(self, group_id: str, sight: Any) -> Any:
        old = self.groups.pop(group_id, None)
        if old is not None:
            sight.offsets, sight.is_new = old.offsets, False
            self._drop(old)
        self.groups[group_id] = sight
        self._memory.add(sight)
        self._forget_all(self._memory.excess())
        return sight

    def _answers(self, sight: AnySight, observed: ObservedCall, answer: Any) -> None:
        """Note the coordinator of a group, which is the node that responds without a coordinator error."""
        is_away = answer is None or answer.error_code in AWAY
        self._set_coordinator(sight, NO_NODE if is_away else observed.line.node_id)
        self._count(sight, observed)

    def _set_coordinator(self, sight: AnySight, node_id: int) -> None:
        sight.active_us = self.world.moment.us
        if node_id != NO_NODE:
            sight.node_id = node_id

    def _now(self, moment_us: int) -> None:
        self.world.moment.us = moment_us


_HANDLERS: Final[dict[str, Callable[[GroupListener, ObservedCall], None]]] = {
    "join_group": GroupListener._join_group,
    "sync_group": GroupListener._sync_group,
    "heartbeat": GroupListener._heartbeat,
    "leave_group": GroupListener._leave_group,
    "offset_commit": GroupListener._offset_commit,
    "offset_fetch": GroupListener._offset_fetch,
    "consumer_group_heartbeat": GroupListener._epoch_heartbeat,
    "share_group_heartbeat": GroupListener._epoch_heartbeat,
    "streams_group_heartbeat": GroupListener._epoch_heartbeat,
    "api_versions": GroupListener._api_versions,
    "delete_groups": GroupListener._delete_groups,
    "metadata": GroupListener._metadata,
}
