"""Rules and gates for requests through a proxy, as in the laboratory."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from fnmatch import fnmatchcase
from random import Random, SystemRandom
from typing import TYPE_CHECKING, Any, Final

from kohort.base.clock import Clock
from kohort.broker.runtime.registry import Api, Registry
from kohort.control.control_errors import ControlError
from kohort.control.exchange import Exchange
from kohort.control.faults.matching import ANY
from kohort.control.gates.gate_points import GATE_POINTS
from kohort.control.groups.groups_by_id import SeesFromOutside
from kohort.control.request_facts import kafka_name
from kohort.control.waiting import Waiters
from kohort.protocol.api_keys import API_BY_KEY
from kohort.protocol.headers import RequestHeader
from kohort.proxy.proxy_faults import ProxyFaults, ProxyGates
from kohort.security.principal import ANONYMOUS, Principal

if TYPE_CHECKING:
    from kohort.broker.cluster.broker_hooks import Handler
    from kohort.broker.cluster.node import Node
    from kohort.control.faults.conditions import Condition, Delayed
    from kohort.control.history.recorder import Recorder
    from kohort.proxy.observed.observed_groups import ObservedGroups
    from kohort.proxy.observed.proxy_group import ProxyGroup

# logins pass unchanged; the proxy and the broker both take part in them
UNSPOILED: Final = frozenset({"sasl_handshake", "sasl_authenticate"})


class RunningClock:
    """The machine's clock with the laboratory's interface: never paused, always at normal speed."""

    paused = False
    scale = 1.0

    def __init__(self, clock: Clock) -> None:
        self.epoch_ms = clock.epoch_ms
        self.now_ms = clock.now_ms
        self.now_us = clock.now_us


class ProxyLaboratory(SeesFromOutside):
    """Rules and gates of a proxy, and the path of an exchange through them (`kohort.control.exchange.Way`)."""

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        clock: Clock,
        nodes: Callable[[], list[int]],
        principal: Principal | None = ANONYMOUS,
    ) -> None:
        self._loop = loop
        self.clock = RunningClock(clock)
        self.seen: ObservedGroups | None = None  # observed groups, from the first use on
        self._nodes = nodes
        self.waiters = Waiters()
        self.faults = ProxyFaults(Random(SystemRandom().random()), nodes, self.waiters, principal)
        self.gates = ProxyGates()
        self.gates.changed = self.waiters.look
        self._registry = Registry()

    # Observed groups

    @property
    def _groups(self) -> ObservedGroups:
        if self.seen is None:
            raise ControlError("this proxy does not observe groups; start it with kohort proxy --control")
        return self.seen

    @property
    def recorder(self) -> Recorder:
        """Recorder of group events."""
        return self._groups.recorder

    def group_ids(self) -> list[str]:
        """Return the sorted ids of all observed groups."""
        return sorted(self._groups.listener.groups)

    def group_seen(self, group_id: str) -> ProxyGroup:
        from kohort.proxy.observed.proxy_group import ProxyGroup

        return ProxyGroup(self._groups, group_id)

    @property
    def brokers_running(self) -> int:
        """Number of nodes that clients know."""
        return len(self._nodes())

    @property
    def rules_at_work(self) -> list[str]:
        """The rules as text."""
        return [str(rule) for rule in self.faults]

    # Rules and gates

    def wants(self, header: RequestHeader) -> bool:
        """Return whether a rule or a gate may apply to a request. Unknown APIs pass."""
        if not self.faults and not any(True for _ in self.gates):
            return False
        spec = API_BY_KEY.get(header.api_key)
        if spec is None or spec.name in UNSPOILED:
            return False
        if not max(spec.min_version, spec.readable_from) <= header.api_version <= spec.max_version:
            return False
        name, client_id = kafka_name(spec.name), header.client_id or ""
        return any(GATE_POINTS[gate.name].api == name for gate in self.gates) or any(
            rule.match.api in (ANY, name)
            and not rule.exhausted
            and (rule.match.client_id is None or fnmatchcase(client_id, rule.match.client_id))
            for rule in self.faults
        )

    def api(self, key: int) -> Api:
        """Return how to read and write messages of an API for which `wants` returned true."""
        api = self._registry.find(key)
        assert api is not None, "requests of unknown APIs are not inspected"
        return api

    def lift(self) -> list[str]:
        """End all rules and open all gates. Return a line for each gate that was still held."""
        self.faults.clear()
        return self.gates.open_all()

    def reset(self) -> tuple[list[str], list[str]]:
        return self.lift(), []

    # Interface `kohort.control.exchange.Way`

    def on_request(self, exchange: Exchange) -> bool:
        self.waiters.look()
        return self.gates.holds(exchange)

    def on_response(self, exchange: Exchange, node: Node, response: Any) -> bool:
        return self.gates.holds(exchange, response)

    def apply(self, exchange: Exchange, response: Any) -> Any:
        return self.faults.apply(exchange, response)

    def handled(self, exchange: Exchange, node: Node) -> Any:
        """Send the request to the cluster, whose response arrives later."""
        return exchange.ticket.api.handle(node, exchange.request, exchange.ticket)

    def run(self, exchange: Exchange, handler: Handler, now_ms: int) -> None:
        inspection: Any = exchange.connection
        inspection.run(exchange.ticket, handler)

    def wait(self, exchange: Exchange, length_ms: int, response: object) -> None:
        """Resume the exchange after a delay on the machine's clock."""
        self._loop.call_later(length_ms / 1000, exchange.resume, response)

    def in_turn(self, exchange: Exchange, action: Callable[[int], None], now_ms: int | None) -> None:
        try:
            action(self.clock.now_ms() if now_ms is None else now_ms)
        except Exception:
            exchange.connection.fail()

    def wait_until(self, condition: Condition, exchange: Exchange, response: Any) -> Delayed:
        """Raise NotImplementedError; `proxy_faults.NOT_HERE` rejects such rules."""
        raise NotImplementedError

    def no_longer(self, delayed: Delayed) -> None:
        raise NotImplementedError

    def stopped(self, exchange: Exchange) -> None:
        """Ignore the event: a proxy tracks no sessions."""

    def on_resume(self, exchange: Exchange) -> None:
        """Ignore the event: a proxy tracks no sessions."""
