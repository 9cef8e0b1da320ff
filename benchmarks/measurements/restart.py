"""A broker restarts on a log of a million offsets of 10,000 groups, loads it, and compacts it during heartbeats.

Also measures how long one core needs to read the same files and check every batch, with the log reader of `kohort
admin verify`.
"""

import asyncio
import shutil
import tempfile
from itertools import count, islice
from pathlib import Path
from time import perf_counter, perf_counter_ns, process_time, time
from uuid import UUID

from benchmarks import replies
from benchmarks.bench import Bench, percentile
from benchmarks.connection import drain
from benchmarks.group import Group, form_in_lanes
from benchmarks.measurements.topics import configure_topic
from benchmarks.pulses import Pulses, Schedule
from benchmarks.requests import by_kio
from benchmarks.server import Server
from kohort.coordinator.effects import OFFSETS_TOPIC
from kohort.coordinator.groups.group_placement import partition_for
from kohort.coordinator.offsets.offsets_topic_records import (
    GroupValue,
    MemberValue,
    group_key,
    group_value,
    offset_key,
    offset_value_parts,
)
from kohort.protocol.batches import EncodedRecords, encode_record
from kohort.protocol.errors import ErrorCode
from kohort.protocol.messages.list_groups import MESSAGE, ListGroupsRequest
from kohort.storage.disk.checking import check_partition, partition_folders
from kohort.storage.disk.directory import DataDirectory
from kohort.storage.topic import Topic
from kohort.storage.topics import Topics

TOPIC_ID = UUID(int=1)
PARTITIONS = 50
COMMITTED = 4  # partitions of each commit
SEGMENT_BYTES = 1 << 20  # small, so that most of the log can be compacted
BEATING = 200
INTERVAL_NS = 500_000_000


async def measure(bench: Bench) -> None:
    """Measure the time until READY and until all groups are loaded, then compaction until the log stops shrinking."""
    # A short log is all in one partition: else no segment would be full, and there would be nothing to compact.
    groups, commits, homes = (1_000, 5, 1) if bench.quick else (10_000, 25, PARTITIONS)
    with tempfile.TemporaryDirectory(prefix="kohort-bench-") as folder:
        path = Path(folder) / "data"
        write(path, groups, commits, homes)
        start = process_time()
        for group in partition_folders(path):
            assert not check_partition(group).faults
        checked_s = process_time() - start
        bench.figure("log", "MiB", size_of(path) / 2**20)
        bench.figure("reading and checking it", "s", checked_s)
        killed = Path(folder) / "killed"
        shutil.copytree(path, killed)
        (killed / ".kohort_cleanshutdown").unlink()
        for title, directory in (("after a stop", path), ("after a kill", killed)):
            start = perf_counter()
            async with bench.server("--data-dir", str(directory)) as server:
                bench.figure(f"ready {title}", "s", perf_counter() - start)
                await all_loaded(bench, server)
                took_s = perf_counter() - start
                bench.figure(f"all groups loaded {title}", "s", took_s)
                bench.figure("times reading and checking", "", took_s / checked_s)
                bench.figure("processor time", "s", server.cpu_s())
                if directory is killed:
                    memory = server.rss_kib()
                    bench.figure("memory", "MiB", None if memory is None else memory / 1024)
                    await _beat_while_it_compacts(bench, server, killed)


async def all_loaded(bench: Bench, server: Server) -> None:
    """Wait until the coordinator lists its groups."""
    request, read = by_kio(MESSAGE, 0, ListGroupsRequest()), replies.reader(MESSAGE.api.key, 0)
    async with bench.connections(server, 1) as (client,):
        while read(await client.call(request)).error_code is ErrorCode.coordinator_load_in_progress:
            await asyncio.sleep(0.01)


