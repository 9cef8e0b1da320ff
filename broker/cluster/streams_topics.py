"""Internal topics of streams groups: made when a heartbeat finds them missing (KIP-1071; streams-groups §6)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kohort.purgatory import DelayedOperation
from kohort.storage.refusal import Refusal

if TYPE_CHECKING:
    from collections.abc import Generator, Iterable, Sequence

    from kohort.broker.cluster.shared_state import SharedState
    from kohort.coordinator.streams.streams_values import TopicInfo

MOST_PARTITIONS = 10_000
"""What one heartbeat may have made, as CreateTopics may; Kafka's controller refuses more."""

MADE_AT_ONCE = 50
"""Topics that are made before others are served: a millisecond or two."""

MOST_FAILURES = 1_000
"""Failures that are remembered; the oldest are forgotten first."""

NAMED_FAILURES = 3
"""Failures that a member is told; of others how many there are."""


class StreamsTopics:
    """What is being made, and what could not be. Source: Kafka's `AutoTopicCreationManager`."""

    def __init__(self, state: SharedState) -> None:
        self._state = state
        self._under_way: set[str] = set()
        self._failed: dict[str, tuple[str, int]] = {}
        """By name, why a topic could not be made, and until when nobody tries again."""

    def make(self, topics: Sequence[TopicInfo], retry_ms: int, now_ms: int) -> str:
        """Has topics made, beside the heartbeat that wants them. Returns what is known of earlier failures, or "".

        `retry_ms`: how long a failure is remembered; until then nobody tries again.
        """
        self._failed = {name: each for name, each in self._failed.items() if each[1] > now_ms}
        failures = [(topic.name, self._failed[topic.name][0]) for topic in topics if topic.name in self._failed]
        wanted = [each for each in topics if each.name not in self._failed and each.name not in self._under_way]
        self._under_way.update(topic.name for topic in wanted)
        if wanted:
            _Making(self._state, self._making(wanted, now_ms + retry_ms), now_ms).on_complete(now_ms, expired=True)
        return _told(failures)

    def _making(self, wanted: Sequence[TopicInfo], retry_at_ms: int) -> Generator[None, None, None]:
        """Yields where others may be served."""
        left = [topic.name for topic in wanted]
        created: set[str] = set()
        try:
            if sum(max(topic.partitions, 1) for topic in wanted) > MOST_PARTITIONS:
                self._remember(left, "Excessively large number of partitions per request.", retry_at_ms)
                return
            for number, topic in enumerate(wanted, 1):
                yield from self._make(topic, created, retry_at_ms)
                left.remove(topic.name)
                self._under_way.discard(topic.name)
                if not number % MADE_AT_ONCE:
                    yield
        except OSError as problem:
            self._state.storage_failed("making the internal topics of a streams group", problem)
            self._remember(left, "The broker's disk could not be written.", retry_at_ms)
        finally:
            self._under_way.difference_update(left)

    def _make(self, topic: TopicInfo, created: set[str], retry_at_ms: int) -> Generator[None, None, None]:
        topics = self._state.topics
        factor = topic.replication_factor or -1
        outcome = yield from topics.creating(
            topic.name, topic.partitions, factor, dict(topic.topic_configs), siblings=created
        )
        if isinstance(outcome, Refusal):
            self._remember((topic.name,), outcome.message or outcome.error_code.name, retry_at_ms)
        else:
            created.add(topic.name)

    def _remember(self, names: Iterable[str], reason: str, retry_at_ms: int) -> None:
        for name in names:
            self._failed[name] = reason, retry_at_ms
        while len(self._failed) > MOST_FAILURES:
            del self._failed[next(iter(self._failed))]


def _told(failures: Sequence[tuple[str, str]]) -> str:
    if not failures:
        return ""
    text = ", ".join(f"{name} ({reason})" for name, reason in failures[:NAMED_FAILURES])
    more = f" and {len(failures) - NAMED_FAILURES} more" if len(failures) > NAMED_FAILURES else ""
    return f"; Creation failed: {text}{more}."


class _Making(DelayedOperation):
    """Makes topics a step at a time, with a turn for everybody else in between."""

    __slots__ = ("_state", "_steps")

    def __init__(self, state: SharedState, steps: Generator[None, None, None], due_ms: int) -> None:
        super().__init__(due_ms)
        self._state = state
        self._steps = steps

    def on_complete(self, now_ms: int, *, expired: bool) -> None:
        """Goes on until there is nothing left."""
        for _ in self._steps:
            self._state.purgatory.wait(_Making(self._state, self._steps, now_ms + 1))
            return
