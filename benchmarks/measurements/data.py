"""Batches are produced, one partition for each connection, and then fetched repeatedly.

Produced offsets must be contiguous; fetched batches must be contiguous, too, and equal the produced ones to the last
byte, including the checksum.
"""

import asyncio
from collections.abc import Sequence
from time import perf_counter_ns, time

from benchmarks import replies
from benchmarks.bench import Bench, Meter, percentile
from benchmarks.connection import Connection, drain
from benchmarks.measurements.topics import create_topic
from benchmarks.requests import by_kio
from kohort.protocol.batches import Record, build_batch
from kohort.protocol.messages import fetch, list_offsets, produce
from kohort.protocol.messages.fetch import FetchPartition, FetchRequest, FetchTopic
from kohort.protocol.messages.list_offsets import ListOffsetsPartition, ListOffsetsRequest, ListOffsetsTopic
from kohort.protocol.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData

TOPIC = "bench-data"
PRODUCE, FETCH, LIST_OFFSETS = 11, 12, 7
READ_PRODUCED = replies.reader(produce.MESSAGE.api.key, PRODUCE)
READ_OFFSETS = replies.reader(list_offsets.MESSAGE.api.key, LIST_OFFSETS)
MIB = 1 << 20
MAX_BYTES = 512 * MIB  # limit of produced bytes, so that a fast server does not fill the memory
AT_ONCE = 2  # Produce requests in flight on each connection; for Fetch it is one

_MAGIC_AT = 16
_MARK = 0x5A17_5A17_5A17_5A17
_MARK_BYTES = _MARK.to_bytes(8, "big")
EARLIEST = -2


class Phase:
    """Totals of all connections in one phase."""

    def __init__(self, budget: int) -> None:
        self.budget = budget  # bytes that may still be requested
        self.counting = False
        self.running = True
        self.bytes = 0
        self.latencies_ns: list[int] = []
        self.last_ns = 0

    def count(self, size: int, sent_ns: int) -> None:
        if self.counting:
            self.last_ns = perf_counter_ns()
            self.bytes += size
            self.latencies_ns.append(self.last_ns - sent_ns)


class Producer:
    """Producer that appends the same batch to one partition repeatedly."""

    def __init__(self, client: Connection, partition: int, batch: bytes, records: int, phase: Phase) -> None:
        self.client, self.phase = client, phase
        self.failures = client.failures
        self.partition, self.records, self.size = partition, records, len(batch)
        self.next_offset = 0
        data = PartitionProduceData(index=partition, records=batch)
        request = ProduceRequest(
            acks=-1, timeout_ms=20_000, topic_data=(TopicProduceData(name=TOPIC, partition_data=(data,)),)
        )
        self.frame = by_kio(produce.MESSAGE, PRODUCE, request)

    def fire(self) -> None:
        if self.phase.running and self.phase.budget >= self.size:
            self.phase.budget -= self.size
            self.client.ask(self.frame, self._answered, perf_counter_ns())

    def _answered(self, payload: bytes, sent_ns: int) -> None:
        if self.judge(payload):
            self.phase.count(self.size, sent_ns)
        self.fire()

    def judge(self, payload: bytes) -> bool:
        """Return whether the batch was appended at the expected offset; count failures."""
        try:
            (topic,) = READ_PRODUCED(payload).responses
            (answer,) = topic.partition_responses
        except (replies.MalformedReplyError, ValueError) as problem:
            self.failures.add("malformed reply", f"Produce: {problem}")
            return False
        if answer.error_code:
            self.failures.add_code("Produce", answer.error_code)
            return False
        expected, self.next_offset = self.next_offset, answer.base_offset + self.records
        if answer.base_offset != expected or answer.index != self.partition:
            self.failures.add("produced elsewhere than expected", f"at {answer.base_offset}, expected {expected}")
            return False
        return True


