"""Gates: requests, or their responses, wait at a named point until a test releases them.

A gate does not stop time: for the coordinator, a member whose SyncGroup response waits at a gate has already received
it. Pause the clock where that matters.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from types import TracebackType
from typing import TYPE_CHECKING, Any

from kohort.base.visible import visible
from kohort.control.control_errors import NotFoundError, unknown
from kohort.control.gates.gate_points import GATE_POINTS, LOAD, GatePoint
from kohort.control.suggesting import suggest_names
from kohort.coordinator.effects import OFFSETS_TOPIC
from kohort.coordinator.groups.group_placement import partition_for

if TYPE_CHECKING:
    from kohort.broker.cluster.replay import Replay
    from kohort.control.brokers import Brokers
    from kohort.control.exchange import Exchange
    from kohort.storage.topic import Partition


class Held:
    """Request that waits at a gate."""

    __slots__ = ("exchange", "response")

    def __init__(self, exchange: Exchange, response: Any) -> None:
        self.exchange = exchange
        self.response = response

    @property
    def client_id(self) -> str:
        return self.exchange.facts.client_id

    @property
    def member(self) -> str:
        """The member id; at `join-complete` the one in the response."""
        member_id = getattr(self.response, "member_id", "")
        return str(member_id or next(iter(self.exchange.facts.members), ""))

    @property
    def instance(self) -> str:
        return next(iter(self.exchange.facts.instances), "")

    @property
    def group(self) -> str:
        return self.exchange.facts.group

    @property
    def names(self) -> tuple[str, ...]:
        return self.member, self.instance, self.client_id

    @property
    def is_obsolete(self) -> bool:
        return False

    def proceed(self) -> None:
        self.exchange.resume(self.response, faults=True)

    def __str__(self) -> str:
        return str(self.exchange.facts)


class HeldLoad:
    """Load that has read all records but has not finished."""

    client_id = member = instance = ""

    def __init__(self, brokers: Brokers, replay: Replay, partition: int, node: int, group: str) -> None:
        self._brokers = brokers
        self._replay = replay
        self.partition, self.node, self.group = partition, node, group
        # the group of the gate, or empty for every group

    @property
    def names(self) -> tuple[str, ...]:
        """The name that `release` accepts for it: its partition, such as `__consumer_offsets-12`."""
        return (f"{OFFSETS_TOPIC}-{self.partition}",)

    @property
    def is_obsolete(self) -> bool:
        """Whether another node leads the partition by now."""
        return self._replay.over

    def proceed(self) -> None:
        self._brokers.act(partial(self._brokers.cluster.replays.release, self._replay))

    def __str__(self) -> str:
        return f"the load of {OFFSETS_TOPIC}-{self.partition} at node {self.node}"


class Gate:
    """Gate that holds requests until it is opened or its `with` block ends."""

    def __init__(self, name: str, stop: GatePoint, group: str | None, gates: Gates) -> None:
        self.name = name
        self.group = group  # None if it holds requests of every group
        self._point = stop
        self._gates = gates
        self._held: list[Held | HeldLoad] = []

    @property
    def held(self) -> list[Held | HeldLoad]:
        """The waiting requests in the order in which they arrived."""
        return [held for held in self._held if not held.is_obsolete]

    @property
    def is_open(self) -> bool:
        return self not in self._gates

    def release(self, name: str) -> None:
        """Release a request by member id, instance id or client id, or a load by its partition.

        Args:
            name: For a load a partition such as `__consumer_offsets-12`.

        Raises:
            NotFoundError: No such request waits.
        """
        for held in self.held:
            if name in held.names:
                self._release(held)
                return
        waiting = ", ".join(str(held) for held in self.held) or "none"
        raise NotFoundError(f"{name} is not waiting at {self.name}; waiting: {waiting}")

    def release_all(self) -> int:
        """Release all waiting requests, and return their number. The gate stays closed."""
        waiting = self.held
        for held in waiting:
            self._release(held)
        return len(waiting)

    def open(self) -> int:
        """Open the gate, and return the number of requests that waited."""
        self._gates._forget(self)
        return self.release_all()

    def stops(self, exchange: Exchange, response: Any) -> bool:
        """Hold a request if the gate is for it, and return whether it is held."""
        facts = exchange.facts
        if self.group not in (None, facts.group) or not self._point.is_for(facts.api, exchange.stage, response):
            return False
        self.keep(Held(exchange, response))
        return True

    @property
    def holds_loads(self) -> bool:
        return self._point.stage == LOAD

    def keep(self, held: Held | HeldLoad) -> None:
        self._held.append(held)
        self._gates.changed()

    def _release(self, held: Held | HeldLoad) -> None:
        self._held.remove(held)
        held.proceed()
        self._gates.changed()

    def __enter__(self) -> Gate:
        return self

    def __exit__(
        self, error_type: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.open()

    def __repr__(self) -> str:
        return visible(f"<{self}, {len(self.held)} held>")

    def __str__(self) -> str:
        return f"gate {self.name}" + (f" of group {self.group}" if self.group is not None else "")


@suggest_names
class Gates:
    """Closed gates of a cluster."""

    def __init__(self, brokers: Brokers) -> None:
        self._brokers = brokers
        self._gates: list[Gate] = []
        self.changed: Callable[[], None] = lambda: None  # called when a request arrives at a gate or is released

    @property
    def points(self) -> Mapping[str, GatePoint]:
        return GATE_POINTS

    @property
    def are_closed(self) -> bool:
        """Whether at least one gate is closed."""
        return bool(self._gates)

    def hold(self, name: str, group: str | None = None) -> Gate:
        """Close a gate, for one group or for all.

        Raise ControlError for an unknown name, with the nearest valid one.
        """
        stop = GATE_POINTS.get(name)
        if stop is None:
            raise unknown("gate", name, GATE_POINTS)
        gate = Gate(name, stop, group, self)
        self._gates.append(gate)
        return gate

    def find(self, name: str, group: str | None = None) -> Gate:
        """Return the first closed gate with a name, and of a group if given. Raise NotFoundError if none matches."""
        for gate in self._gates:
            if gate.name == name and group in (None, gate.group):
                return gate
        of = f" for group {group}" if group is not None else ""
        raise NotFoundError(f"gate {name}{of} is not closed; close it first")

    def holds(self, exchange: Exchange, response: Any = None) -> bool:
        """Hold a request if a gate is for it, and return whether it is held."""
        return any(gate.stops(exchange, response) for gate in self._gates)

    def holds_load(self, replay: Replay) -> bool:
        """Hold a load that has read its partition if a gate is for it, and return whether it is held."""
        if not any(gate.holds_loads for gate in self._gates):
            return False
        topic = self._brokers.cluster.topics.by_name(OFFSETS_TOPIC)
        partitions = topic.partitions if topic is not None else []
        return any(
            partition.log is replay.source and self._keeps(replay, partition, len(partitions))
            for partition in partitions
        )

    def _keeps(self, replay: Replay, partition: Partition, count: int) -> bool:
        for gate in self._gates:
            if gate.holds_loads and (gate.group is None or partition_for(gate.group, count) == partition.index):
                gate.keep(HeldLoad(self._brokers, replay, partition.index, partition.leader, gate.group or ""))
                return True
        return False

    def open_all(self) -> list[str]:
        """Open every gate, and return a line for each with the requests that waited."""
        lines = []
        for gate in list(self._gates):
            waiting = ", ".join(str(held) for held in gate.held) or "none"
            lines.append(f"{gate} was still held; waiting: {waiting}")
            gate.open()
        return lines

    def __iter__(self) -> Iterator[Gate]:
        return iter(self._gates)

    def __repr__(self) -> str:
        return visible(f"<gates: {', '.join(f'{gate} ({len(gate.held)} held)' for gate in self) or 'none'}>")

    def __contains__(self, gate: object) -> bool:
        return gate in self._gates

    def _forget(self, gate: Gate) -> None:
        if gate in self._gates:
            self._gates.remove(gate)
