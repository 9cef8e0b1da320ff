"""Group of the consumer protocol (KIP-848) as its members see it, with checks of the coordinator's guarantees.

Epochs never decrease; a partition is not assigned to a member before its owner has revoked it; in the end every
partition has an owner, and all members have the same epoch.

Members react at once, not at their next heartbeat: after a leave or a join all members send a heartbeat, and a member
acknowledges a new assignment at once. A member that still lacks partitions sends another heartbeat after another
member has revoked some.
"""

import asyncio
from collections.abc import Sequence
from time import perf_counter_ns
from uuid import UUID, uuid4

from benchmarks import replies, requests
from benchmarks.connection import Connection, within
from benchmarks.failures import Failures

WATCH_INTERVAL_S = 0.005


class ConsumerMember:
    """One member, on a connection of its own."""

    def __init__(self, group: "ConsumerGroup", connection: Connection) -> None:
        self.group = group
        self.connection = connection
        self.id = str(uuid4())
        self.epoch = 0
        self.owned: dict[UUID, set[int]] = {}
        self.is_active = False
        self.acknowledged = False  # it has acknowledged its last assignment
        self.has_let_go = False  # its last heartbeat reported revoked partitions
        self.beat_frame = b""

    def join(self) -> None:
        self.acknowledged, self.epoch, self.owned = False, 0, {}
        self.connection.ask(
            requests.consumer_heartbeat(self.group.name, self.id, 0, {}, [self.group.topic]), self._answered
        )

    def leave(self) -> None:
        """Leave the group; the other members are alerted after the response."""
        self.group.give_up(self, self.owned)
        self.connection.ask(requests.consumer_heartbeat(self.group.name, self.id, -1), self._finish_leave)

    def beat(self) -> None:
        self.connection.ask(self.beat_frame, self._answered)

    def _answered(self, payload: bytes, _: object) -> None:
        group = self.group
        try:
            reply = replies.consumer_beat(payload, self.id)
        except replies.MalformedReplyError as problem:
            group.failures.add("malformed reply", str(problem))
            return
        if reply.error_code:
            if reply.error_code in replies.COORDINATOR_NOT_READY and not group.settled:
                asyncio.get_running_loop().call_later(0.02, self.join)
                return
            group.failures.add_code("ConsumerGroupHeartbeat", reply.error_code)
            return
        if reply.epoch != self.epoch:
            if reply.epoch < self.epoch:
                group.failures.add("an epoch fell", f"{self.epoch} to {reply.epoch}")
            self.epoch = reply.epoch
            self.beat_frame = requests.consumer_heartbeat(group.name, self.id, self.epoch)
        if reply.assigned is not None and reply.assigned != self.owned:
            self.acknowledged = False
            group.take_over(self, reply.assigned)
            frame = requests.consumer_heartbeat(group.name, self.id, self.epoch, self.owned)
            self.connection.ask(frame, self._answered)
            return
        self.acknowledged = True
        group.noticed(self)

    def _finish_leave(self, payload: bytes, _: object) -> None:
        code = replies.error_code(payload)
        if code:
            self.group.failures.add_code("ConsumerGroupHeartbeat", code)
        self.group.alert()


