"""Threads of an application of Kafka Streams, as their group knows them (KIP-1071): a heartbeat at a time.

No client in Python is a member of streams groups yet. A test of a real application starts that one instead.
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
    """Reads a topic, and counts in a store whose changelog has this name."""
    changelog = TopicInfo(name=store, partitions=0, replication_factor=-1, topic_configs=())
    subtopology = Subtopology(subtopology_id="0", source_topics=(topic,), state_changelog_topics=(changelog,))
    return Topology(epoch=0, subtopologies=(subtopology,))


@contextmanager
def threads(kafka: Any, group: str, topology: Topology, *names: str) -> Iterator[list[Thread]]:
    """Threads with these client ids, each in a process of its own. None has said anything yet."""
    with ExitStack() as stack:
        made = [Thread(kafka.bootstrap, group, topology, name) for name in names]
        for each in made:
            stack.callback(each.dies)
        yield made


class Thread:
    """A member. It lets go of what it is not to have any more as soon as it is told."""

    def __init__(self, bootstrap: str, group: str, topology: Topology, name: str) -> None:
        host, _, port = bootstrap.split(",")[0].rpartition(":")
        self.name, self.tasks = name, [TaskIds(subtopology_id="0", partitions=())]
        self._group, self._topology, self._epoch, self._sent = group, topology, 0, 0
        self._socket = socket.create_connection((host, int(port)), timeout=60)

    def beats(self) -> list[str]:
        """One heartbeat, or two if there was something to let go. Returns its active tasks by name."""
        before = set(self._names())
        self._hear(self._ask())
        if before - set(self._names()):
            self._hear(self._ask())
        return self._names()

    def dies(self) -> None:
        """Without a word, as with kill -9."""
        self._socket.close()

    def _names(self) -> list[str]:
        return [f"{each.subtopology_id}_{part}" for each in self.tasks for part in each.partitions]

    def _ask(self) -> Any:
        joins = not self._epoch
        request = BEAT.request(
            group_id=self._group, member_id=f"{self.name}-id", member_epoch=self._epoch, process_id=self.name,
            rebalance_timeout_ms=REBALANCE_MS if joins else -1, topology=self._topology if joins else None,
            active_tasks=() if joins else tuple(each for each in self.tasks if each.partitions), standby_tasks=(),
            warmup_tasks=(),
        )  # fmt: skip
        self._sent += 1
        frame = BEAT.write_request(VERSION, self._sent, self.name, request)
        self._socket.sendall(len(frame).to_bytes(4, "big") + bytes(frame))
        size = int.from_bytes(self._read(4), "big")
        _, answer = BEAT.read_answer(VERSION, self._read(size))
        return answer

    def _hear(self, answer: Any) -> None:
        assert not answer.error_code, answer.error_message
        self._epoch = answer.member_epoch
        if answer.active_tasks is not None:
            self.tasks = list(answer.active_tasks)

    def _read(self, size: int) -> bytes:
        read = b""
        while len(read) < size:
            read += self._socket.recv(size - len(read))
        return read
