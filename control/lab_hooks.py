"""The laboratory's way into the brokers: where it comes between them and what they do, it does so here."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kohort.broker.cluster.broker_hooks import BrokerHooks, Report
from kohort.control.conditions import Condition, Conditions, Delayed
from kohort.control.consumer_safety import OWNERSHIP_APIS
from kohort.control.exchange import Exchange
from kohort.control.request_facts import RequestFacts
from kohort.coordinator.context import CoordinatorContext
from kohort.coordinator.effects import OFFSETS_TOPIC, Append
from kohort.protocol.errors import ErrorCode

if TYPE_CHECKING:
    from kohort.broker.cluster.node import Node
    from kohort.broker.cluster.replay import Replay
    from kohort.broker.ticket import Ticket
    from kohort.control.appends import Appends
    from kohort.control.brokers import Brokers
    from kohort.control.faults.table import Faults
    from kohort.control.gates import Gates
    from kohort.control.liveness import Liveness
    from kohort.control.safety import SafetyMonitor
    from kohort.control.zombies import Zombies
    from kohort.purgatory import DelayedOperation
    from kohort.security.rights import Right
    from kohort.storage.topic import Partition, Topic

NEVER_MS = 1 << 50
"""A deadline that no clock reaches: what waits for it is ended otherwise."""

OFFSET_COMMIT, OFFSET_DELETE = "OffsetCommit", "OffsetDelete"
SHARE_OFFSETS_APIS = frozenset({"AlterShareGroupOffsets", "DeleteShareGroupOffsets"})
"""After these a share group begins elsewhere."""
TXN_OFFSET_COMMIT, END_TXN = "TxnOffsetCommit", "EndTxn"


class LabHooks(BrokerHooks):
    """Asks the laboratory's parts, each for what it is there for."""

    def __init__(
        self,
        brokers: Brokers,
        liveness: Liveness,
        faults: Faults,
        gates: Gates,
        conditions: Conditions,
        appends: Appends,
        zombies: Zombies,
    ) -> None:
        self.brokers = brokers
        self._liveness = liveness
        self._faults = faults
        self._gates = gates
        self._conditions = conditions
        self._appends = appends
        self._zombies = zombies
        self.oracle: SafetyMonitor | None = None
        """Watches for what must never be, if somebody wants that."""

    # Requests and their answers; see `exchange.Way`

    def handle(self, node: Node, request: Any, ticket: Ticket) -> Any:
        """Sends the request on its way through the laboratory."""
        return Exchange(self, node, request, ticket).begin()

    def on_request(self, exchange: Exchange) -> bool:
        """See `Way`. Whoever waits for what a client does looks when it is done."""
        self.brokers.waiters.look()
        self._liveness.heard(exchange.facts, exchange.connection)
        self._conditions.passed(exchange, None)
        return self._gates.holds(exchange)

    def on_response(self, exchange: Exchange, node: Node, response: Any) -> bool:
        """See `Way`."""
        if self.oracle is not None:
            if exchange.facts.api in (OFFSET_COMMIT, TXN_OFFSET_COMMIT):
                self.oracle.committed(exchange, response)
            elif exchange.facts.api in OWNERSHIP_APIS:
                self.oracle.given(exchange, response)
            elif exchange.facts.api == END_TXN:
                self.oracle.ended(exchange, response)
            elif exchange.facts.api == OFFSET_DELETE:
                self.oracle.forgotten(exchange, response)
            elif exchange.facts.api in SHARE_OFFSETS_APIS:
                self.oracle.began_anew(exchange, response)
        if self._zombies:
            self._zombies.rewrite_coordinator(node, exchange.facts, response)
        self._liveness.told(exchange.facts, response, exchange.connection)
        self._conditions.passed(exchange, response)
        return self._gates.holds(exchange, response)

    def apply(self, exchange: Exchange, response: Any) -> Any:
        """See `Way`."""
        return self._faults.apply(exchange, response)

    def wait_until(self, condition: Condition, exchange: Exchange, response: Any) -> Delayed:
        """See `Way`."""
        return self._conditions.wait(condition, exchange, response)

    def no_longer(self, delayed: Delayed) -> None:
        """See `Way`."""
        self._conditions.end(delayed)

    def stopped(self, exchange: Exchange) -> None:
        """See `Way`."""
        self._liveness.stopped(exchange.connection)

    def on_resume(self, exchange: Exchange) -> None:
        """See `Way`."""
        self._liveness.goes_on(exchange.connection)

    def denies(self, ticket: Ticket, right: Right, name: str) -> bool:
        """As rules have it."""
        asks = ticket.requester
        facts = asks.facts if isinstance(asks, Exchange) else RequestFacts(self._some_node(), ticket.request, ticket)
        return self._faults.denies(facts, right, name)

    def _some_node(self) -> Node:
        """Where the parts of a large request arrive, if nobody says where."""
        return self.brokers.cluster.nodes[0]

    # What coordinators write

    def refuses(self, coordinator: CoordinatorContext, effect: Append) -> ErrorCode | None:
        """Zombies may not write; rules may refuse what groups write."""
        if effect.topic is not OFFSETS_TOPIC:
            return None
        if self._zombies.has(coordinator, effect.partition):
            return ErrorCode.not_leader_or_follower
        return self._appends.refuses(effect)

    def holds(self, effect: Append, report: Report) -> bool:
        """As rules have it."""
        return effect.topic is OFFSETS_TOPIC and self._appends.holds(effect, report)

    # Leaders that coordinate

    def hides_loss(self, topic: Topic, partition: Partition) -> bool:
        """From groups' coordinators, where a rule makes them zombies."""
        return topic.name == OFFSETS_TOPIC and self._zombies.hides_loss(partition)

    def elected(self, topic: Topic, partition: Partition, now_ms: int) -> None:
        """A zombie that leads again is none any more."""
        if topic.name == OFFSETS_TOPIC:
            self._zombies.elected(partition, now_ms)

    def holds_load(self, replay: Replay) -> bool:
        """At the gate for loads."""
        return self._gates.holds_load(replay)

    # Fetches

    def fetch_waits(self, operation: DelayedOperation) -> None:
        """Fetches wait in real time: their deadline is the machine's matter, whatever the brokers' clock does."""
        length_ms = operation.deadline_ms - self.brokers.clock.now_ms()
        operation.deadline_ms = NEVER_MS

        def complete(now_ms: int) -> None:
            self.brokers.cluster.purgatory.complete(operation, now_ms)

        def overdue() -> None:
            if not operation.completed:
                self.brokers.server.act(complete)

        self.brokers.server.loop.call_later(max(length_ms, 0) / 1000, overdue)
