"""A coordinator in virtual time: events in order, timers of the purgatory, and the group's committed offsets."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from heapq import heappop, heappush
from random import Random
from typing import Any
from uuid import UUID

from kohort.coordinator.consumer.consumer_config import ConsumerConfig
from kohort.coordinator.context import Shard
from kohort.coordinator.coordinator import GroupCoordinator
from kohort.coordinator.coordinator_settings import GroupSettings
from kohort.coordinator.effects import Append, Replies, Reply
from kohort.coordinator.groups.group import CONSUMER
from kohort.protocol.errors import ErrorCode as E
from kohort.protocol.messages import message_of
from kohort.purgatory import Purgatory
from kohort.whatif.clients.calling import Caller, call
from kohort.whatif.clients.client_libraries import Span
from kohort.whatif.clients.group_member import Said
from kohort.whatif.clients.virtual_topics import Topics
from kohort.whatif.played_settings import Settings

EPOCH_MS = 1_700_000_000_000  # the wall clock at time 0
GROUP = "group"
REQUEST_MS = (1, 2)  # a request or a response under way
WRITE_MS = 1  # a write to the offsets topic
FETCH_MS = (1, 6)  # from an append to the records at a waiting client


class Scheduled:
    """A call at a time of the virtual clock, unless it is cancelled."""

    __slots__ = ("at_ms", "call")

    def __init__(self, at_ms: int, call: Callable[[], None]) -> None:
        self.at_ms = at_ms
        self.call: Callable[[], None] | None = call

    def cancel(self) -> None:
        self.call = None


class Connection:
    """A client's connection to the coordinator. The broker reads no further request while one is pending."""

    def __init__(self, cluster: VirtualCluster, caller: Caller, delay: Callable[[Span], int]) -> None:
        """Create an open connection.

        Args:
            delay: Draws a duration.
        """
        self.cluster = cluster
        self.caller = caller
        self.delay = delay
        self.is_open = True
        self.pending = False
        self._queue: deque[tuple[Said, Callable[[E], None], Callable[[Callable[[], None]], None]]] = deque()

    @property
    def is_busy(self) -> bool:
        """Whether a response is pending, or a request is queued."""
        return self.pending or bool(self._queue)

    def send(
        self,
        request: Said,
        on_error: Callable[[E], None],
        handle: Callable[[Callable[[], None]], None] = lambda deliver: deliver(),
    ) -> None:
        """Send a request.

        Args:
            on_error: Receives the error of the response, which the member has applied.
            handle: Runs the delivery of the response, perhaps later.
        """
        self._queue.append((request, on_error, handle))
        if not self.pending:
            self._next()

    def send_ahead(self, request: Said, at_ms: int) -> None:
        """Send a request that arrives at `at_ms`. The caller knows that nothing happens before that it depends on."""

        def answered(response: Any) -> None:
            error = request.hear(response)
            assert error is E.none, "a request that is sent ahead succeeds"

        message = message_of(request.api).request(**request.fields)
        response = call(self.cluster.coordinator, message, self.caller, answered, at_ms)
        if response is not None:
            answered(response)
        self.cluster.settle()

    def close(self) -> None:
        self.is_open = False
        self._queue.clear()

    def _next(self) -> None:
        if self._queue and self.is_open:
            self.pending = True
            request, on_error, handle = self._queue.popleft()
            self.cluster.schedule(self.delay(REQUEST_MS), lambda: self._arrive(request, on_error, handle))

    def _arrive(
        self, request: Said, on_error: Callable[[E], None], handle: Callable[[Callable[[], None]], None]
    ) -> None:
        def answered(response: Any) -> None:
            self.cluster.schedule(self.delay(REQUEST_MS), lambda: received(response))

        def received(response: Any) -> None:
            self.pending = False
            if self.is_open:
                handle(lambda: on_error(request.hear(response)))
            self._next()

        message = message_of(request.api).request(**request.fields)
        cluster = self.cluster
        response = call(cluster.coordinator, message, self.caller, answered, cluster.now_ms)
        if response is not None:
            answered(response)
        cluster.settle()


