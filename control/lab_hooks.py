"""Hooks of the laboratory in the brokers: every intervention in the work of a broker goes through them."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

from kohort.broker.cluster.broker_hooks import BrokerHooks, Handler, Report
from kohort.broker.cluster.effect_execution import perform
from kohort.control.exchange import Exchange
from kohort.control.faults.conditions import Condition, Conditions, Delayed
from kohort.control.oracle.epoch_safety import EPOCH_TYPES, GENERATION_TYPES, OWNERSHIP_APIS
from kohort.control.oracle.repeated_commit import RepeatedCommit
from kohort.control.request_facts import NO_GENERATION, RequestFacts
from kohort.coordinator.context import CoordinatorContext
from kohort.coordinator.effects import OFFSETS_TOPIC, SHARE_STATE_TOPIC, Append
from kohort.protocol.errors import ErrorCode
from kohort.purgatory import DelayedOperation

if TYPE_CHECKING:
    from kohort.broker.cluster.node import Node
    from kohort.broker.cluster.replay import Replay
    from kohort.broker.runtime.connection import Connection
    from kohort.broker.shortcuts import Repeated
    from kohort.broker.ticket import Ticket
    from kohort.control.brokers import Brokers
    from kohort.control.clock.liveness import Liveness
    from kohort.control.faults.appends import Appends
    from kohort.control.faults.table import Faults
    from kohort.control.faults.zombies import Zombies
    from kohort.control.gates.gates import Gates
    from kohort.control.oracle.safety import SafetyMonitor
    from kohort.security.rights import Right
    from kohort.storage.topic import Partition, Topic

NEVER_MS = 1 << 50  # deadline that no clock reaches

# appends to these topics may fail, be delayed or be held (`control/faults/appends.py`)
SPOILED_TOPICS = (OFFSETS_TOPIC, SHARE_STATE_TOPIC)

OFFSET_COMMIT, OFFSET_DELETE = "OffsetCommit", "OffsetDelete"
# requests that change where a share group starts
SHARE_OFFSETS_APIS = frozenset({"AlterShareGroupOffsets", "DeleteShareGroupOffsets"})
# APIs whose repeated requests only the liveness of members depends on, and those of them that the oracle does not check
UNOBSERVED_APIS = frozenset(
    {"heartbeat", "consumer_group_heartbeat", "streams_group_heartbeat", "offset_commit", "offset_fetch"}
)
UNCHECKED_APIS = frozenset({"heartbeat", "offset_fetch"})
TXN_OFFSET_COMMIT, END_TXN = "TxnOffsetCommit", "EndTxn"


class LabHooks(BrokerHooks):
    """Forwards each hook to the part of the laboratory that is responsible for it."""

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
        self.oracle: SafetyMonitor | None = None  # checks safety, if a test wants that

    # Requests and their responses; see `exchange.Way`

    def handle(self, node: Node, request: Any, ticket: Ticket) -> Any:
        return Exchange(self, node, request, ticket).begin()

    def find_handler(self, connection: Connection, repeated: Repeated) -> Handler | None:
        """Let a repeated request pass while no rule, gate or condition could concern it.

        Its response then has no hooks either, even if a rule is added before it is sent. A commit still goes to the
        oracle.
        """
        api = repeated.api.spec.name
        if (
            api not in UNOBSERVED_APIS
            or len(self._faults)
            or self._gates.are_closed
            or self._conditions.are_awaited
            or self._appends.rules
            or self._zombies
        ):
            return None
        if self.oracle is None or api in UNCHECKED_APIS:
            handler = repeated.handle
        elif api == "offset_commit":
            commit: RepeatedCommit | None = repeated.observed
            if commit is not None and commit.oracle is self.oracle:
                handler = commit.handle
            else:
                handler = partial(self._observe_commit, self.oracle, repeated)
        else:
            return None
        self.brokers.waiters.look()
        member_id = getattr(repeated.request, "member_id", None)
        if member_id:
            self._liveness.note_member(repeated.request.group_id, member_id, connection)
        return handler

    def _observe_commit(
        self, oracle: SafetyMonitor, repeated: Repeated, node: Node, request: Any, ticket: Ticket
    ) -> Any:
        repeated.observed = commit = RepeatedCommit(self, node, ticket, oracle, repeated, self._note_state)
        return commit.handle(node, request, ticket)

    def on_request(self, exchange: Exchange) -> bool:
        self.brokers.waiters.look()
        self._liveness.note_request(exchange.facts, exchange.connection)
        self._conditions.passed(exchange, None)
        return self._gates.holds(exchange)

    def on_response(self, exchange: Exchange, node: Node, response: Any) -> bool:
        if self.oracle is not None:
            if exchange.facts.api in (OFFSET_COMMIT, TXN_OFFSET_COMMIT):
                self.oracle.committed(exchange, response)
            elif exchange.facts.api in OWNERSHIP_APIS:
                self.oracle.check_owners(exchange, response)
            elif exchange.facts.api == END_TXN:
                self.oracle.ended(exchange, response)
            elif exchange.facts.api == OFFSET_DELETE:
                self.oracle.delete_offsets(exchange, response)
            elif exchange.facts.api in SHARE_OFFSETS_APIS:
                self.oracle.reset_share_offsets(exchange, response)
        if self._zombies:
            self._zombies.rewrite_coordinator(node, exchange.facts, response)
        self._liveness.answered(exchange.facts, response, exchange.connection)
        self._conditions.passed(exchange, response)
        return self._gates.holds(exchange, response)

    def handled(self, exchange: Exchange, node: Node) -> Any:
        self._note_state(exchange, node)
        return exchange.ticket.api.handle(node, exchange.request, exchange.ticket)

    def _note_state(self, exchange: Exchange, node: Node) -> None:
        """Note what the oracle compares the response with."""
        group = node.coordinator.groups.get(exchange.facts.group)
        exchange.generation_then, exchange.had_epochs, exchange.current_then = NO_GENERATION, False, None
        if group is not None and group.group_type in GENERATION_TYPES:
            exchange.generation_then = group.version
        elif group is not None and group.group_type in EPOCH_TYPES:
            members = (group.members.get(name) for name in exchange.facts.members)
            exchange.had_epochs = True
            exchange.current_then = next((member.current for member in members if member is not None), None)

    def run(self, exchange: Exchange, handler: Handler, now_ms: int) -> None:
        exchange.ticket.received_at_ms = now_ms
        self.brokers.server.dispatcher.run(exchange.connection, exchange.ticket, handler)

    def wait(self, exchange: Exchange, length_ms: int, response: object) -> None:
        cluster = self.brokers.cluster
        cluster.purgatory.wait(_Waiting(cluster.clock.now_ms() + length_ms, exchange, response))

    def in_turn(self, exchange: Exchange, action: Callable[[int], None], now_ms: int | None) -> None:
        cluster = self.brokers.cluster
        if now_ms is None:
            now_ms = cluster.clock.now_ms()
        try:
            action(now_ms)
        except Exception:
            exchange.connection.fail()
        perform(cluster, now_ms)
        self.brokers.server.end_turn(now_ms)

    def apply(self, exchange: Exchange, response: Any) -> Any:
        return self._faults.apply(exchange, response)

    def wait_until(self, condition: Condition, exchange: Exchange, response: Any) -> Delayed:
        return self._conditions.wait(condition, exchange, response)

    def no_longer(self, delayed: Delayed) -> None:
        self._conditions.end(delayed)

    def stopped(self, exchange: Exchange) -> None:
        self._liveness.stopped(exchange.connection)

    def on_resume(self, exchange: Exchange) -> None:
        self._liveness.resumed(exchange.connection)

    def denies(self, ticket: Ticket, right: Right, name: str) -> bool:
        asks = ticket.requester
        facts = asks.facts if isinstance(asks, Exchange) else RequestFacts(self._some_node(), ticket.request, ticket)
        return self._faults.denies(facts, right, name)

    def _some_node(self) -> Node:
        """Return the node for parts of a large request that do not name one."""
        return self.brokers.cluster.nodes[0]

    # Writes of coordinators

    def refuses(self, coordinator: CoordinatorContext, effect: Append) -> ErrorCode | None:
        if self._zombies and effect.topic is OFFSETS_TOPIC and self._zombies.includes(coordinator, effect.partition):
            return ErrorCode.not_leader_or_follower
        return self._appends.refuses(effect) if self._appends.rules and effect.topic in SPOILED_TOPICS else None

    def holds(self, effect: Append, report: Report) -> bool:
        return self._appends.may_hold and effect.topic in SPOILED_TOPICS and self._appends.holds(effect, report)

    # Elections of leaders

    def hides_loss(self, topic: Topic, partition: Partition) -> bool:
        return topic.name == OFFSETS_TOPIC and self._zombies.hides_loss(partition)

    def elected(self, topic: Topic, partition: Partition, now_ms: int) -> None:
        if topic.name == OFFSETS_TOPIC:
            self._zombies.elected(partition, now_ms)

    def holds_load(self, replay: Replay) -> bool:
        return self._gates.holds_load(replay)

    # Fetches

    def fetch_waits(self, operation: DelayedOperation) -> None:
        length_ms = operation.deadline_ms - self.brokers.clock.now_ms()
        operation.deadline_ms = NEVER_MS

        def complete(now_ms: int) -> None:
            self.brokers.cluster.purgatory.complete(operation, now_ms)

        def overdue() -> None:
            if not operation.completed:
                self.brokers.server.act(complete)

        self.brokers.server.loop.call_later(max(length_ms, 0) / 1000, overdue)


class _Waiting(DelayedOperation):
    """A delayed request or response."""

    __slots__ = ("_exchange", "_response")

    def __init__(self, deadline_ms: int, exchange: Exchange, response: object) -> None:
        super().__init__(deadline_ms)
        self._exchange = exchange
        self._response = response

    def on_complete(self, now_ms: int, *, expired: bool) -> None:
        self._exchange.resume(self._response, now_ms=now_ms)
