"""Member of the consumer protocol (KIP-848)."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

from kohort.protocol.errors import ErrorCode as E
from kohort.protocol.messages.consumer_group_heartbeat import TopicPartitions
from kohort.whatif.clients.group_member import GroupMember, Owned, Said

REPLACED = (E.unreleased_instance_id, E.fenced_instance_id)
# The member loses its assignment and joins again
LOST = (E.fenced_member_epoch, E.unknown_member_id, E.group_id_not_found, *REPLACED)


@dataclass(eq=False)
class ConsumerMember(GroupMember):
    member_epoch: int = 0
    regex: str | None = None
    assignor: str | None = None
    told: Owned = field(default_factory=set)  # the last assignment received
    is_full: bool = True  # the next heartbeat contains all fields: the first one, and after an error
    holds_on: bool = False  # it neither revokes nor accepts partitions
    has_assignment: bool = False  # it has accepted an assignment since it joined, perhaps an empty one
    gets_id: bool = False  # the broker generates its member id, as in version 0

    @property
    def epoch(self) -> int:
        return self.member_epoch

    def next(self) -> Said:
        """Accept the received assignment and return the heartbeat that reports it."""
        if self.owned != self.told and not self.holds_on:
            self.gives_up(self.owned - self.told)
            self.owned = set(self.told)
            if not self.is_full:
                return self.beat(topic_partitions=self.as_request())
        if self.epoch <= 0:
            return self.join()
        return self.tell() if self.is_full else self.beat()

    def forget(self) -> None:
        self._loses_everything()

    def is_cut_off(self) -> None:
        """Record that a response was lost: the next heartbeat contains all fields."""
        self.is_full = True

    # Requests

    def beat(self, **changes: Any) -> Said:
        """Return a heartbeat, which reports its partitions only if `changes` contains them."""
        fields: dict[str, Any] = {"group_id": self.group_id, "member_id": self.member_id, "member_epoch": self.epoch}
        return Said("consumer_group_heartbeat", {**fields, "instance_id": self.instance, **changes}, self._heard)

    def join(self, **changes: Any) -> Said:
        """Join again without partitions."""
        self._loses_everything()
        return self.tell(**changes)

    def tell(self, **changes: Any) -> Said:
        """Return a heartbeat with all fields."""
        fields: dict[str, Any] = {
            "rebalance_timeout_ms": self.rebalance_ms,
            "subscribed_topic_names": self.names,
            "subscribed_topic_regex": self.regex,
            "server_assignor": self.assignor,
            "topic_partitions": self.as_request(),
        }
        return self.beat(**fields | changes)

    def leave(self, **changes: Any) -> Said:
        return self.beat(member_epoch=-1, **changes)

    def step_out(self) -> Said:
        """Leave temporarily, as a static member."""
        return self.beat(member_epoch=-2)

    def as_request(self) -> tuple[TopicPartitions, ...]:
        by_topic: dict[UUID, list[int]] = {}
        for topic_id, partition in sorted(self.owned):
            by_topic.setdefault(topic_id, []).append(partition)
        return tuple(TopicPartitions(topic_id=item, partitions=tuple(by_topic[item])) for item in by_topic)

    # Responses

    def _heard(self, response: Any) -> E:
        error: E = response.error_code
        self.is_full = error is not E.none
        if error in LOST or (error is E.none and response.member_epoch < 0):
            self._loses_everything()
        elif error is E.none:
            self.member_id, self.member_epoch = response.member_id, response.member_epoch
            if response.assignment is not None:
                given = response.assignment.topic_partitions
                self.told = {(entry.topic_id, number) for entry in given for number in entry.partitions}
        return error

    def is_refused(self, error: E) -> None:
        """Apply an error. After a stale epoch the member waits for its next heartbeat."""
        if error in (E.unknown_member_id, E.group_id_not_found, E.illegal_generation):
            self._loses_everything()

    def _loses_everything(self) -> None:
        self.member_epoch, self.told, self.is_full, self.has_assignment = 0, set(), True, False
        self.gives_up(self.owned)
        if self.gets_id:
            self.member_id = ""
