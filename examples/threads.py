"""Threads of a Kafka Streams application, as their group knows them (KIP-1071): one heartbeat at a time.

No Python client supports streams groups yet. A test of a real application starts the application instead.
"""

from __future__ import annotations

import socket
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

from kohort.protocol.messages import message_of
from kohort.protocol.messages.streams_group_heartbeat import Subtopology, TaskIds, TopicInfo, Topology

BEAT = message_of("streams_group_heartbeat")
VERSION, REBALANCE_MS = 0, 60_000


def counting(topic: str, store: str) -> Topology:
    """Build a topology that reads a topic and counts in a store with this changelog."""
    changelog = TopicInfo(name=store, partitions=0, replication_factor=-1, topic_configs=())
    subtopology = Subtopology(subtopology_id="0", source_topics=(topic,), state_changelog_topics=(changelog,))
    return Topology(epoch=0, subtopologies=(subtopology,))


@contextmanager
def threads(kafka: Any, group: str, topology: Topology, *names: str) -> Iterator[list[Thread]]:
    """Yield threads with these client ids, each in its own process. They have not sent a heartbeat yet."""
    with ExitStack() as stack:
        members = [Thread(kafka.bootstrap, group, topology, name) for name in names]
        for thread in members:
            stack.callback(thread.dies)
        yield members


class Thread:
    """Member that revokes tasks as soon as its target does not contain them."""

    def __init__(self, bootstrap: str, group: str, topology: Topology, name: str) -> None:
        host, _, port = bootstrap.split(",")[0].rpartition(":")
        self.name, self.tasks = name, [TaskIds(subtopology_id="0", partitions=())]
        self._group, self._topology, self._epoch, self._sent = group, topology, 0, 0
        self._socket = socket.create_connection((host, int(port)), timeout=60)

    def beats(self) -> list[str]:
        """Send a heartbeat, or two if tasks were revoked, and return the names of its active tasks."""
        previous = set(self._names())
        self._apply(self._send())
        if previous - set(self._names()):
            self._apply(self._send())
        return self._names()

    def dies(self) -> None:
        """Close the connection without leaving, as with kill -9."""
        self._socket.close()

    def _names(self) -> list[str]:
        return [f"{task.subtopology_id}_{part}" for task in self.tasks for part in task.partitions]

    def _send(self) -> Any:
        is_joining = not self._epoch
        request = BEAT.request(
            group_id=self._group, member_id=f"{self.name}-id", member_epoch=self._epoch, process_id=self.name,
            rebalance_timeout_ms=REBALANCE_MS if is_joining else -1, topology=self._topology if is_joining else None,
            active_tasks=() if is_joining else tuple(task for task in self.tasks if task.partitions), standby_tasks=(),
            warmup_tasks=(),
        )  # fmt: skip
        self._sent += 1
        frame = BEAT.write_request(VERSION, self._sent, self.name, request)
        self._socket.sendall(len(frame).to_bytes(4, "big") + bytes(frame))
        size = int.from_bytes(self._read(4), "big")
        _, answer = BEAT.read_answer(VERSION, self._read(size))
        return answer

    def _apply(self, answer: Any) -> None:
        assert not answer.error_code, answer.error_message
        self._epoch = answer.member_epoch
        if answer.active_tasks is not None:
            self.tasks = list(answer.active_tasks)

    def _read(self, size: int) -> bytes:
        read = b""
        while len(read) < size:
            read += self._socket.recv(size - len(read))
        return read