class VirtualCluster:
    """One broker's coordinator, with a clock that jumps from one event to the next."""

    def __init__(self, settings: Settings, topic: str, partitions: int, random: Random) -> None:
        self.now_ms = 0
        self.random = random
        self.on_append: Callable[[Append], None] = lambda _: None  # receives what a broker would write
        self.rebalances: list[int] = []  # times of new generations and of new target assignments
        self._heap: list[tuple[int, int, Scheduled]] = []
        self.scheduled = 0
        self.purgatory = Purgatory()
        self.coordinator = GroupCoordinator(
            GroupSettings(group_initial_rebalance_delay_ms=settings.initial_delay_ms),
            self.purgatory,
            lambda: str(UUID(int=random.getrandbits(128))),
            partitions=1,
            epoch_ms=EPOCH_MS,
        )
        self.coordinator.shards = {0: Shard.ACTIVE}
        self.topics = Topics({topic: partitions})
        self.coordinator.topics = self.topics
        later = settings.restarted_with or settings
        consumer = settings if settings.is_consumer else later
        config = ConsumerConfig(consumer.session_ms, consumer.heartbeat_ms, consumer.assignment_interval_ms)
        self.coordinator.configs[CONSUMER] = lambda _: config
        self._generation = 0
        self._target_epoch = 0

    def connect(self, caller: Caller, delay: Callable[[Span], int]) -> Connection:
        return Connection(self, caller, delay)

    def schedule(self, after_ms: int, call: Callable[[], None]) -> Scheduled:
        scheduled = Scheduled(self.now_ms + max(after_ms, 0), call)
        self.scheduled += 1
        heappush(self._heap, (scheduled.at_ms, self.scheduled, scheduled))
        return scheduled

    def run(self, until_ms: int) -> None:
        heap = self._heap
        while True:
            while heap and heap[0][2].call is None:
                heappop(heap)
            wakeup_ms = self.purgatory.next_wakeup_ms
            event_ms = heap[0][0] if heap else until_ms + 1
            if wakeup_ms is not None and wakeup_ms <= event_ms:
                if wakeup_ms > until_ms:
                    break
                self.now_ms = max(self.now_ms, wakeup_ms)
                self.purgatory.advance(self.now_ms)
                self.settle()
                continue
            if event_ms > until_ms:
                break
            scheduled = heappop(heap)[2]
            self.now_ms = event_ms
            if scheduled.call is not None:
                scheduled.call()
        self.now_ms = until_ms

    def settle(self) -> None:
        """Perform the effects of the coordinator, and count rebalances."""
        effects = self.coordinator.effects
        while effects:
            effect = effects.pop(0)
            if isinstance(effect, Reply):
                effect.ticket(effect.response)
            elif isinstance(effect, Replies):
                for ticket, response in effect.answers:
                    ticket(response)
            elif isinstance(effect, Append):
                self.on_append(effect)
                token = effect.token
                self.schedule(WRITE_MS, lambda token=token: self._written(token))  # type: ignore[misc]
        self._count_rebalances()

    def _written(self, token: int) -> None:
        self.coordinator.appended(token, E.none, self.now_ms)
        self.settle()

    def _count_rebalances(self) -> None:
        classic = self.coordinator.classic_group(GROUP)
        if classic is not None:
            if classic.generation_id > self._generation and classic.members:
                self.rebalances.append(self.now_ms)
            self._generation = classic.generation_id
            return
        consumer = self.coordinator.consumer_group(GROUP)
        if consumer is not None and consumer.target_epoch > self._target_epoch:
            self._target_epoch = consumer.target_epoch
            if consumer.members:
                self.rebalances.append(self.now_ms)

    def committed(self, topic: str, partition: int) -> int:
        """Return the committed offset of a partition, or 0."""
        group = self.coordinator.groups.get(GROUP)
        offset = None if group is None or group.offsets is None else group.offsets.get(topic, partition)
        return 0 if offset is None else offset.offset
