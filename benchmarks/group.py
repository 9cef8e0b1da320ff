"""Consumer group as its members see it, with checks of the coordinator's guarantees.

Generations increase by one; each has one leader, which all members name and which alone receives the list of members;
the list holds exactly the members that joined, with their metadata; each member receives the bytes that the leader
assigned to it in this generation, and these differ for each member and generation.

Members react at once, not at their next heartbeat: after a leave all others send a heartbeat, learn of the rebalance
and rejoin. While a rebalance may follow, a single member repeats heartbeats until it learns of it; then all do. So
heartbeat intervals, which clients choose, affect no figure, and unrealistic bursts of heartbeats do not occur either.
"""

import asyncio
from collections.abc import Callable, Sequence
from time import perf_counter_ns

from benchmarks import replies, requests
from benchmarks.connection import Connection, within
from benchmarks.failures import Failures
from kohort.protocol.errors import ErrorCode

WATCH_INTERVAL_S = 0.001
RETRY_AFTER_S = 0.02
OUT, JOINING, SYNCING, STABLE = range(4)


class Member:
    """One member, on a connection that members of other groups may share."""

    __slots__ = ("alerted", "beat_frame", "connection", "generation", "group", "id", "join_frame", "state")

    def __init__(self, group: "Group", connection: Connection) -> None:
        self.group = group
        self.connection = connection
        self.id = ""
        self.generation = 0
        self.state = OUT
        self.alerted = False  # a heartbeat is in flight that checks for a rebalance
        self.join_frame = b""
        self.beat_frame = b""

    def join(self) -> None:
        """Join the group, or its next generation."""
        self.state = JOINING
        group = self.group
        if not self.join_frame:
            self.join_frame = requests.join_group(group.name, self.id, group.session_timeout_ms)
        self.connection.ask(self.join_frame, self._joined)

    def leave(self) -> None:
        """Leave the group; the other members are alerted after the response."""
        self.state = OUT
        self.connection.ask(requests.leave_group(self.group.name, self.id), self._finish_leave, self.id)
        self.id, self.join_frame = "", b""

    def alert(self) -> None:
        """Send a heartbeat if it may report a rebalance, and rejoin in that case."""
        if self.state == STABLE and not self.alerted:
            self.alerted = True
            self.connection.ask(self.beat_frame, self._alerted, self.generation)

    def _joined(self, payload: bytes, _: object) -> None:
        group, failures = self.group, self.group.failures
        try:
            reply = replies.joined(payload)
        except replies.MalformedReplyError as problem:
            failures.add("malformed reply", str(problem))
            return
        code = reply.error_code
        if code == replies.MEMBER_ID_REQUIRED and not self.id and reply.member_id:
            self.id, self.join_frame = reply.member_id, b""
            self.join()
        elif code == replies.REBALANCE_IN_PROGRESS or (code in replies.COORDINATOR_NOT_READY and not group.settled):
            asyncio.get_running_loop().call_later(RETRY_AFTER_S, self.join)
        elif code:
            failures.add_code("JoinGroup", code)
            if code == ErrorCode.unknown_member_id and self.id:  # as a client would; the failure is counted
                self.id, self.join_frame = "", b""
                self.join()
        else:
            if not self.id:
                self.id, self.join_frame = reply.member_id, b""
            group.joined(self, reply)

    def sync(self, plan: dict[str, bytes]) -> None:
        """Request the assignment; the leader sends those of all members."""
        self.state = SYNCING
        self.beat_frame = requests.heartbeat(self.group.name, self.id, self.generation)
        self.connection.ask(requests.sync_group(self.group.name, self.id, self.generation, plan), self._synced)

    def _synced(self, payload: bytes, _: object) -> None:
        group = self.group
        assignment = group.plan.get(self.id)
        if assignment is not None and payload[4:] == replies.synced(assignment) and self.generation == group.generation:
            self.state = STABLE
            group.synced()
            if group.is_rebalancing():
                self.alert()
            return
        code = _error_code(payload, group.failures)
        if code == replies.REBALANCE_IN_PROGRESS:
            self.join()
        elif code:
            group.failures.add_code("SyncGroup", code)
        else:
            example = f"{group.name} generation {self.generation}: {payload[4:100].hex()}"
            group.failures.add("wrong assignment", example)

    def _alerted(self, payload: bytes, generation: int) -> None:
        self.alerted = False
        if self.state != STABLE or self.generation != generation:
            return
        if payload[4:] == replies.BEAT:
            if self.group.is_rebalancing():
                asyncio.get_running_loop().call_later(WATCH_INTERVAL_S, self.alert)
            return
        code = _error_code(payload, self.group.failures)
        if code == replies.REBALANCE_IN_PROGRESS:
            self.join()
            self.group.alert()
        else:
            self.group.failures.add_code("Heartbeat", code)

    def _finish_leave(self, payload: bytes, member_id: str) -> None:
        if payload[4:] != replies.leave_response(member_id):
            self.group.failures.add("wrong reply to LeaveGroup", payload.hex())
        self.group.alert()


