"""Group as a test and the control address see it through the proxy, limited to what is known."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NoReturn, cast

from kohort.control.control_errors import ControlError
from kohort.control.groups.any_group import DEAD, AnyGroup
from kohort.control.suggesting import suggest_names
from kohort.control.waiting import PATIENCE_S
from kohort.groups.explain import explain
from kohort.groups.explanation import Explanation
from kohort.proxy.node_ports import NO_NODE
from kohort.proxy.observed.observed_view import view_of

if TYPE_CHECKING:
    from kohort.control.numbers import Seconds
    from kohort.groups.group_view import GroupView
    from kohort.protocol.topic_partition import TopicPartition
    from kohort.proxy.observed.group_listener import AnyObserved
    from kohort.proxy.observed.observed_groups import ObservedGroups


@suggest_names
class ProxyGroup(AnyGroup):
    """Group of any type, as far as its members connect through the proxy.

    Its members are those that connect through the proxy, are in the list of a leader there, or were described to it.
    The epoch of the target assignment is not observable, so `assignment_epoch` is the same as `generation`.
    """

    def __init__(self, groups: ObservedGroups, group_id: str) -> None:
        super().__init__(cast(Any, groups), group_id)
        self._groups = groups

    @property
    def generation(self) -> int:
        """The newest generation in a response, or the newest epoch of a member; 0 if unknown."""
        view = self._view()
        return 0 if view is None else view.version or 0

    @property
    def coordinator(self) -> int | None:
        """Node that responded last as coordinator, or None if unknown."""
        group = self._find_group()
        return None if group is None or group.node_id == NO_NODE else group.node_id

    @property
    def offsets(self) -> dict[TopicPartition, int]:
        """Offsets committed through the proxy, by topic and partition."""
        group = self._find_group()
        return {} if group is None else dict(group.offsets)

    @property
    def lag(self) -> dict[TopicPartition, int]:
        """Difference between the end offsets and the offsets committed through the proxy, where both are known.

        End offsets are requested in the background at most once a second, so they may be a second old.
        """
        return self._groups.log_ends.lag_of(self.offsets)

    @property
    def is_settled(self) -> bool:
        """Whether all known members have their assignments."""
        group = self._find_group()
        return super().is_settled and group is not None and group.is_settled

    @property
    def is_caught_up(self) -> bool:
        """Whether there is a lag, and it is 0 everywhere."""
        return super().is_caught_up and self.lag.keys() == self.offsets.keys()

    def explain(self) -> Explanation:
        """Explain what the group waits for and what each client should do; print the result."""
        view = self._view()
        return Explanation(f"group {self.id}: no traffic observed through the proxy") if view is None else explain(view)

    async def wait_for_offset(self, topic: str, offset: int, partition: int = 0, timeout: Seconds = PATIENCE_S) -> None:
        """Wait until at least `offset` was committed through the proxy. Raise TimeoutError otherwise."""
        committed = (topic, partition)
        await self._laboratory.waiters.until(
            lambda: self.offsets.get(committed, -1) >= offset,
            timeout,
            lambda: (
                f"{self} has committed {self.offsets.get(committed, 'nothing')} of {topic}-{partition}, not {offset}"
            ),
        )

    def move_coordinator(self, node: int) -> NoReturn:
        """Raise ControlError; a proxy cannot do this."""
        raise ControlError("a proxy can't move a coordinator because the cluster elects it")

    async def delete(self, timeout: Seconds = PATIENCE_S) -> NoReturn:
        """Raise ControlError; a proxy cannot do this."""
        raise ControlError("a proxy can't delete a group; use kafka-consumer-groups --delete")

    async def commit(self, *arguments: object, **options: object) -> NoReturn:
        """Raise ControlError; a proxy cannot do this."""
        raise ControlError("a proxy can't commit offsets; use kafka-consumer-groups --reset-offsets")

    reset = commit

    # Internals

    def _find_group(self) -> AnyObserved | None:
        """Return what is known of the group. Its description is requested in the background, unless it is recent."""
        group = self._groups.listener.groups.get(self.id)
        if group is not None:
            self._groups.descriptions.refresh(self.id, group.group_type)
        return group

    def _view(self) -> GroupView | None:
        group = self._find_group()
        return None if group is None else view_of(group, self._laboratory.clock.now_us())

    def _state_of_none(self) -> str:
        return DEAD

    def __str__(self) -> str:
        group = self._find_group()
        if group is None:
            return f"group {self.id} (nothing observed)"
        text = super().__str__()
        return text if group.is_complete else f"{text.removesuffix(')')}, perhaps others)"
