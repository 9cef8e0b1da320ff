"""Gates: requests, or their answers, wait at a named point until a test lets them through.

A gate does not stop time: a member that waits for the answer of its SyncGroup at a gate is, to the coordinator, one
that has been answered. Pause the clock where that matters.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from types import TracebackType
from typing import TYPE_CHECKING, Any

from kohort.control.control_errors import NotFoundError, unknown
from kohort.control.gate_points import GATE_POINTS, LOAD, GatePoint
from kohort.coordinator.effects import OFFSETS_TOPIC
from kohort.coordinator.group_placement import partition_for
from kohort.protocol.visible import visible

if TYPE_CHECKING:
    from kohort.broker.cluster.replay import Replay
    from kohort.control.brokers import Brokers
    from kohort.control.exchange import Exchange
    from kohort.storage.topic import Partition


class Held:
    """One request that waits at a gate."""

    __slots__ = ("exchange", "response")

    def __init__(self, exchange: Exchange, response: Any) -> None:
        self.exchange = exchange
        self.response = response

    @property
    def client_id(self) -> str:
        """The client id of the sender."""
        return self.exchange.facts.client_id

    @property
    def member(self) -> str:
        """The member id; at `join-complete` the one it was given."""
        member_id = getattr(self.response, "member_id", "")
        return str(member_id or next(iter(self.exchange.facts.members), ""))

    @property
    def instance(self) -> str:
        """The `group.instance.id`, or nothing."""
        return next(iter(self.exchange.facts.instances), "")

    @property
    def group(self) -> str:
        """The group it is about."""
        return self.exchange.facts.group

    @property
    def names(self) -> tuple[str, ...]:
        """What it may be called at `release`."""
        return self.member, self.instance, self.client_id

    @property
    def gone(self) -> bool:
        """Whether there is nothing to let through any more."""
        return False

    def let_through(self) -> None:
        """It goes on."""
        self.exchange.resume(self.response, faults=True)

    def __str__(self) -> str:
        return str(self.exchange.facts)


class HeldLoad:
    """A load that has read everything, and is not over."""

    client_id = member = instance = ""

    def __init__(self, brokers: Brokers, replay: Replay, partition: int, node: int, group: str) -> None:
        self._brokers = brokers
        self._replay = replay
        self.partition, self.node, self.group = partition, node, group
        """`group`: the one whose load the gate is for; empty: any."""

    @property
    def names(self) -> tuple[str, ...]:
        """What it may be called at `release`: its partition, `__consumer_offsets-12`."""
        return (f"{OFFSETS_TOPIC}-{self.partition}",)

    @property
    def gone(self) -> bool:
        """Whether somebody else leads the partition by now."""
        return self._replay.over

    def let_through(self) -> None:
        """It ends."""
        self._brokers.act(partial(self._brokers.cluster.replays.release, self._replay))

    def __str__(self) -> str:
        return f"the load of {OFFSETS_TOPIC}-{self.partition} at node {self.node}"


class Gate:
    """Holds from the moment it is made until it is opened, or the `with` block that it opened ends."""

    def __init__(self, name: str, stop: GatePoint, group: str | None, gates: Gates) -> None:
        self.name = name
        self.group = group
        """None: it holds every group's."""
        self._point = stop
        self._gates = gates
        self._held: list[Held | HeldLoad] = []

    @property
    def held(self) -> list[Held | HeldLoad]:
        """Who waits, in the order in which they came."""
        return [each for each in self._held if not each.gone]

    @property
    def is_open(self) -> bool:
        """Whether it holds nobody any more."""
        return self not in self._gates

    def release(self, who: str) -> None:
        """Lets one through: by member id, instance id or client id, a load by its partition (`__consumer_offsets-12`).

        Raises NotFoundError when nobody of it waits.
        """
        for held in self.held:
            if who in held.names:
                self._let_through(held)
                return
        waiting = ", ".join(str(held) for held in self.held) or "nobody"
        raise NotFoundError(f"{who} does not wait at {self.name}; there waits {waiting}")

    def release_all(self) -> int:
        """Lets everybody through who waits; the gate goes on holding. Returns how many there were."""
        waiting = self.held
        for held in waiting:
            self._let_through(held)
        return len(waiting)

    def open(self) -> int:
        """Lets everybody through, now and from now on. Returns how many waited."""
        self._gates._forget(self)
        return self.release_all()

    def stops(self, exchange: Exchange, response: Any) -> bool:
        """Whether it holds this request; then it does."""
        facts = exchange.facts
        if self.group not in (None, facts.group) or not self._point.is_for(facts.api, exchange.stage, response):
            return False
        self.keep(Held(exchange, response))
        return True

    @property
    def holds_loads(self) -> bool:
        """Whether it is not requests that it holds."""
        return self._point.stage == LOAD

    def keep(self, held: Held | HeldLoad) -> None:
        """Something waits from now on."""
        self._held.append(held)
        self._gates.changed()

    def _let_through(self, held: Held | HeldLoad) -> None:
        self._held.remove(held)
        held.let_through()
        self._gates.changed()

    def __enter__(self) -> Gate:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, problem: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.open()

    def __repr__(self) -> str:
        return visible(f"<{self}, {len(self.held)} held>")

    def __str__(self) -> str:
        return f"gate {self.name}" + (f" of group {self.group}" if self.group is not None else "")


