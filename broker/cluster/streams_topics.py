"""Internal topics of streams groups, created when a heartbeat finds them missing (KIP-1071; streams-groups §6)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kohort.protocol.releases import rules_of
from kohort.purgatory import DelayedOperation
from kohort.storage.refusal import Refusal

if TYPE_CHECKING:
    from collections.abc import Generator, Iterable, Sequence

    from kohort.broker.cluster.shared_state import SharedState
    from kohort.coordinator.streams.streams_values import TopicInfo

MOST_PARTITIONS = 10_000  # maximum of one heartbeat, as of CreateTopics; Kafka's controller rejects more

MADE_AT_ONCE = 50  # topics created before other requests are handled: a millisecond or two

MOST_FAILURES = 1_000  # failures remembered; the oldest are dropped first

CREATION_MS = 250  # about as long as it takes in Kafka until the group coordinator sees the topics

NAMED_FAILURES = 3  # failures listed for a member; the others are counted


class StreamsTopics:
    """Pending and failed creations. Source: Kafka's `AutoTopicCreationManager`."""

    def __init__(self, state: SharedState) -> None:
        self._state = state
        settings = state.settings
        is_late = settings.profile == "faithful" and rules_of(settings.kohort_as_kafka).creates_internal_topics_later
        self._delay_ms = CREATION_MS if is_late else 0
        self._under_way: set[str] = set()
        self._failed: dict[str, tuple[str, int]] = {}  # by name: the reason, and the end of the backoff

    def make(self, topics: Sequence[TopicInfo], retry_ms: int, now_ms: int) -> str:
        """Start creating topics in the background. Return a description of earlier failures, or "".

        Args:
            retry_ms: How long a failure is remembered, and not retried.
        """
        self._failed = {name: item for name, item in self._failed.items() if item[1] > now_ms}
        failures = [(topic.name, self._failed[topic.name][0]) for topic in topics if topic.name in self._failed]
        missing = [item for item in topics if item.name not in self._failed and item.name not in self._under_way]
        self._under_way.update(topic.name for topic in missing)
        if missing:
            making = _Making(self._state, self._making(missing, now_ms + retry_ms), now_ms + self._delay_ms)
            if self._delay_ms:
                self._state.purgatory.wait(making)
            else:
                making.on_complete(now_ms, expired=True)
        return _describe_failures(failures)

    def _making(self, missing: Sequence[TopicInfo], retry_at_ms: int) -> Generator[None, None, None]:
        remaining = [topic.name for topic in missing]
        created: set[str] = set()
        try:
            if sum(max(topic.partitions, 1) for topic in missing) > MOST_PARTITIONS:
                self._remember(remaining, "Excessively large number of partitions per request.", retry_at_ms)
                return
            for number, topic in enumerate(missing, 1):
                yield from self._make(topic, created, retry_at_ms)
                remaining.remove(topic.name)
                self._under_way.discard(topic.name)
                if not number % MADE_AT_ONCE:
                    yield
        except OSError as error:
            self._state.storage_failed("making the internal topics of a streams group", error)
            self._remember(remaining, "The broker's disk could not be written.", retry_at_ms)
        finally:
            self._under_way.difference_update(remaining)

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


def _describe_failures(failures: Sequence[tuple[str, str]]) -> str:
    if not failures:
        return ""
    text = ", ".join(f"{name} ({reason})" for name, reason in failures[:NAMED_FAILURES])
    more = f" and {len(failures) - NAMED_FAILURES} more" if len(failures) > NAMED_FAILURES else ""
    return f"; Creation failed: {text}{more}."


class _Making(DelayedOperation):
    """Creates topics in steps, between which other requests are handled."""

    __slots__ = ("_state", "_steps")

    def __init__(self, state: SharedState, steps: Generator[None, None, None], due_ms: int) -> None:
        super().__init__(due_ms)
        self._state = state
        self._steps = steps

    def on_complete(self, now_ms: int, *, expired: bool) -> None:
        for _ in self._steps:
            self._state.purgatory.wait(_Making(self._state, self._steps, now_ms + 1))
            return
