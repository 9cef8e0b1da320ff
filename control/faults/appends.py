"""Faults in a coordinator's writes: an append that fails, is slow, or is held until a test releases it.

A slow append is written immediately and reported late, so the order of the log doesn't change. A failing append isn't
written, and clients receive Kafka's response to that storage error. As in Kafka, a share-partition leader retries
requests to its coordinator after some errors; clients receive an error only after five attempts.
"""

from __future__ import annotations

from fnmatch import fnmatchcase
from random import Random
from types import TracebackType
from typing import TYPE_CHECKING, Unpack

from kohort.broker.cluster.broker_hooks import Report
from kohort.control.control_errors import NotFoundError, unknown
from kohort.control.faults.rule_builder import When
from kohort.control.faults.triggers import Counting, Trigger, trigger
from kohort.control.numbers import Seconds, length_ms
from kohort.control.suggesting import suggest_names
from kohort.coordinator.context import STORAGE_ERRORS
from kohort.coordinator.effects import SHARE_STATE_TOPIC, Append
from kohort.coordinator.offsets.offsets_topic_records import GroupKey, OffsetKey, read_key
from kohort.coordinator.share_state.share_state_records import read_state_key
from kohort.protocol.errors import ErrorCode
from kohort.purgatory import DelayedOperation

if TYPE_CHECKING:
    from kohort.control.brokers import Brokers

GROUP, COMMIT, SHARE_STATE = "group", "commit", "share_state"
# what is appended: a group with its assignment, offsets, or the state of a share group's records
KINDS = (GROUP, COMMIT, SHARE_STATE)