class Gates:
    """The gates that hold."""

    def __init__(self, brokers: Brokers) -> None:
        self._brokers = brokers
        self._gates: list[Gate] = []
        self.changed: Callable[[], None] = lambda: None
        """Called when somebody has come to a gate, or gone through."""

    @property
    def points(self) -> Mapping[str, GatePoint]:
        """The points at which requests can be held here, by name."""
        return GATE_POINTS

    def hold(self, name: str, group: str | None = None) -> Gate:
        """Closes a gate, for one group or for all. Raises ControlError, with the nearest name, when there is none."""
        stop = GATE_POINTS.get(name)
        if stop is None:
            raise unknown("gate", name, GATE_POINTS)
        gate = Gate(name, stop, group, self)
        self._gates.append(gate)
        return gate

    def find(self, name: str, group: str | None = None) -> Gate:
        """A gate that holds, the first of that name; with `group`, that group's. Raises NotFoundError."""
        for gate in self._gates:
            if gate.name == name and group in (None, gate.group):
                return gate
        of = f" for group {group}" if group is not None else ""
        raise NotFoundError(f"nothing is held at {name}{of}; hold it first")

    def holds(self, exchange: Exchange, response: Any = None) -> bool:
        """Whether a request has to wait; then it does."""
        return any(gate.stops(exchange, response) for gate in self._gates)

    def holds_load(self, replay: Replay) -> bool:
        """Whether a load that has read a partition to its end has to wait; then it does."""
        if not any(gate.holds_loads for gate in self._gates):
            return False
        topic = self._brokers.cluster.topics.by_name(OFFSETS_TOPIC)
        partitions = topic.partitions if topic is not None else []
        return any(each.log is replay.source and self._keeps(replay, each, len(partitions)) for each in partitions)

    def _keeps(self, replay: Replay, partition: Partition, count: int) -> bool:
        for gate in self._gates:
            if gate.holds_loads and (gate.group is None or partition_for(gate.group, count) == partition.index):
                gate.keep(HeldLoad(self._brokers, replay, partition.index, partition.leader, gate.group or ""))
                return True
        return False

    def open_all(self) -> list[str]:
        """Opens every gate. Returns a line for each, saying who waited."""
        left = []
        for gate in list(self._gates):
            waiting = ", ".join(str(held) for held in gate.held) or "nobody"
            left.append(f"{gate} was still held; there waited {waiting}")
            gate.open()
        return left

    def __iter__(self) -> Iterator[Gate]:
        return iter(self._gates)

    def __repr__(self) -> str:
        return visible(f"<gates: {', '.join(f'{each} ({len(each.held)} held)' for each in self) or 'none'}>")

    def __contains__(self, gate: object) -> bool:
        return gate in self._gates

    def _forget(self, gate: Gate) -> None:
        if gate in self._gates:
            self._gates.remove(gate)
