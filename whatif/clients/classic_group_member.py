"""Member of the classic protocol, eager or cooperative, in a classic or a consumer group."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from kohort.protocol.consumer_protocol import (
    Assignment,
    Subscription,
    assigned_partitions,
    read_subscription,
    write_assignment,
    write_subscription,
)
from kohort.protocol.errors import ErrorCode as E
from kohort.protocol.messages.join_group import JoinGroupRequestProtocol
from kohort.protocol.messages.leave_group import MemberIdentity
from kohort.protocol.messages.sync_group import SyncGroupRequestAssignment
from kohort.whatif.clients.group_member import ELSEWHERE, GroupMember, Said

OUT, JOINED, SYNCED = "out", "joined", "synced"


@dataclass(eq=False)
class ClassicMember(GroupMember):
    generation: int = -1
    leader: str = ""
    session_ms: int = 10_000
    protocol_type: str = "consumer"
    # Names and metadata; empty: `range` with its subscription and owned partitions
    protocols: tuple[tuple[str, bytes], ...] = ()
    cooperative: bool = False
    phase: str = OUT
    followers: tuple[Any, ...] = ()  # all members of its generation, if it is the leader
    assignment: bytes | None = None  # from its generation; None before the first assignment

    @property
    def epoch(self) -> int:
        return self.generation

    @property
    def leads(self) -> bool:
        return self.member_id == self.leader

    def next(self) -> Said:
        """Return the next request.

        An eager member revokes everything before it joins. A leader sends the assignments.
        """
        if self.phase == OUT:
            if not self.cooperative:
                self.gives_up(self.owned)
            return self.join()
        return self.sync(self.shares()) if self.phase == JOINED else self.beat()

    def forget(self) -> None:
        self.member_id, self.generation, self.leader = "", -1, ""
        self.gives_up(self.owned)
        self.is_out()

    def is_out(self) -> None:
        """Record that the member has left the group, and joins next."""
        self.phase, self.followers, self.assignment = OUT, (), None

    def is_cut_off(self) -> None:
        """Record that a response was lost: a join or sync may have happened, and the member joins again."""
        if self.phase == JOINED:
            self.is_out()

    # Requests

    def join(self, *, reason: str | None = None) -> Said:
        fields = {
            "group_id": self.group_id,
            "session_timeout_ms": self.session_ms,
            "rebalance_timeout_ms": self.rebalance_ms,
            "member_id": self.member_id,
            "group_instance_id": self.instance,
            "protocol_type": self.protocol_type,
            "protocols": tuple(JoinGroupRequestProtocol(name=name, metadata=data) for name, data in self._protocols()),
            "reason": reason,
        }
        return Said("join_group", fields, self._joined)

    def _protocols(self) -> tuple[tuple[str, bytes], ...]:
        subscription = Subscription(version=1, topics=self.names, owned_partitions=self.by_name(self.owned))
        return self.protocols or (("range", write_subscription(subscription)),)

    def sync(self, shares: Mapping[str, bytes]) -> Said:
        fields = {
            "group_id": self.group_id,
            "generation_id": self.generation,
            "member_id": self.member_id,
            "group_instance_id": self.instance,
            "protocol_type": self.protocol_type,
            "protocol_name": self._protocols()[0][0],
            "assignments": tuple(
                SyncGroupRequestAssignment(member_id=each, assignment=share) for each, share in shares.items()
            ),
        }
        return Said("sync_group", fields, self._synced)

    def beat(self) -> Said:
        fields = {"group_id": self.group_id, "generation_id": self.generation, "member_id": self.member_id}
        return Said("heartbeat", {**fields, "group_instance_id": self.instance}, self._beaten)

    def leave(self, *others: ClassicMember, reason: str | None = None) -> Said:
        """Leave the group, together with `others` in the same request."""
        members = tuple(
            MemberIdentity(member_id=item.member_id, group_instance_id=item.instance, reason=reason)
            for item in (self, *others)
        )
        return Said("leave_group", {"group_id": self.group_id, "members": members}, self._left)

    # Responses

    def _joined(self, response: Any) -> E:
        error: E = response.error_code
        if error in (E.none, E.member_id_required):
            self.member_id = response.member_id
        if error is E.none:
            self.generation, self.leader = response.generation_id, response.leader
            self.phase, self.followers, self.assignment = JOINED, response.members, None
        elif error is not E.member_id_required:
            self.is_refused(error)
        return error

    def _synced(self, response: Any) -> E:
        error: E = response.error_code
        if error is E.none:
            self.assignment = response.assignment
            ids = self.topics.topic_ids()
            share = assigned_partitions(response.assignment) or {}
            given = {(ids[name], number) for name, numbers in share.items() if name in ids for number in numbers}
            lost = self.owned - given
            self.gives_up(lost)
            self.owned = given
            self.phase = OUT if lost and self.cooperative else SYNCED
        else:
            self.is_refused(error)
        return error

    def _beaten(self, response: Any) -> E:
        error: E = response.error_code
        if error is not E.none:
            self.is_refused(error)
        return error

    def _left(self, response: Any) -> E:
        error: E = response.error_code
        return error

    def is_refused(self, error: E) -> None:
        """Apply an error. A cooperative member keeps its partitions through a rebalance and errors of the broker."""
        if error in ELSEWHERE:
            return
        self.is_out()
        if error not in (E.rebalance_in_progress, E.unknown_server_error):
            self.gives_up(self.owned)
        if error in (E.unknown_member_id, E.fenced_instance_id):
            self.member_id, self.generation = "", -1

    # A leader's work

    def shares(self) -> dict[str, bytes]:
        """Assign the topics to the members that it leads, except partitions that another member still owns."""
        wants = {follower.member_id: read_subscription(follower.metadata) for follower in self.followers}
        holders = {
            (name, number): member_id
            for member_id, wanted in wants.items()
            if wanted is not None
            for name, numbers in wanted.owned_partitions.items()
            for number in numbers
        }
        shares: dict[str, dict[str, tuple[int, ...]]] = {member_id: {} for member_id in wants}
        for name in {topic for wanted in wants.values() if wanted is not None for topic in wanted.topics}:
            takers = sorted(who for who, wanted in wants.items() if wanted is not None and name in wanted.topics)
            for number, who in enumerate(takers):
                dealt = range(number, self.topics.partitions_of(name), len(takers))
                shares[who][name] = tuple(number for number in dealt if holders.get((name, number), who) == who)
        return {who: write_assignment(Assignment(version=1, partitions=share)) for who, share in shares.items()}
