"""A classic consumer on a host of its own: `python -m tests.pipeline.incidents.pod OPTIONS`, OPTIONS in JSON.

It binds its sockets to an address of 127.0.0.0/8, so that the broker sees another host. It prints to stdout, in lines of
JSON, what happens to it. `stop` on stdin closes it, `rejoin` makes it
ask for a rebalance.
"""

from __future__ import annotations

import json
import os
import socket
import sys
import threading
import time
from typing import Any

from kafka import ConsumerRebalanceListener, KafkaConsumer, TopicPartition
from kafka.coordinator.assignors.range import RangePartitionAssignor
from kafka.errors import FencedInstanceIdError, KafkaError
from kafka.structs import OffsetAndMetadata

HOST = ""
FENCED = 3
"""The exit code of a process whose instance id another one has taken."""
CRASHED = 1


class _Socket(socket.socket):
    """A socket that is bound to this host's address and retries its connect until it succeeds."""

    def connect(self, address: Any) -> None:
        self._leave_from_here()
        super().connect(address)

    def connect_ex(self, address: Any) -> int:
        self._leave_from_here()
        return super().connect_ex(address)

    def _leave_from_here(self) -> None:
        if self.family == socket.AF_INET and not self.getsockname()[1]:
            self.bind((HOST, 0))


def _slow_range(seconds: list[float]) -> type:
    """Return the range assignor, with a pause before each assignment."""
    left = list(seconds)

    class Slow(RangePartitionAssignor):  # type: ignore[misc]
        @classmethod
        def assign(cls, cluster: Any, members: Any) -> Any:
            time.sleep(left.pop(0) if len(left) > 1 else left[0])
            return super().assign(cluster, members)

    return Slow


class _Pod(ConsumerRebalanceListener):  # type: ignore[misc]
    """Options: `instance`, `session_ms`, `max_poll_ms`, `commits` (false: never), `assign` ([topic, partition]: no
    member), `records_a_second` (from the beginning, slowly), `dies_at` ([partition, offset]: the process ends there),
    `assign_takes_s` (as leader: [seconds of its first assignment, of the second …, of all further ones])."""

    def __init__(self, options: dict[str, Any]) -> None:
        self._options = options
        self._stopping = self._rejoining = False
        session_ms = options.get("session_ms", 6_000)
        more = {"group_instance_id": options["instance"]} if options.get("instance") else {}
        if options.get("assign_takes_s"):
            more["partition_assignment_strategy"] = [_slow_range(options["assign_takes_s"])]
        self._consumer = KafkaConsumer(
            bootstrap_servers=options["bootstrap"],
            client_id=options["client_id"],
            group_id=options["group"],
            auto_offset_reset="earliest",
            enable_auto_commit=False,
            session_timeout_ms=session_ms,
            heartbeat_interval_ms=1_000,
            max_poll_interval_ms=options.get("max_poll_ms", 60_000),
            metadata_max_age_ms=2_000,
            max_poll_records=1 if options.get("records_a_second") else 20,
            **more,
        )
        if options.get("assign"):
            self._consumer.assign([place := TopicPartition(*options["assign"])])
            if options.get("records_a_second"):
                self._consumer.seek(place, 0)
        else:
            self._consumer.subscribe(options["topics"], listener=self)

    def on_partitions_assigned(self, assigned: Any) -> None:
        self._tell("assigned", partitions=sorted(f"{each.topic}-{each.partition}" for each in assigned))

    def on_partitions_revoked(self, revoked: Any) -> None:
        self._tell("revoked", partitions=sorted(f"{each.topic}-{each.partition}" for each in revoked))

    def run(self) -> None:
        """Consume until it is stopped, fenced or dead."""
        try:
            self._work()
        except KafkaError as problem:
            self._tell("fatal", error=type(problem).__name__)
            os._exit(FENCED if isinstance(problem, FencedInstanceIdError) else CRASHED)

    def _work(self) -> None:
        committed = time.monotonic()
        while not self._stopping:
            if self._rejoining:
                self._rejoining = False
                self._consumer._coordinator.request_rejoin()
            polled = self._consumer.poll(timeout_ms=100)
            for place, records in polled.items():
                self._read(place, records)
            if slow := self._options.get("records_a_second"):
                time.sleep(1 / slow)
            if self._options.get("commits", True) and time.monotonic() - committed >= 0.5:
                self._commit(None)
                committed = time.monotonic()
        self._tell("closing")
        if self._options.get("commits", True):
            self._commit(None)
        self._consumer.close()
        self._tell("closed")

    def _read(self, place: Any, records: list[Any]) -> None:
        dies_at = self._options.get("dies_at")
        for record in records:
            if dies_at and (place.partition, record.offset) == tuple(dies_at):
                self._commit({place: OffsetAndMetadata(record.offset, "", -1)})
                self._tell("crashed", partition=place.partition, offset=record.offset)
                os._exit(CRASHED)

    def _commit(self, offsets: Any) -> None:
        try:
            self._consumer.commit(offsets)
        except KafkaError as problem:
            self._tell("commit_failed", error=type(problem).__name__)
            if isinstance(problem, FencedInstanceIdError):
                os._exit(FENCED)

    def listen(self) -> None:
        for line in sys.stdin:
            self._stopping = line.strip() == "stop"
            self._rejoining = line.strip() == "rejoin"
        self._stopping = True

    def _tell(self, event: str, **more: object) -> None:
        row = {"ms": time.time_ns() // 1_000_000, "member": self._options["name"], "event": event, **more}
        print(json.dumps(row), flush=True)


if __name__ == "__main__":
    given = json.loads(sys.argv[1])
    HOST = given["host"]
    socket.socket = _Socket  # type: ignore[misc]
    pod = _Pod(given)
    threading.Thread(target=pod.listen, daemon=True).start()
    pod.run()
