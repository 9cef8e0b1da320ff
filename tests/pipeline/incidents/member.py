"""A consumer process of an incident: `python -m tests.pipeline.incidents.member NAME CONFIG TOPICS HABITS`.

It prints its callbacks to stdout, as lines of JSON. Commands come on stdin: `subscribe A,B`,
`resubscribe A,B` (after an unsubscribe), `stall SECONDS`, `stop`. HABITS, in JSON: `slow_revoke_s`, how long the first revoke callback takes; `record_s`, how long each record
takes; `slow_record`, [partition, offset, seconds] of one that takes longer; `stores`, true: an offset counts when its
record is done, for enable.auto.offset.store=false.
"""

from __future__ import annotations

import json
import sys
import threading
import time
from queue import Empty, SimpleQueue
from typing import Any

from confluent_kafka import Consumer

POLL_S = 0.1


class _Process:
    def __init__(self, name: str, config: dict[str, Any], topics: list[str], habits: dict[str, Any]) -> None:
        self._name, self._slow_revoke_s = name, habits.get("slow_revoke_s", 0)
        self._stores = habits.get("stores", False)
        self._record_s, self._slow_record = habits.get("record_s", 0), habits.get("slow_record", [None, 0, 0])
        self._consumer = Consumer(config)
        self._orders: SimpleQueue[list[str]] = SimpleQueue()
        threading.Thread(target=self._listen, daemon=True).start()
        self._subscribe(topics)

    def run(self) -> None:
        while True:
            self._read(self._consumer.poll(POLL_S))
            try:
                order, *arguments = self._orders.get_nowait()
            except Empty:
                continue
            if order == "stop":
                break
            if order == "stall":
                self._tell("slow_begin")
                time.sleep(float(arguments[0]))
                self._tell("slow_end")
            elif order == "subscribe":
                self._tell("subscribed", topics=arguments[0])
                self._subscribe(arguments[0].split(","))
            elif order == "resubscribe":
                self._tell("resubscribed", topics=arguments[0])
                self._consumer.unsubscribe()
                self._subscribe(arguments[0].split(","))
        self._tell("closing")
        self._consumer.close()
        self._tell("closed")

    def _read(self, record: Any) -> None:
        if record is None or record.error():
            return
        time.sleep(self._record_s)
        partition, offset, slow_s = self._slow_record
        if (record.partition(), record.offset()) == (partition, offset):
            self._tell("slow_begin", partition=partition, offset=offset)
            time.sleep(slow_s)
            self._tell("slow_end")
        if self._stores:
            self._consumer.store_offsets(record)

    def _subscribe(self, topics: list[str]) -> None:
        self._consumer.subscribe(topics, on_assign=self._assigned, on_revoke=self._revoked, on_lost=self._lost)

    def _assigned(self, _: Consumer, partitions: list[Any]) -> None:
        self._tell("assigned", partitions=_names(partitions), member_id=self._consumer.memberid())

    def _revoked(self, _: Consumer, partitions: list[Any]) -> None:
        self._tell("revoke_begin", partitions=_names(partitions))
        time.sleep(self._slow_revoke_s)
        self._slow_revoke_s = 0
        self._tell("revoke_end", partitions=_names(partitions))

    def _lost(self, _: Consumer, partitions: list[Any]) -> None:
        self._tell("lost", partitions=_names(partitions))

    def _tell(self, event: str, **more: object) -> None:
        print(json.dumps({"ms": time.time_ns() // 1_000_000, "member": self._name, "event": event, **more}), flush=True)

    def _listen(self) -> None:
        for line in sys.stdin:
            self._orders.put(line.split())
        self._orders.put(["stop"])


def _names(partitions: list[Any]) -> list[str]:
    return sorted(f"{partition.topic}-{partition.partition}" for partition in partitions)


if __name__ == "__main__":
    _Process(sys.argv[1], json.loads(sys.argv[2]), sys.argv[3].split(","), json.loads(sys.argv[4])).run()
