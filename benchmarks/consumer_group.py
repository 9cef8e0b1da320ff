"""A group of the consumer protocol (KIP-848) as its members see it, with a coordinator's promises checked on the way.

Epochs never fall; no partition is given to a member before another one has said that it let go; in the end every
partition is somebody's, and all members have the same epoch.

Members do what real ones do at once, not at their next heartbeat: when somebody has left or come all of them beat, and
who is given or loses partitions says so at once. Whoever then still lacks partitions beats again when somebody has
let go of some.
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
        self.there = False
        self.acknowledged = False
        """It has answered the last assignment that it was told."""
        self.has_let_go = False
        """It has just told that it gave up partitions."""
        self.beat_frame = b""

    def join(self) -> None:
        """Enters the group."""
        self.acknowledged, self.epoch, self.owned = False, 0, {}
        self.connection.ask(
            requests.consumer_heartbeat(self.group.name, self.id, 0, {}, [self.group.topic]), self._answered
        )

    def leave(self) -> None:
        """Leaves for good; the group is told once the server has confirmed it."""
        self.group.give_up(self, self.owned)
        self.connection.ask(requests.consumer_heartbeat(self.group.name, self.id, -1), self._left)

    def beat(self) -> None:
        """Asks what is new."""
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

    def _left(self, payload: bytes, _: object) -> None:
        code = replies.error_code(payload)
        if code:
            self.group.failures.add_code("ConsumerGroupHeartbeat", code)
        self.group.alert()


class ConsumerGroup:
    """The load generator's members of one group, which subscribe to one topic."""

    def __init__(
        self, name: str, topic: str, partitions: int, connections: Sequence[Connection], failures: Failures
    ) -> None:
        self.name = name
        self.topic = topic
        self.partitions = partitions
        self.failures = failures
        self.members = [ConsumerMember(self, connection) for connection in connections]
        self.newest = 0
        """The newest epoch that a member has."""
        self.settled = False
        """It was whole once: a coordinator that is not ready is no excuse any more."""
        self.whole: asyncio.Future[int] | None = None
        """Set to the moment when all have acknowledged the same epoch, and own everything between them."""
        self._owners: dict[tuple[UUID, int], ConsumerMember] = {}
        self._before = 0
        self._done: set[ConsumerMember] = set()
        """Who has acknowledged the newest epoch."""
        self._wanted = 0

    async def form(self) -> float:
        """Everybody joins, one after the other. Returns the milliseconds until the group is whole."""
        for member in self.members:
            member.there = True
        start_ns = self._begin()
        for member in self.members:
            member.join()
        return await self._become_whole("forming", start_ns)

    async def leave(self, member: ConsumerMember) -> float:
        """One leaves. Returns the milliseconds until all others have acknowledged the new target."""
        member.there = False
        self._done.discard(member)
        start_ns = self._begin()
        member.leave()
        return await self._become_whole("a leave", start_ns)

    async def join(self, member: ConsumerMember) -> float:
        """One comes back, with another id. Returns the milliseconds until all have acknowledged the new target."""
        member.id, member.there = str(uuid4()), True
        start_ns = self._begin()
        member.join()
        self.alert()
        return await self._become_whole("a join", start_ns)

    def alert(self) -> None:
        """Something has changed: everybody beats."""
        for member in self.members:
            if member.there and not member.connection.waiting:
                member.beat()

    def take_over(self, member: ConsumerMember, assigned: dict[UUID, set[int]]) -> None:
        """A member takes what it was told for its own."""
        lost = {topic: partitions - assigned.get(topic, set()) for topic, partitions in member.owned.items()}
        self.give_up(member, lost)
        member.has_let_go = any(lost.values())
        for topic, partitions in assigned.items():
            for partition in partitions:
                before = self._owners.setdefault((topic, partition), member)
                if before is not member:
                    self.failures.add("two owners", f"{self.name}: partition {partition}")
        member.owned = assigned

    def give_up(self, member: ConsumerMember, partitions: dict[UUID, set[int]]) -> None:
        """A member lets go of partitions."""
        for topic, numbers in partitions.items():
            for number in numbers:
                if self._owners.get((topic, number)) is member:
                    del self._owners[topic, number]

    def noticed(self, member: ConsumerMember) -> None:
        """A member has acknowledged what it was told last."""
        if member.epoch > self.newest:
            self.newest = member.epoch
            self._done.clear()
        if member.epoch == self.newest:
            self._done.add(member)
        if len(self._owners) < self.partitions:
            if member.has_let_go:
                self._beat_again(lacking_only=True)
        elif len(self._done) == self._wanted and self.newest > self._before:
            self.settled = True
            if self.whole is not None and not self.whole.done():
                self.whole.set_result(perf_counter_ns())
        member.has_let_go = False

    def _beat_again(self, *, lacking_only: bool = False) -> None:
        """Those beat who are not in the newest epoch, or lack partitions, and have no answer to come."""
        fewest = self.partitions // self._wanted
        for member in self.members:
            if member.there and not member.connection.waiting:
                lacks = sum(map(len, member.owned.values())) < fewest
                if lacks or (member.epoch < self.newest and not lacking_only):
                    member.beat()

    def _watch(self) -> None:
        """Members that others may have overtaken beat again, until the group is whole."""
        if self.whole is not None and not self.whole.done():
            if all(member.epoch for member in self.members if member.there):
                self._beat_again()
            asyncio.get_running_loop().call_later(WATCH_INTERVAL_S, self._watch)

    def _begin(self) -> int:
        self._before = self.newest
        self._wanted = sum(member.there for member in self.members)
        self.whole = asyncio.get_running_loop().create_future()
        asyncio.get_running_loop().call_later(WATCH_INTERVAL_S, self._watch)
        return perf_counter_ns()

    async def _become_whole(self, what: str, start_ns: int) -> float:
        assert self.whole is not None
        try:
            whole_ns: int = await within(self.whole, 90, f"{what} of {len(self.members)} members was not over")
        finally:
            self.whole = None
        return (whole_ns - start_ns) / 1e6