class AppendRule:
    """Rule that applies from its creation until it is removed or its `with` block ends.

    Held appends are reported then.
    """

    def __init__(self, appends: Appends, kind: str | None, group: str | None) -> None:
        self._appends = appends
        self.number = 0  # counted from 1 in each cluster; 0 before the rule applies
        self._kind, self._group = kind, group
        self._counting = Counting(Trigger(), appends.chance)
        self._error: ErrorCode | None = None
        self._delay_ms: int | None = None
        self._held: list[Report] = []

    def fail(self, error: str = "NOT_ENOUGH_REPLICAS", **options: Unpack[When]) -> AppendRule:
        """Fail appends with a storage error, by Kafka's name, without writing them.

        Raise ControlError for another error.
        """
        names = {code.name.upper(): code for code in STORAGE_ERRORS}
        if error not in names:
            raise unknown("storage error", error, names)
        self._error = names[error]
        return self._activate(options)

    def delay(self, seconds: Seconds, **options: Unpack[When]) -> AppendRule:
        """Write appends immediately, and report them to the coordinator after a delay on the brokers' clock."""
        self._delay_ms = length_ms(seconds, "a delay")
        return self._activate(options)

    def hold(self, **options: Unpack[When]) -> AppendRule:
        """Write appends immediately, and report them to the coordinator when the rule ends, or at `release`."""
        return self._activate(options)

    @property
    def acted(self) -> int:
        """The number of appends that the rule has failed, delayed or held."""
        return self._counting.acted

    @property
    def held(self) -> int:
        """The number of appends that are written but not reported."""
        return len(self._held)

    def release(self) -> None:
        """Report the held appends. The rule continues to apply."""
        held, self._held = self._held, []
        for report in held:
            self._appends.report(report)

    def remove(self) -> None:
        self._appends.forget(self)
        self.release()

    def _activate(self, options: When) -> AppendRule:
        self._counting = Counting(trigger(options), self._appends.chance)
        self.number = self._appends.next_number()
        self._appends.rules.append(self)
        return self

    # Called by the broker, through `Appends`

    def takes(self, effect: Append) -> bool:
        """Count an append if it matches, and return whether the rule applies to it."""
        return self._fits(effect) and self._counting.pull()

    @property
    def error(self) -> ErrorCode | None:
        return self._error

    def keep(self, report: Report) -> None:
        if self._delay_ms is None:
            self._held.append(report)
        else:
            self._appends.report_after(self._delay_ms, report)

    def _fits(self, effect: Append) -> bool:
        kind, group = _written_by(effect)
        return self._kind in (None, kind) and (self._group is None or fnmatchcase(group, self._group))

    def __str__(self) -> str:
        writes = f"writes of kind {self._kind}" if self._kind is not None else "all writes"
        of = f" of group {self._group}" if self._group is not None else ""
        if self._error is not None:
            does = f"fail with {self._error.name.upper()}"
        else:
            does = "are held" if self._delay_ms is None else f"are reported {self._delay_ms} ms late"
        return f"rule {self.number}: {writes}{of} {does}"

    def __enter__(self) -> AppendRule:
        return self

    def __exit__(
        self, error_type: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.remove()


@suggest_names
class Appends:
    """Append rules of a cluster, and the hooks that the broker calls."""

    def __init__(self, brokers: Brokers, chance: Random) -> None:
        self._brokers = brokers
        self.chance = chance
        self.rules: list[AppendRule] = []
        self._rules_by_append: dict[tuple[str, int, int], AppendRule] = {}  # keyed by topic, partition and token
        self._last_number = 0

    def of(self, kind: str | None = None, group: str | None = None) -> AppendRule:
        """Select appends for a rule: `appends.of("group", group="billing").hold()`.

        Args:
            kind: `group`, `commit` or `share_state`; None selects all kinds.
            group: A group id or a pattern.
        """
        if kind not in (None, *KINDS):
            raise unknown("kind of append", kind, KINDS)
        return AppendRule(self, kind, group)

    def find(self, number: int) -> AppendRule:
        for rule in self.rules:
            if rule.number == number:
                return rule
        raise NotFoundError(f"unknown rule {number} for appends; it may have been removed already")

    def next_number(self) -> int:
        self._last_number += 1
        return self._last_number

    def clear(self) -> None:
        for rule in list(self.rules):
            rule.remove()

    def forget(self, rule: AppendRule) -> None:
        if rule in self.rules:
            self.rules.remove(rule)

    @property
    def may_hold(self) -> bool:
        """Whether a rule holds or delays an append whose outcome has not been reported yet."""
        return bool(self._rules_by_append)

    def refuses(self, effect: Append) -> ErrorCode | None:
        for rule in self.rules:
            if rule.takes(effect):
                if rule.error is None:
                    self._rules_by_append[_append_key(effect)] = rule
                return rule.error
        return None

    def holds(self, effect: Append, report: Report) -> bool:
        rule = self._rules_by_append.pop(_append_key(effect), None)
        if rule is not None:
            rule.keep(report)
        return rule is not None

    def report(self, report: Report) -> None:
        self._brokers.act(report)

    def report_after(self, length_ms: int, report: Report) -> None:
        cluster = self._brokers.cluster
        cluster.purgatory.wait(_Late(cluster.clock.now_ms() + length_ms, report))


def _append_key(effect: Append) -> tuple[str, int, int]:
    return effect.topic, effect.partition, effect.token


def _written_by(effect: Append) -> tuple[str, str]:
    key = next(key for key, _ in effect.records)
    assert key is not None, "coordinators write no record without a key"
    if effect.topic == SHARE_STATE_TOPIC:
        state = read_state_key(key)
        return SHARE_STATE, "" if state is None else state[1].group_id
    written = read_key(key)
    group = written.group_id if isinstance(written, GroupKey | OffsetKey) else ""
    return GROUP if isinstance(written, GroupKey) else COMMIT, group


class _Late(DelayedOperation):
    """Delayed report of an append."""

    __slots__ = ("_report",)

    def __init__(self, deadline_ms: int, report: Report) -> None:
        super().__init__(deadline_ms)
        self._report = report

    def on_complete(self, now_ms: int, *, expired: bool) -> None:
        self._report(now_ms)
