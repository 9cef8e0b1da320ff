"""The laboratory's rules and gates in front of an external cluster; what only a broker can do is rejected."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from random import Random
from typing import Any, Final, cast

from kohort.control.control_errors import ControlError
from kohort.control.faults.actions import (
    Action,
    DelayUntil,
    Deny,
    HideNode,
    OldApiVersions,
    StaleMetadata,
    StayLeader,
)
from kohort.control.faults.matching import Match
from kohort.control.faults.rules import Rule
from kohort.control.faults.table import Faults
from kohort.control.faults.triggers import Trigger
from kohort.control.gates.gate_points import GATE_POINTS, LOAD, GatePoint
from kohort.control.gates.gates import Gate, Gates
from kohort.control.suggesting import suggest_names
from kohort.control.waiting import Waiters
from kohort.proxy.old_versions import OldVersionsThere
from kohort.security.principal import Principal

NOT_HERE: Final[dict[type[Action], str]] = {
    DelayUntil: ("a proxy can't delay until a group state or event: it sees only some of them; hold a gate instead"),
    Deny: "a proxy can't deny an operation because the broker's authorizer decides; respond with an error instead",
    HideNode: "a proxy can't move a hidden node's partitions; close its connections instead: on(node=…).close()",
    StaleMetadata: "a proxy can't return stale metadata because it stores none; hold Metadata instead",
    StayLeader: "a proxy can't create a zombie coordinator: the cluster elects coordinators",
}
"""Actions that a proxy rejects, with the reason."""


class NodesSeen(Collection[int]):
    """Ids of the nodes that have a port now."""

    def __init__(self, nodes: Callable[[], list[int]]) -> None:
        self._nodes = nodes

    def __contains__(self, node_id: object) -> bool:
        return node_id in self._nodes()

    def __iter__(self) -> Iterator[int]:
        return iter(self._nodes())

    def __len__(self) -> int:
        return len(self._nodes())


@suggest_names
class ProxyFaults(Faults):
    """Rules for requests through a proxy."""

    def __init__(
        self, chance: Random, nodes: Callable[[], list[int]], waiters: Waiters, principal: Principal | None
    ) -> None:
        """Set `principal` as the identity of clients before their own login; None if only the cluster knows it."""
        super().__init__(chance, (), NodesSeen(nodes), waiters)
        self._principal = principal

    def add(self, match: Match, action: Action, trigger: Trigger) -> Rule:
        """Add a rule. Raise ControlError for those that need the broker's clock, groups or authorizer."""
        if (reason := NOT_HERE.get(type(action))) is not None:
            raise ControlError(reason)
        if match.state is not None:
            raise ControlError("a proxy does not know the exact state of a group; select requests by group and member")
        if match.records is not None:
            raise ControlError("a proxy does not read the records of share groups; select requests by group and member")
        if match.principal is not None and self._principal is None:
            raise ControlError(
                "a proxy does not know the principal that the cluster derives from its certificate or token; "
                "select requests by client_id"
            )
        if isinstance(action, OldApiVersions):
            action = OldVersionsThere(action.release)
        return super().add(match, action, trigger)


@suggest_names
class ProxyGates(Gates):
    """Gates for requests through a proxy."""

    def __init__(self) -> None:
        super().__init__(cast(Any, None))  # only used for loading, which a proxy does not do

    @property
    def points(self) -> Mapping[str, GatePoint]:
        return {name: point for name, point in super().points.items() if point.stage != LOAD}

    def hold(self, name: str, group: str | None = None) -> Gate:
        """Hold a gate. Raise ControlError for gates of loading."""
        point = GATE_POINTS.get(name)
        if point is not None and point.stage == LOAD:
            raise ControlError(f"a proxy can't hold at {name}: a coordinator loads its groups within the cluster")
        return super().hold(name, group)