class ConsumerGroup:
    """Members of one group, which subscribe to one topic."""

    def __init__(
        self, name: str, topic: str, partitions: int, connections: Sequence[Connection], failures: Failures
    ) -> None:
        self.name = name
        self.topic = topic
        self.partitions = partitions
        self.failures = failures
        self.members = [ConsumerMember(self, connection) for connection in connections]
        self.newest = 0  # newest epoch of a member
        self.settled = False  # it was complete once, so COORDINATOR_NOT_AVAILABLE is a failure from now on
        # set to the time at which all members have the same epoch and together own all partitions
        self.whole: asyncio.Future[int] | None = None
        self._owners: dict[tuple[UUID, int], ConsumerMember] = {}
        self._previous_epoch = 0
        self._up_to_date: set[ConsumerMember] = set()  # members that have acknowledged the newest epoch
        self._member_count = 0

    @property
    def requests(self) -> int:
        """Number of requests that the connections of the members have sent."""
        return sum(member.connection.sent for member in self.members)

    async def form(self) -> float:
        """Let all members join, one after the other; return the milliseconds until the group is complete."""
        for member in self.members:
            member.is_active = True
        start_ns = self._begin()
        for member in self.members:
            member.join()
        return await self._become_whole("forming", start_ns)

    async def leave(self, member: ConsumerMember) -> float:
        """Let a member leave; return the milliseconds until all others have acknowledged the new target."""
        member.is_active = False
        self._up_to_date.discard(member)
        start_ns = self._begin()
        member.leave()
        return await self._become_whole("a leave", start_ns)

    async def join(self, member: ConsumerMember) -> float:
        """Let a member rejoin with a new id; return the milliseconds until all have acknowledged the new target."""
        member.id, member.is_active = str(uuid4()), True
        start_ns = self._begin()
        member.join()
        self.alert()
        return await self._become_whole("a join", start_ns)

    def alert(self) -> None:
        for member in self.members:
            if member.is_active and not member.connection.waiting:
                member.beat()

    def take_over(self, member: ConsumerMember, assigned: dict[UUID, set[int]]) -> None:
        lost = {topic: partitions - assigned.get(topic, set()) for topic, partitions in member.owned.items()}
        self.give_up(member, lost)
        member.has_let_go = any(lost.values())
        for topic, partitions in assigned.items():
            for partition in partitions:
                owner = self._owners.setdefault((topic, partition), member)
                if owner is not member:
                    self.failures.add("two owners", f"{self.name}: partition {partition}")
        member.owned = assigned

    def give_up(self, member: ConsumerMember, partitions: dict[UUID, set[int]]) -> None:
        for topic, numbers in partitions.items():
            for number in numbers:
                if self._owners.get((topic, number)) is member:
                    del self._owners[topic, number]

    def noticed(self, member: ConsumerMember) -> None:
        """Update the group after a member has acknowledged an assignment."""
        if member.epoch > self.newest:
            self.newest = member.epoch
            self._up_to_date.clear()
        if member.epoch == self.newest:
            self._up_to_date.add(member)
        if len(self._owners) < self.partitions:
            if member.has_let_go:
                self._beat_again(lacking_only=True)
        elif len(self._up_to_date) == self._member_count and self.newest > self._previous_epoch:
            self.settled = True
            if self.whole is not None and not self.whole.done():
                self.whole.set_result(perf_counter_ns())
        member.has_let_go = False

    def _beat_again(self, *, lacking_only: bool = False) -> None:
        """Send heartbeats of idle members that are behind the newest epoch or lack partitions."""
        fewest = self.partitions // self._member_count
        for member in self.members:
            if member.is_active and not member.connection.waiting:
                lacks = sum(map(len, member.owned.values())) < fewest
                if lacks or (member.epoch < self.newest and not lacking_only):
                    member.beat()

    def _watch(self) -> None:
        """Send heartbeats of members that may be behind, until the group is complete."""
        if self.whole is not None and not self.whole.done():
            if all(member.epoch for member in self.members if member.is_active):
                self._beat_again()
            asyncio.get_running_loop().call_later(WATCH_INTERVAL_S, self._watch)

    def _begin(self) -> int:
        self._previous_epoch = self.newest
        self._member_count = sum(member.is_active for member in self.members)
        self.whole = asyncio.get_running_loop().create_future()
        asyncio.get_running_loop().call_later(WATCH_INTERVAL_S, self._watch)
        return perf_counter_ns()

    async def _become_whole(self, operation: str, start_ns: int) -> float:
        assert self.whole is not None
        try:
            whole_ns: int = await within(self.whole, 90, f"{operation} of {len(self.members)} members was not over")
        finally:
            self.whole = None
        return (whole_ns - start_ns) / 1e6