class Fetcher:
    """Consumer that reads one partition from beginning to end, repeatedly."""

    def __init__(self, client: Connection, partition: int, batch: bytes, records: int, phase: Phase) -> None:
        self.client, self.phase = client, phase
        self.failures = client.failures
        self.partition = partition
        self.batch, self.records = batch[_MAGIC_AT:], records
        self.offset = 0
        fetched = FetchPartition(partition=partition, fetch_offset=_MARK, partition_max_bytes=MIB)
        request = FetchRequest(
            max_wait_ms=500, min_bytes=1, max_bytes=50 * MIB, topics=(FetchTopic(topic=TOPIC, partitions=(fetched,)),)
        )
        self.pieces = by_kio(fetch.MESSAGE, FETCH, request).split(_MARK_BYTES)
        earliest = ListOffsetsPartition(partition_index=partition, timestamp=EARLIEST)
        rewind = ListOffsetsRequest(replica_id=-1, topics=(ListOffsetsTopic(name=TOPIC, partitions=(earliest,)),))
        self.rewind_frame = by_kio(list_offsets.MESSAGE, LIST_OFFSETS, rewind)

    def rewind(self) -> None:
        """Restart at the oldest existing offset."""
        if self.phase.running:
            self.client.ask(self.rewind_frame, self._rewound)

    def _rewound(self, payload: bytes, _: object) -> None:
        answer = READ_OFFSETS(payload).topics[0].partitions[0]
        if answer.error_code:
            self.failures.add_code("ListOffsets", answer.error_code)
            return
        self.offset = answer.offset
        self.fire()

    def fire(self) -> None:
        if self.phase.running:
            self.client.ask(self.offset.to_bytes(8, "big").join(self.pieces), self._answered, perf_counter_ns())

    def _answered(self, payload: bytes, sent_ns: int) -> None:
        size, high_watermark = self.judge(payload)
        if not size:
            return  # it has been counted as a failure; to ask again would only repeat it
        self.phase.count(size, sent_ns)
        if self.offset >= high_watermark:
            self.rewind()
        else:
            self.fire()

    def judge(self, payload: bytes) -> tuple[int, int]:
        """Return the bytes of right batches, and the high watermark; count failures."""
        try:
            reply = replies.fetched(payload, TOPIC)
        except replies.MalformedReplyError as problem:
            self.failures.add("malformed reply", str(problem))
            return 0, 0
        if reply.error_code:
            self.failures.add_code("Fetch", reply.error_code)
            return 0, 0
        if reply.partition != self.partition:
            self.failures.add("another partition fetched than requested", f"{reply.partition}, not {self.partition}")
            return 0, 0
        size = self._check(payload, reply.start, reply.end)
        if not size:
            self.failures.add("nothing fetched", f"at {self.offset}; high watermark {reply.high_watermark}")
        return size, reply.high_watermark

    def _check(self, payload: bytes, start: int, end: int) -> int:
        """Check the batches. The last one may be truncated, as in Kafka."""
        size = _MAGIC_AT + len(self.batch)
        at = start
        while end - at >= size:
            base = int.from_bytes(payload[at : at + 8], "big")
            if base != self.offset:
                self.failures.add("a batch is not the next one", f"at {base}, expected {self.offset}")
                return 0
            if not payload.startswith(self.batch, at + _MAGIC_AT):
                self.failures.add("a batch is not what was produced", f"at {base}")
                return 0
            self.offset += self.records
            at += size
        return at - start


async def measure(bench: Bench, *, connections: int, sizes: Sequence[int]) -> None:
    """Measure megabytes per second of Produce and Fetch.

    Args:
        sizes: Bytes of the value of each record in a batch.
    """
    batch, records = make_batch(sizes), len(sizes)
    seconds = 0.5 if bench.quick else 2
    async with bench.server() as server, bench.connections(server, connections) as clients:
        await create_topic(clients[0], TOPIC, connections)
        phase = Phase(MAX_BYTES)
        for partition, client in enumerate(clients):
            producer = Producer(client, partition, batch, records, phase)
            for _ in range(AT_ONCE):
                producer.fire()
        await _run(bench, "produce", phase, clients, bench.meter(server), seconds)
        phase = Phase(0)
        for partition, client in enumerate(clients):
            Fetcher(client, partition, batch, records, phase).rewind()
        await _run(bench, "fetch", phase, clients, bench.meter(server), seconds)


async def _run(
    bench: Bench, name: str, phase: Phase, clients: Sequence[Connection], meter: Meter, seconds: float
) -> None:
    await asyncio.sleep(0.1)
    start_ns = perf_counter_ns()
    phase.counting = True
    meter.start()
    until_ns = start_ns + int(seconds * 1e9)
    while perf_counter_ns() < until_ns and any(client.waiting for client in clients):
        await asyncio.sleep(0.01)
    meter.stop()
    phase.counting = phase.running = False
    await drain(clients)
    took_s = (phase.last_ns - start_ns) / 1e9
    bench.figure(name, "MB/s", phase.bytes / took_s / 1e6 if phase.bytes else 0)
    bench.figure(f"{name} p99", "µs", percentile(phase.latencies_ns, 0.99) / 1e3)
    bench.figure(f"{name} server CPU", "µs/request", meter.per_request_us(len(phase.latencies_ns)))
    bench.figure(f"{name} load gen. CPU", "µs/request", meter.own_s / max(len(phase.latencies_ns), 1) * 1e6)


def make_batch(sizes: Sequence[int]) -> bytes:
    """Return one uncompressed batch. If sizes differ, timestamps do too."""
    now_ms, step_ms = int(time() * 1000), min(len(set(sizes)) - 1, 1)
    values = [bytes(n * 7 + (n >> 8) & 0xFF for n in range(size)) for size in sizes]
    records = [Record(None, value, timestamp_ms=now_ms + number * step_ms) for number, value in enumerate(values)]
    return bytes(build_batch(records))