async def _beat_while_it_compacts(bench: Bench, server: Server, path: Path) -> None:
    async with bench.connections(server, BEATING) as clients:
        some = [Group(f"beating-{n:03}", [client], bench.failures, 10_000) for n, client in enumerate(clients)]
        schedule = Schedule()
        pulses = Pulses(schedule, INTERVAL_NS, bench.failures)
        try:
            await form_in_lanes(some, 20, lambda group: pulses.start(group.members[0], perf_counter_ns()))
            size_before, used = size_of(path), server.cpu_s()
            await configure_topic(clients[0], OFFSETS_TOPIC, "min.compaction.lag.ms", "0")
            while size_of(path) == size_before:
                await asyncio.sleep(0.01)
            pulses.counting, sizes = True, [size_before]
            while len(sizes) < 4 or sizes[-4] > sizes[-1]:
                await asyncio.sleep(0.5)
                sizes.append(size_of(path))
            pulses.counting = False
            if used is not None:
                bench.figure("compaction, processor time at most", "s", (server.cpu_s() or used) - used)
        finally:
            schedule.stop()
        await drain(clients)
    latencies = pulses.lateness_us()
    bench.figure("compacted to", "MiB", sizes[-1] / 2**20)
    bench.figure("compacted in", "s", (len(sizes) - 4) / 2)
    bench.figure("heartbeat lateness p50 meanwhile", "ms", percentile(latencies, 0.5) / 1e3)
    bench.figure("heartbeat lateness p99 meanwhile", "ms", percentile(latencies, 0.99) / 1e3)
    bench.figure("heartbeats", "", len(latencies))


def size_of(path: Path) -> int:
    return sum(segment.stat().st_size for segment in path.glob("*/*.log"))


def write(path: Path, groups: int, commits: int, homes: int) -> None:
    """Write the log of groups of one member with `commits` commits of four partitions, each commit in one batch.

    Args:
        homes: Number of partitions that the groups are in, from the first one on.
    """
    directory = DataDirectory(path)
    topics = Topics([1], lambda: TOPIC_ID, storage=directory)
    directory.begin()
    directory.begun("bench", 1)
    configs = {
        "cleanup.policy": "compact",
        "segment.bytes": str(SEGMENT_BYTES),
        "min.compaction.lag.ms": "1000000000",  # compaction starts when it is measured
    }
    topic = topics.create(OFFSETS_TOPIC, PARTITIONS, configs=configs)
    assert isinstance(topic, Topic)
    now_ms = int(time() * 1000)
    numbered = (f"group-{number:05}" for number in count())
    names = list(islice((name for name in numbered if partition_for(name, PARTITIONS) < homes), groups))
    for name in names:
        record = encode_record(group_key(name), group_value(stable(name, now_ms)), 0)
        _append(topic, name, EncodedRecords(record, 1), now_ms)
    start, behind_offset, tags = offset_value_parts("", None)
    for number in range(commits):
        for name in names:
            value = b"".join(
                (start, number.to_bytes(8, "big"), b"\xff" * 4, behind_offset, now_ms.to_bytes(8, "big"), tags)
            )
            records = (
                encode_record(offset_key(name, "orders", partition), value, partition) for partition in range(COMMITTED)
            )
            _append(topic, name, EncodedRecords(b"".join(records), COMMITTED), now_ms)
    directory.close()


def stable(name: str, now_ms: int) -> GroupValue:
    member = MemberValue(
        member_id=f"{name}-member",
        group_instance_id=None,
        client_id=name,
        client_host="/127.0.0.1",
        rebalance_timeout_ms=60_000,
        session_timeout_ms=600_000,
        subscription=b"",
        assignment=b"all",
    )
    return GroupValue(
        protocol_type="consumer",
        generation_id=1,
        protocol_name="range",
        leader_id=member.member_id,
        state_timestamp_ms=now_ms,
        members=(member,),
    )


def _append(topic: Topic, group_id: str, records: EncodedRecords, now_ms: int) -> None:
    log = topic.partitions[partition_for(group_id, PARTITIONS)].log
    log.append(records.batch(now_ms), wall_ms=now_ms)
