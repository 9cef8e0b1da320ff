"""A read_committed reader of a cluster whose nodes stop and whose leaders move."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kohort.protocol.batches import CONTROL, TRANSACTIONAL, iterate_records, read_batches
from kohort.protocol.errors import ErrorCode as E
from kohort.protocol.messages.fetch import FetchPartition, FetchTopic

if TYPE_CHECKING:
    from tests.simulation.transacting import Bank

TOPIC = "accounts"
PARTITIONS = 4
AGAIN = (
    E.not_leader_or_follower,
    E.not_coordinator,
    E.coordinator_load_in_progress,
    E.coordinator_not_available,
    E.concurrent_transactions,
    E.not_enough_replicas,
)
"""Raised when a client must retry."""


class Reader:
    """A consumer of committed records, which passes over aborted ones as clients do. It keeps a fetch session."""

    def __init__(self, bank: Bank, number: int) -> None:
        self._bank = bank
        self._node = number
        self._session = (0, 0)
        self._told: dict[int, int] = {}
        self.positions = [0] * PARTITIONS
        self.heard: list[list[tuple[int, bytes]]] = [[] for _ in range(PARTITIONS)]

    def polls(self, max_bytes: int = 300) -> None:
        """Fetch once from all partitions of a node; a session names only changed ones."""
        node = self._bank.cluster.nodes[self._node]
        self._node = (self._node + 1) % 3 if self._bank.random.random() < 0.1 or not node.running else self._node
        if not node.running or node is not self._bank.cluster.nodes[self._node]:
            self._session, self._told = (0, 0), {}
            return
        session_id, epoch = self._session
        changed = {
            index: position for index, position in enumerate(self.positions) if self._told.get(index) != position
        }
        parts = tuple(
            FetchPartition(partition=index, fetch_offset=position, partition_max_bytes=max_bytes)
            for index, position in changed.items()
        )
        answer = self._bank.connected(self._node).asks(
            "fetch", 12, max_wait_ms=0, min_bytes=1, max_bytes=max_bytes, isolation_level=1,
            session_id=session_id, session_epoch=epoch,
            topics=(FetchTopic(topic=TOPIC, partitions=parts),) if parts else (),
        )  # fmt: skip
        if answer.error_code is not E.none:
            assert answer.error_code is E.fetch_session_id_not_found
            self._session, self._told = (0, 0), {}
            return
        self._session = answer.session_id, epoch + 1
        self._told |= changed
        for topic in answer.responses:
            for part in topic.partitions:
                if part.error_code is E.none:
                    self._takes(part)
                else:
                    assert part.error_code in AGAIN, part.error_code

    def catches_up(self) -> None:
        """Read to the end, at one node after the other."""
        for self._node in range(3):
            self._session, self._told = (0, 0), {}
            before = None
            while before != self.positions:
                before = list(self.positions)
                self.polls(max_bytes=1 << 20)

    def _takes(self, part: Any) -> None:
        """Skip aborted records like Kafka's `CompletedFetch`."""
        data = b"".join(part.records or ())
        index = part.partition_index
        aborted = sorted(
            (aborted_transaction.first_offset, aborted_transaction.producer_id)
            for aborted_transaction in part.aborted_transactions
        )
        ended: set[int] = set()
        for batch in read_batches(data):
            while aborted and aborted[0][0] <= batch.last_offset:
                ended.add(aborted.pop(0)[1])
            if batch.attributes & CONTROL:
                ended.discard(batch.producer_id)
            elif not (batch.attributes & TRANSACTIONAL and batch.producer_id in ended):
                for record in iterate_records(data, batch):
                    if batch.base_offset >= self.positions[index]:
                        self.heard[index].append((batch.base_offset, record.value or b""))
            self.positions[index] = batch.last_offset + 1