class Group:
    """Members of one group."""

    def __init__(self, name: str, connections: Sequence[Connection], failures: Failures, session_ms: int) -> None:
        self.name = name
        self.session_timeout_ms = session_ms
        self.failures = failures
        self.members = [Member(self, connection) for connection in connections]
        self.expected_size = len(self.members)
        self.generation = 0
        self.leader = ""
        self.plan: dict[str, bytes] = {}
        self.settled = False  # it was complete once, so a coordinator that is not ready is a failure from now on
        # set to the time at which all expected members are synced in one generation
        self.whole: asyncio.Future[int] | None = None
        self._joined_ids: set[str] = set()
        self._synced = 0
        self._over = 0  # generation that has ended

    async def form(self) -> float:
        """Let all members join; return the milliseconds until all are synced in one generation."""
        start_ns = self._begin()
        for member in self.members:
            member.join()
        self._watch()
        return await self._become_whole("forming", start_ns)

    async def leave(self, member: Member) -> float:
        """Let a member leave; return the milliseconds until all others are synced in the very next generation."""
        self.expected_size -= 1
        previous, start_ns = self.generation, self._begin()
        member.leave()
        took_ms = await self._become_whole("a leave", start_ns)
        if self.generation != previous + 1:
            example = f"{self.name}: {previous} to {self.generation}"
            self.failures.add("a leave took more than one generation", example)
        return took_ms

    async def join(self, member: Member) -> float:
        """Let a member rejoin; return the milliseconds until all are synced."""
        self.expected_size += 1
        start_ns = self._begin()
        member.join()
        self._watch()
        return await self._become_whole("a join", start_ns)

    def follower(self) -> Member:
        return next(m for m in reversed(self.members) if m.state == STABLE and m.id != self.leader)

    def alert(self) -> None:
        if self._over != self.generation:
            self._over = self.generation
            for member in self.members:
                member.alert()

    def is_rebalancing(self) -> bool:
        return self._over == self.generation

    def joined(self, member: Member, reply: replies.Joined) -> None:
        failures = self.failures
        if reply.member_id != member.id:
            failures.add("joined with another id", f"{member.id} as {reply.member_id}")
        if reply.protocol != requests.PROTOCOL:
            failures.add("wrong protocol", reply.protocol)
        if reply.generation != self.generation:
            if self.generation and reply.generation != self.generation + 1:
                failures.add("generation jumped", f"{self.name}: {self.generation}, then {reply.generation}")
            self.generation, self.leader = reply.generation, reply.leader
            self.plan, self._joined_ids, self._synced = {}, set(), 0
        if reply.leader != self.leader:
            failures.add("leader disputed", f"{self.name} generation {self.generation}: {self.leader}, {reply.leader}")
        self._joined_ids.add(member.id)
        member.generation = reply.generation
        if reply.leader == member.id:
            self._lead(reply.listed)
            member.sync(self.plan)
            return
        if reply.listed:
            failures.add("a follower got the list", f"{self.name} generation {self.generation}")
        member.sync({})

    def synced(self) -> None:
        self._synced += 1
        if self._synced == self.expected_size == len(self.plan):
            if self._joined_ids != self.plan.keys():
                example = (
                    f"{self.name} generation {self.generation}: {len(self._joined_ids)} joined, {len(self.plan)} listed"
                )
                self.failures.add("the list is not who joined", example)
            self.settled = True
            if self.whole is not None and not self.whole.done():
                self.whole.set_result(perf_counter_ns())

    def _lead(self, listed: list[str]) -> None:
        generation = self.generation.to_bytes(4, "big")
        if self.plan:
            self.failures.add("several leaders", f"{self.name} generation {self.generation}")
        self.plan = {member_id: number.to_bytes(4, "big") + generation for number, member_id in enumerate(listed)}
        if len(self.plan) != len(listed):
            self.failures.add("a member is listed twice", f"{self.name} generation {self.generation}")

    def _watch(self) -> None:
        """Send heartbeats of one stable member until the group is complete; alert the others after a rebalance."""
        if self.whole is None or self.whole.done():
            return
        stable = next((m for m in self.members if m.state == STABLE), None)
        if stable is not None:
            stable.alert()
        if self.expected_size > 1:
            asyncio.get_running_loop().call_later(WATCH_INTERVAL_S, self._watch)

    def _begin(self) -> int:
        self.whole = asyncio.get_running_loop().create_future()
        return perf_counter_ns()

    async def _become_whole(self, operation: str, start_ns: int) -> float:
        assert self.whole is not None
        try:
            whole_ns: int = await within(self.whole, 60, f"{operation} of {self.expected_size} members was not over")
        finally:
            self.whole = None
        return (whole_ns - start_ns) / 1e6


async def form_in_lanes(
    groups: Sequence[Group], lanes: int, on_whole: Callable[[Group], None] = lambda group: None
) -> None:
    """Join groups, `lanes` of them at a time.

    Group n shares its connections with the groups n + lanes, n + 2 * lanes and so on. A pending JoinGroup blocks later
    requests on its connection: two groups that form on the same connections could wait for each other forever.

    Args:
        on_whole: Called with each group as soon as it is complete.
    """

    async def lane(number: int) -> None:
        for group in groups[number::lanes]:
            await group.form()
            on_whole(group)

    await asyncio.gather(*(lane(number) for number in range(lanes)))


def _error_code(payload: bytes, failures: Failures) -> int:
    try:
        return replies.error_code(payload)
    except replies.MalformedReplyError as problem:
        failures.add("malformed reply", str(problem))
        return 0
