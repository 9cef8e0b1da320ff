"""The laboratory's rules and gates before a cluster that is not ours: what only a broker could do is refused."""

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
from kohort.control.gate_points import GATE_POINTS, LOAD, GatePoint
from kohort.control.gates import Gate, Gates
from kohort.control.waiting import Waiters
from kohort.proxy.old_versions import OldVersionsThere
from kohort.security.principal import Principal

NOT_HERE: Final[dict[type[Action], str]] = {
    DelayUntil: (
        "a proxy can't delay until a state or a group event: it knows of them only what passes here; hold it at a gate"
    ),
    Deny: "a proxy can't take a right away, which the broker asks its authorizer for; answer an error instead",
    HideNode: "a proxy can't say who leads what a hidden node led; close its connections instead: on(node=…).close()",
    StaleMetadata: "a proxy can't name leaders of an earlier moment, which it has not noted; hold Metadata instead",
    StayLeader: "a proxy can't make a zombie: who coordinates a group is decided within the cluster",
}
"""What a rule may not do here, and why."""


class NodesSeen(Collection[int]):
    """The ids of the nodes that have a port at this moment."""

    def __init__(self, nodes: Callable[[], list[int]]) -> None:
        self._nodes = nodes

    def __contains__(self, node_id: object) -> bool:
        return node_id in self._nodes()

    def __iter__(self) -> Iterator[int]:
        return iter(self._nodes())

    def __len__(self) -> int:
        return len(self._nodes())


class ProxyFaults(Faults):
    """Rules for what goes through a proxy."""

    def __init__(
        self, chance: Random, nodes: Callable[[], list[int]], waiters: Waiters, principal: Principal | None
    ) -> None:
        """`principal`: who a client is before it logs in itself; None: only the cluster knows."""
        super().__init__(chance, (), NodesSeen(nodes), waiters)
        self._principal = principal

    def add(self, match: Match, action: Action, trigger: Trigger) -> Rule:
        """See `Faults`. Raises ControlError also for what needs the broker's clock, its groups, or its rights."""
        if (why := NOT_HERE.get(type(action))) is not None:
            raise ControlError(why)
        if match.state is not None:
            raise ControlError(
                "a proxy does not know for certain in which state a group is; choose requests by group and member"
            )
        if match.records is not None:
            raise ControlError(
                "a proxy does not look at the records of share groups; choose requests by group and member"
            )
        if match.principal is not None and self._principal is None:
            raise ControlError(
                "a proxy does not know as whom the cluster takes the certificate or token that it shows; "
                "choose requests by client_id"
            )
        if isinstance(action, OldApiVersions):
            action = OldVersionsThere(action.release)
        return super().add(match, action, trigger)


class ProxyGates(Gates):
    """Gates for what goes through a proxy."""

    def __init__(self) -> None:
        super().__init__(cast(Any, None))  # asked for loads only, of which there are none here

    @property
    def points(self) -> Mapping[str, GatePoint]:
        return {name: point for name, point in super().points.items() if point.stage != LOAD}

    def hold(self, name: str, group: str | None = None) -> Gate:
        """See `Gates`. Raises ControlError also for loads."""
        point = GATE_POINTS.get(name)
        if point is not None and point.stage == LOAD:
            raise ControlError(f"a proxy can't hold at {name}: a coordinator loads its groups within the cluster")
        return super().hold(name, group)
