"""Coordinators whose writes fail now and then, or are reported late."""

from __future__ import annotations

from collections.abc import Sequence

from kohort.broker.cluster.broker_hooks import BrokerHooks, Report
from kohort.coordinator.context import CoordinatorContext
from kohort.coordinator.effects import Append
from kohort.protocol.errors import ErrorCode as E
from tests.simulation.restless import RestlessCluster


class UnreliableWrites(BrokerHooks):
    """Some writes fail, and the outcome of others is reported late, in order.

    failures: the reason is one of them. topic: the only one to which writes fail; None: to all.
    """

    def __init__(self, world: RestlessCluster, failures: Sequence[E], topic: str | None = None) -> None:
        self._world, self._failures, self._topic = world, failures, topic
        self.fails, self.lingers = 0.0, 0.0
        """How often."""
        self.waiting: list[tuple[int, Report]] = []
        """The partition that was written, and what is to be called."""

    def refuses(self, coordinator: CoordinatorContext, effect: Append) -> E | None:
        random = self._world.random
        fails = self._concerns(effect) and random.random() < self.fails
        return random.choice(self._failures) if fails else None

    def holds(self, effect: Append, report: Report) -> bool:
        if not self._concerns(effect):
            return False
        held = any(partition == effect.partition for partition, _ in self.waiting)
        if held or self._world.random.random() < self.lingers:
            self.waiting.append((effect.partition, report))
            return True
        return False

    def _concerns(self, effect: Append) -> bool:
        return self._topic is None or effect.topic == self._topic

    def report(self, count: int) -> None:
        """Report the oldest pending writes."""
        now, self.waiting = self.waiting[:count], self.waiting[count:]
        for _, each in now:
            self._world.broker.server.act(each)
