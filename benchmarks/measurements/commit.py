"""A member of its own group on each connection commits, then fetches the committed offsets, in closed loop.

The request is encoded once, and only its offsets are replaced; they increase by one with each commit, and differ for
each partition. The first response of a kind is decoded completely; later ones must have the same bytes.
"""

from collections.abc import Callable
from typing import Any

from benchmarks import replies
from benchmarks.bench import Bench, percentile
from benchmarks.connection import ClosedLoop, run_closed_loops
from benchmarks.failures import Failures
from benchmarks.group import Group, Member, form_in_lanes
from benchmarks.measurements.topics import create_topic
from benchmarks.requests import by_kio
from kohort.protocol.codec import Message
from kohort.protocol.messages import offset_commit, offset_fetch
from kohort.protocol.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from kohort.protocol.messages.offset_fetch import OffsetFetchRequest, OffsetFetchRequestGroup, OffsetFetchRequestTopic

TOPIC = "bench-commit"
NOTE = "m"
VERSION = 9
_MARK = 0x5A17_5A17_5A17_5A
# placeholder for the upper seven bytes of an offset; the lowest byte is the index of the partition
_MARK_BYTES = _MARK.to_bytes(7, "big")


class Committer:
    """Member that remembers its last commit."""

    def __init__(self, member: Member) -> None:
        self.member = member
        self.failures = member.group.failures
        self.last = 0

    def committing(self, partitions: int) -> ClosedLoop:
        """Return a loop of commits of `partitions` partitions each."""
        pieces = commit_frame(self.member, partitions).split(_MARK_BYTES)
        assert len(pieces) == partitions + 1

        def next_frame() -> bytes:
            self.last += 1
            return self.last.to_bytes(7, "big").join(pieces)

        return ClosedLoop(
            self.member.connection, next_frame, lambda body: judge_commit(body, partitions, self.failures)
        )

    def fetching(self, partitions: int) -> ClosedLoop:
        """Return a loop of fetches of `partitions` partitions each."""
        frame = fetch_frame(self.member, partitions)
        expected = {index: self.last << 8 | index for index in range(partitions)}
        return ClosedLoop(
            self.member.connection, lambda: frame, lambda body: judge_fetch(body, expected, self.failures)
        )


async def measure(bench: Bench, *, connections: int) -> None:
    """Measure commits and fetches of 1 and of 20 partitions."""
    async with bench.server() as server, bench.connections(server, connections) as clients:
        await create_topic(clients[0], TOPIC, 20)
        groups = [Group(f"commit-{n:05}", [client], bench.failures, 60_000) for n, client in enumerate(clients)]
        await form_in_lanes(groups, connections)
        committers = [Committer(group.members[0]) for group in groups]

        async def phase(name: str, loop_of: Callable[[Committer], ClosedLoop]) -> None:
            loops = [loop_of(committer) for committer in committers]
            for loop in loops:
                loop.start()
            meter = bench.meter(server)
            await run_closed_loops(loops, 0.2, 0.5 if bench.quick else 1.5, meter)
            latencies = [one for loop in loops for one in loop.latencies_ns]
            bench.figure(name, "/s", len(latencies) / meter.seconds)
            bench.figure(f"{name} p99", "µs", percentile(latencies, 0.99) / 1e3)
            bench.figure(f"{name} server CPU", "µs/request", meter.per_request_us(len(latencies)))

        await phase("commit_1", lambda committer: committer.committing(1))
        await phase("commit_20", lambda committer: committer.committing(20))
        await phase("fetch_20", lambda committer: committer.fetching(20))
        await phase("fetch_1", lambda committer: committer.fetching(1))


def commit_frame(member: Member, partitions: int) -> bytes:
    """Return an OffsetCommit with a placeholder for the offsets."""
    partition_offsets = tuple(
        OffsetCommitRequestPartition(partition_index=n, committed_offset=_MARK << 8 | n, committed_metadata=NOTE)
        for n in range(partitions)
    )
    request = OffsetCommitRequest(
        group_id=member.group.name,
        generation_id_or_member_epoch=member.generation,
        member_id=member.id,
        topics=(OffsetCommitRequestTopic(name=TOPIC, partitions=partition_offsets),),
    )
    return by_kio(offset_commit.MESSAGE, VERSION, request)


def fetch_frame(member: Member, partitions: int) -> bytes:
    topic = OffsetFetchRequestTopic(name=TOPIC, partition_indexes=tuple(range(partitions)))
    group = OffsetFetchRequestGroup(group_id=member.group.name, topics=(topic,))
    return by_kio(offset_fetch.MESSAGE, VERSION, OffsetFetchRequest(groups=(group,)))


def judge_commit(body: bytes, partitions: int, failures: Failures) -> bool:
    """Return whether every partition was committed; count failures."""
    reply = _read(offset_commit.MESSAGE, body, failures)
    if reply is None:
        return False
    answered = {p.partition_index: p.error_code for topic in reply.topics for p in topic.partitions}
    refused = [code for code in answered.values() if code]
    for code in refused:
        failures.add_code("OffsetCommit", code)
    if answered.keys() != set(range(partitions)):
        failures.add("other partitions committed than requested", str(sorted(answered)))
        return False
    return not refused


def judge_fetch(body: bytes, expected: dict[int, int], failures: Failures) -> bool:
    """Return whether the offsets are the last committed ones; count failures."""
    reply = _read(offset_fetch.MESSAGE, body, failures)
    if reply is None:
        return False
    fetched = [p for group in reply.groups for topic in group.topics for p in topic.partitions]
    codes = [code for code in (*(g.error_code for g in reply.groups), *(p.error_code for p in fetched)) if code]
    for code in codes:
        failures.add_code("OffsetFetch", code)
    offsets = {p.partition_index: p.committed_offset for p in fetched}
    if offsets != expected or any(p.metadata != NOTE for p in fetched):
        failures.add("other offsets fetched than committed", f"{offsets}, not {expected}")
        return False
    return not codes


def _read(message: Message[Any, Any], body: bytes, failures: Failures) -> Any:
    try:
        return replies.reader(message.api.key, VERSION)(bytes(4) + body)
    except replies.MalformedReplyError as problem:
        failures.add("malformed reply", str(problem))
        return None
