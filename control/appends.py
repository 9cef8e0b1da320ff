"""Spoiling what a coordinator writes: an append that fails, is slow, or is held until a test lets it be reported.

A slow append is written at once and reported late, so that the order of the log stays what it is. One that fails is not
written at all, and clients hear what Kafka answers after that error of the storage. A share partition's leader asks
its coordinator again after some errors, as in Kafka: clients hear nothing of these unless they come five times.
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
from kohort.coordinator.context import STORAGE_ERRORS
from kohort.coordinator.effects import SHARE_STATE_TOPIC, Append
from kohort.coordinator.offsets_topic_records import GroupKey, OffsetKey, read_key
from kohort.coordinator.share_state.share_state_records import read_state_key
from kohort.protocol.errors import ErrorCode
from kohort.purgatory import DelayedOperation

if TYPE_CHECKING:
    from kohort.control.brokers import Brokers

GROUP, COMMIT, SHARE_STATE = "group", "commit", "share_state"
"""What may be written: a group with its assignment, offsets, or what has become of a share group's records."""
KINDS = (GROUP, COMMIT, SHARE_STATE)


class AppendRule:
    """At work until it is removed, or the `with` block that it opened ends; then what it holds is reported."""

    def __init__(self, appends: Appends, kind: str | None, group: str | None) -> None:
        self._appends = appends
        self.number = 0
        """Counted from 1 in each cluster, once it is at work."""
        self._kind, self._group = kind, group
        self._counting = Counting(Trigger(), appends.chance)
        self._error: ErrorCode | None = None
        self._delay_ms: int | None = None
        self._held: list[Report] = []

    def fail(self, error: str = "NOT_ENOUGH_REPLICAS", **when: Unpack[When]) -> AppendRule:
        """Nothing is written, and the storage says an error, by Kafka's name. Raises ControlError for one it cannot."""
        names = {each.name.upper(): each for each in STORAGE_ERRORS}
        if error not in names:
            raise unknown("error of the storage", error, names)
        self._error = names[error]
        return self._at_work(when)

    def delay(self, seconds: Seconds, **when: Unpack[When]) -> AppendRule:
        """It is written, and the coordinator hears of it so much later, by the brokers' clock."""
        self._delay_ms = length_ms(seconds, "a delay")
        return self._at_work(when)

    def hold(self, **when: Unpack[When]) -> AppendRule:
        """It is written, and the coordinator hears of it when the rule ends, or at `release`."""
        return self._at_work(when)

    @property
    def acted(self) -> int:
        """How many appends were spoiled."""
        return self._counting.acted

    @property
    def held(self) -> int:
        """How many are written and not reported."""
        return len(self._held)

    def release(self) -> None:
        """Reports what is held; the rule goes on."""
        held, self._held = self._held, []
        for report in held:
            self._appends.report(report)

    def remove(self) -> None:
        """Ends it."""
        self._appends.forget(self)
        self.release()

    def _at_work(self, when: When) -> AppendRule:
        self._counting = Counting(trigger(when), self._appends.chance)
        self.number = self._appends.next_number()
        self._appends.rules.append(self)
        return self

    # What the broker asks, through `Appends`

    def takes(self, effect: Append) -> bool:
        """Whether it acts on this append, which is counted."""
        return self._fits(effect) and self._counting.pull()

    @property
    def error(self) -> ErrorCode | None:
        """What it makes of an append; None: it is written."""
        return self._error

    def keep(self, report: Report) -> None:
        """Reports it later."""
        if self._delay_ms is None:
            self._held.append(report)
        else:
            self._appends.report_after(self._delay_ms, report)

    def _fits(self, effect: Append) -> bool:
        kind, group = _written_by(effect)
        return self._kind in (None, kind) and (self._group is None or fnmatchcase(group, self._group))

    def __str__(self) -> str:
        what = f"writes of kind {self._kind}" if self._kind is not None else "all writes"
        of = f" of group {self._group}" if self._group is not None else ""
        if self._error is not None:
            does = f"fail with {self._error.name.upper()}"
        else:
            does = "are held" if self._delay_ms is None else f"are reported {self._delay_ms} ms late"
        return f"rule {self.number}: {what}{of} {does}"

    def __enter__(self) -> AppendRule:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, problem: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.remove()


class Appends:
    """The rules of a cluster, and what the broker asks of them."""

    def __init__(self, brokers: Brokers, chance: Random) -> None:
        self._brokers = brokers
        self.chance = chance
        self.rules: list[AppendRule] = []
        self._taken: dict[tuple[str, int, int], AppendRule] = {}
        """By topic, partition and token."""
        self._made = 0

    def of(self, kind: str | None = None, group: str | None = None) -> AppendRule:
        """Appends of a kind (`group`, `commit` or `share_state`; None: all), of one group or of those like a pattern.

        Say next what happens to them: `appends.of("group", group="billing").hold()`.
        """
        if kind not in (None, *KINDS):
            raise unknown("kind of append", kind, KINDS)
        return AppendRule(self, kind, group)

    def find(self, number: int) -> AppendRule:
        """The rule of that number. Raises NotFoundError."""
        for rule in self.rules:
            if rule.number == number:
                return rule
        raise NotFoundError(f"there is no rule {number} for appends; it may have been removed already")

    def next_number(self) -> int:
        """For a rule that goes to work."""
        self._made += 1
        return self._made

    def clear(self) -> None:
        """Ends all rules."""
        for rule in list(self.rules):
            rule.remove()

    def forget(self, rule: AppendRule) -> None:
        """A rule ends."""
        if rule in self.rules:
            self.rules.remove(rule)

    def refuses(self, effect: Append) -> ErrorCode | None:
        """See `BrokerHooks.refuses`."""
        for rule in self.rules:
            if rule.takes(effect):
                if rule.error is None:
                    self._taken[_which(effect)] = rule
                return rule.error
        return None

    def holds(self, effect: Append, report: Report) -> bool:
        """See `BrokerHooks.holds`."""
        rule = self._taken.pop(_which(effect), None)
        if rule is not None:
            rule.keep(report)
        return rule is not None

    def report(self, report: Report) -> None:
        """The coordinator hears that it is written, and goes on."""
        self._brokers.act(report)

    def report_after(self, length_ms: int, report: Report) -> None:
        """Reports after a while that the write is done."""
        cluster = self._brokers.cluster
        cluster.purgatory.wait(_Late(cluster.clock.now_ms() + length_ms, report))


def _which(effect: Append) -> tuple[str, int, int]:
    return effect.topic, effect.partition, effect.token


def _written_by(effect: Append) -> tuple[str, str]:
    """The kind of what is written, and whose it is."""
    key = next(key for key, _ in effect.records)
    assert key is not None, "coordinators write no record without a key"
    if effect.topic == SHARE_STATE_TOPIC:
        state = read_state_key(key)
        return SHARE_STATE, "" if state is None else state[1].group_id
    written = read_key(key)
    group = written.group_id if isinstance(written, GroupKey | OffsetKey) else ""
    return GROUP if isinstance(written, GroupKey) else COMMIT, group


class _Late(DelayedOperation):
    """An append that takes its time."""

    __slots__ = ("_report",)

    def __init__(self, deadline_ms: int, report: Report) -> None:
        super().__init__(deadline_ms)
        self._report = report

    def on_complete(self, now_ms: int, *, expired: bool) -> None:
        """It is through."""
        self._report(now_ms)
