"""Listens to what members and coordinators say to each other, and shows it to the model of each group.

Heartbeats are most of it, and nearly all are as the one before: such a one is known by its bytes and not read.
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
    from kohort.proxy.tap import Line, Overheard

MAX_BEATS: Final = 16
"""Client ids of one connection whose last heartbeat is kept; of more, the first are forgotten."""

MOST_TOPICS: Final = 100_000
"""Names of topics that are known; of more, those that were heard first are forgotten."""

FORGOTTEN_US: Final = 24 * 3_600 * 1_000_000
"""After how long a group is forgotten of which nothing is heard."""

SETTLED_US: Final = 20_000
"""A JoinGroup that is not answered for so long waits for others: refusals come at once."""

STATS_US: Final = 60_000_000
"""How often what is counted becomes events (offsets-topic §9.2)."""

LARGEST_METADATA: Final = 256 << 10
"""A larger answer to Metadata is not read for the names of topics."""

_KEYS: Final = {
    name: API_BY_NAME[name].key
    for name in (
        "metadata", "offset_commit", "offset_fetch", "join_group", "heartbeat", "leave_group", "sync_group",
        "api_versions", "delete_groups", "consumer_group_heartbeat", "share_group_heartbeat", "streams_group_heartbeat",
    )
}  # fmt: skip
_WAITING: Final = (_KEYS["join_group"], _KEYS["sync_group"])
_BEATS: Final = frozenset(key for name, key in _KEYS.items() if name.endswith("heartbeat"))
UNHEARD: Final = -1
"""In the place of a version of a group of which nothing was heard."""

AnySight = ClassicSight | EpochSight


class GroupListener:
    """All groups that have been heard of, by id. Heard by a tap (`Listener`); sans-IO."""

    keys = frozenset(_KEYS.values())

    def __init__(
        self,
        world: SightWorld,
        changed: Callable[[], None] = lambda: None,
        needs: Callable[[str, str], None] = lambda _, __: None,
    ) -> None:
        """`changed`: called when anything may be otherwise than before.

        `needs`: called with the id and the kind of a group when the cluster is to be asked how it is.
        """
        self.world = world
        self.groups: dict[str, AnySight] = {}
        self._changed = changed
        self._needs = needs
        self._beats: dict[int, dict[str, LastHeartbeat]] = {}
        """The last heartbeat by the number of the connection and the client id."""
        self._memory = GroupMemory(self.groups)
        self._groups_of_lines: dict[int, dict[str, AnySight]] = {}
        """The groups that were spoken of on a connection, by its number."""
        self._open: dict[Overheard, AnySight] = {}
        """JoinGroup and SyncGroup requests that are not answered."""
        self._under_way = RequestsUnderWay()
        self._unsettled: dict[str, ClassicSight] = {}
        """Groups of which `settle` may have something to find out, by id."""
        self._flushed_us = world.moment.us

    # See `kohort.proxy.tap.Listener`

    def asked(self, overheard: Overheard) -> None:
        """See `Listener`."""
        key = overheard.header.api_key
        if key in _WAITING:
            name = API_BY_KEY[key].name
            self._now(overheard.asked_us)
            request = request_in(overheard)
            if request is not None and (sight := self._classic(overheard, request.group_id)) is not None:
                self._open[overheard] = sight
                self._unsettled[request.group_id] = sight
                asked = sight.join_asked if name == "join_group" else sight.sync_asked
                asked(overheard, request)
                sight.version += 1
        self._under_way.asked(overheard)

    def answered(self, overheard: Overheard) -> None:
        """See `Listener`."""
        assert overheard.answered_us is not None, "it is answered"
        self._now(overheard.answered_us)
        self._under_way.answered(overheard)
        key = overheard.header.api_key
        if key not in _BEATS or not self._is_as_before(overheard):
            _HEARD[API_BY_KEY[key].name](self, overheard)
            self._changed()

    def hung_up(self, line: Line) -> None:
        """See `Listener`."""
        for overheard in [each for each in self._open if each.line is line]:
            self._open.pop(overheard).hung_up(overheard)
        self._under_way.hung_up(line)
        self._beats.pop(line.number, None)
        self.world.clients.forget(line)
        for sight in self._groups_of_lines.pop(line.number, {}).values():
            sight.lines.discard(line.number)
            sight.line_ended(line.number)
        self._changed()

    # What time brings

    @property
    def is_unsettled(self) -> bool:
        """Whether `settle` is to be called soon."""
        return bool(self._unsettled)

    def settle(self, now_us: int) -> None:
        """What has waited long enough to be known to wait is told; what was counted is, once a minute."""
        for group_id, sight in list(self._unsettled.items()):
            sight.settle(now_us - SETTLED_US)
            if not sight.is_unsettled:
                del self._unsettled[group_id]
        self._now(now_us)
        if now_us - self._flushed_us >= STATS_US:
            self._flushed_us = now_us
            self.flush()
            self._forget_all([each for each in self.groups.values() if now_us - each.heard_us > FORGOTTEN_US])
        self._changed()

    def flush(self) -> None:
        """What was counted becomes events."""
        for sight in self.groups.values():
            sight.flush()

    def forget(self, group_id: str) -> None:
        """Forget a group that was deleted."""
        self._forget_all([self.groups[group_id]])

    def _forget_all(self, sights: list[AnySight]) -> None:
        """Forget groups that were silent for long, that are too many or too large, or that were deleted."""
        for sight in sights:
            self._drop(sight)
            self.groups.pop(sight.group_id, None)
            self._unsettled.pop(sight.group_id, None)

    def _drop(self, sight: AnySight) -> None:
        """Release what refers to a group."""
        self._memory.remove(sight)
        for number in sight.lines:
            self._groups_of_lines.get(number, {}).pop(sight.group_id, None)
            beats = self._beats.get(number, {})
            for client_id in [name for name, beat in beats.items() if beat.sight is sight]:
                del beats[client_id]
        sight.lines.clear()

    def _count(self, sight: AnySight, overheard: Overheard) -> None:
        """Count a message that was read as memory of its group, and forget groups if there is too much."""
        if self.groups.get(sight.group_id) is sight:
            number = overheard.line.number
            if number not in sight.lines:
                sight.lines.add(number)
                self._groups_of_lines.setdefault(number, {})[sight.group_id] = sight
            self._memory.count(sight, len(overheard.request) + len(overheard.answer or b""))
            self._forget_all(self._memory.excess())

    # What is heard

    def _is_as_before(self, overheard: Overheard) -> bool:
        beats = self._beats.get(overheard.line.number)
        beat = None if beats is None else beats.get(overheard.header.client_id or "")
        if beat is None or not beat.is_repeated_by(overheard):
            return False
        beat.sight.heard_us = self.world.moment.us
        beat.sight.beat(beat.member_id)
        return True

    def _remember(self, overheard: Overheard, sight: AnySight, member_id: str) -> None:
        """An answer without an error and without news: the next one may be as this."""
        if self.groups.get(sight.group_id) is not sight:
            return
        beats = self._beats.setdefault(overheard.line.number, {})
        beats[overheard.header.client_id or ""] = LastHeartbeat(overheard, sight, member_id)
        if len(beats) > MAX_BEATS:
            del beats[next(iter(beats))]

    def _forget_beat(self, overheard: Overheard) -> None:
        self._beats.get(overheard.line.number, {}).pop(overheard.header.client_id or "", None)

    def _join_group(self, overheard: Overheard) -> None:
        sight, answer = self._open.pop(overheard, None), answer_in(overheard)
        if isinstance(sight, ClassicSight):
            self._answers(sight, overheard, answer)
            sight.join_answered(overheard, answer)
            self._news(sight)
            if sight.awaits_leader:
                self._unsettled[sight.group_id] = sight

    def _sync_group(self, overheard: Overheard) -> None:
        sight, answer = self._open.pop(overheard, None), answer_in(overheard)
        if isinstance(sight, ClassicSight):
            self._answers(sight, overheard, answer)
            sight.sync_answered(overheard, answer)
            self._news(sight)

    def _heartbeat(self, overheard: Overheard) -> None:
        request, answer = request_in(overheard), answer_in(overheard)
        self._forget_beat(overheard)
        if request is None or answer is None or answer.error_code in AWAY:
            return
        sight = self._classic(overheard, request.group_id)
        if sight is None:
            return
        self._answers(sight, overheard, answer)
        before = sight.group.generation_id
        sight.heartbeat_answered(overheard, request, answer)
        if answer.error_code is ErrorCode.none:
            self._remember(overheard, sight, request.member_id)
        self._news(sight, answer.error_code is not ErrorCode.none or sight.group.generation_id != before)

    def _leave_group(self, overheard: Overheard) -> None:
        request, answer = request_in(overheard), answer_in(overheard)
        sight = None if request is None else self.groups.get(request.group_id)
        if isinstance(sight, ClassicSight) and answer is not None:
            self._answers(sight, overheard, answer)
            sight.leave_answered(request, answer)
            self._news(sight)

    def _offset_commit(self, overheard: Overheard) -> None:
        request, answer = request_in(overheard), answer_in(overheard)
        if request is None or answer is None:
            return
        committed, error = committed_in(request, answer, self.world.topics), commit_refusal(answer)
        sight = self.groups.get(request.group_id)
        if sight is None and committed:
            sight = self._classic(overheard, request.group_id)
        if sight is None:
            return
        if committed:
            self._heard(sight, overheard.line.node_id)
            self._count(sight, overheard)
            sight.offsets |= committed
            sight.committed(request.member_id, len(committed))
            sight.is_open_question |= request.member_id not in sight.members and not sight.described_us
        elif error in REFUSED:
            sight.commit_rejected(request, error, overheard)
        self._news(sight, not committed)

    def _offset_fetch(self, overheard: Overheard) -> None:
        """A fetch of offsets may be the first that passes of a group that is at work."""
        request = request_in(overheard)
        for each in () if request is None else request.groups:
            if each.group_id not in self.groups:
                self._needs(each.group_id, "classic" if each.member_id is None else "consumer")

    def _epoch_heartbeat(self, overheard: Overheard) -> None:
        request, answer = request_in(overheard), answer_in(overheard)
        self._forget_beat(overheard)
        if request is None or answer is None or answer.error_code in AWAY:
            return
        kind = API_BY_KEY[overheard.header.api_key].name.partition("_")[0]
        sight = self.groups.get(request.group_id)
        if not isinstance(sight, EpochSight) or sight.kind != kind:
            if answer.error_code is not ErrorCode.none:
                return
            sight = self._new(request.group_id, SIGHTS[kind](request.group_id, self.world))
        self._answers(sight, overheard, answer)
        news = sight.heartbeat_answered(overheard, request, answer)
        self._news(sight, news)
        if not news:
            self._remember(overheard, sight, request.member_id)

    def _delete_groups(self, overheard: Overheard) -> None:
        answer = answer_in(overheard)
        for each in () if answer is None else answer.results:
            if each.error_code is ErrorCode.none and (sight := self.groups.get(each.group_id)) is not None:
                sight.deleted()
                self.forget(each.group_id)

    def _api_versions(self, overheard: Overheard) -> None:
        request = request_in(overheard)
        if request is not None and request.client_software_name:
            software = f"{request.client_software_name}/{request.client_software_version}"
            self.world.clients.named(overheard.line, software)

    def _metadata(self, overheard: Overheard) -> None:
        if overheard.answer is None or len(overheard.answer) > LARGEST_METADATA:
            return
        answer = answer_in(overheard)
        for topic in () if answer is None else answer.topics:
            if topic.topic_id is not None and topic.name:
                self.world.topics[topic.topic_id] = topic.name
        while len(self.world.topics) > MOST_TOPICS:
            del self.world.topics[next(iter(self.world.topics))]

    # What the cluster says when it is asked

    def version_of(self, group_id: str) -> int:
        """What `described` is to be given of what is asked for now."""
        sight = self.groups.get(group_id)
        return UNHEARD if sight is None else sight.version

    def described(self, group_id: str, kind: str, said: Any, version: int, now_us: int) -> bool:
        """The cluster has described a group. Returns False where something has passed meanwhile that may be newer.

        `kind`, `version`: when it was asked. `said`: the element of its kind's Describe… answer.
        """
        if self.version_of(group_id) != version:
            return False
        if version == UNHEARD:
            self._new(group_id, SIGHTS.get(kind, ClassicSight)(group_id, self.world))
        sight = self.groups[group_id]
        if sight.kind != kind:
            return True
        if self._under_way.may_change(group_id):
            return False
        self._now(now_us)
        return sight.described(said)

    def not_described(self, group_id: str, refusal: str) -> None:
        """The cluster does not describe a group."""
        if group_id in self.groups:
            self.groups[group_id].not_described = refusal

    @property
    def open_questions(self) -> list[AnySight]:
        """Groups of which the cluster is still to be asked."""
        return [each for each in self.groups.values() if each.is_open_question]

    def _news(self, sight: AnySight, is_news: bool = True) -> None:
        """Something has passed: what was asked for before is older."""
        sight.version += is_news
        if sight.is_open_question:
            self._needs(sight.group_id, sight.kind)

    # Groups

    def _classic(self, overheard: Overheard, group_id: str) -> ClassicSight | None:
        """The classic group of that id; None where a consumer group has members that speak the classic protocol."""
        sight = self.groups.get(group_id)
        if sight is None:
            sight = self._new(group_id, ClassicSight(group_id, self.world))
        return sight if isinstance(sight, ClassicSight) else None

    def _new(self, group_id: str, sight: Any) -> Any:
        before = self.groups.pop(group_id, None)
        if before is not None:
            sight.offsets, sight.is_new = before.offsets, False
            self._drop(before)
        self.groups[group_id] = sight
        self._memory.add(sight)
        self._forget_all(self._memory.excess())
        return sight

    def _answers(self, sight: AnySight, overheard: Overheard, answer: Any) -> None:
        """Who answers for a group coordinates it, unless it says that it does not."""
        is_away = answer is None or answer.error_code in AWAY
        self._heard(sight, NO_NODE if is_away else overheard.line.node_id)
        self._count(sight, overheard)

    def _heard(self, sight: AnySight, node_id: int) -> None:
        sight.heard_us = self.world.moment.us
        if node_id != NO_NODE:
            sight.node_id = node_id

    def _now(self, moment_us: int) -> None:
        self.world.moment.us = moment_us


_HEARD: Final[dict[str, Callable[[GroupListener, Overheard], None]]] = {
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
