"""A member of a share group in an incident: `python -m tests.pipeline.incidents.sharer NAME CONFIG TOPIC HABITS`.

It prints what it does with records to stdout, as lines of JSON. Commands come on stdin: `fail` (it releases whatever it
gets), `work`, `stop`. HABITS, in JSON: `record_s`, how long each record takes; `hold_s`, how long it holds what a poll
brought; `poison`, places that it releases each time; `rejects`, `retries`: interval of offsets at which it rejects one, or
releases it once.
"""

from __future__ import annotations

import json
import sys
import threading
import time
from queue import Empty, SimpleQueue
from typing import Any

from confluent_kafka import AcknowledgeType, KafkaException, ShareConsumer

POLL_S = 0.1
PATIENCE_S = 30.0


class _Process:
    def __init__(self, name: str, config: dict[str, Any], topic: str, habits: dict[str, Any]) -> None:
        self._name, self._topic, self._habits = name, topic, habits
        self._poison = {(partition, offset) for partition, offset in habits.get("poison", ())}
        self._failing = False
        self._consumer = ShareConsumer(config)
        self._orders: SimpleQueue[str] = SimpleQueue()
        threading.Thread(target=self._listen, daemon=True).start()
        self._consumer.subscribe([topic])

    def run(self) -> None:
        while True:
            records = [record for record in self._consumer.poll(timeout=POLL_S) if record.error() is None]
            if records:
                self._work(records)
            try:
                order = self._orders.get_nowait()
            except Empty:
                continue
            self._failing = order == "fail"
            if order == "stop":
                break
        self._tell("closing")
        self._consumer.close()
        self._tell("closed")

    def _work(self, records: list[Any]) -> None:
        time.sleep(self._habits.get("hold_s", 0) + self._habits.get("record_s", 0) * len(records))
        done: dict[str, list[tuple[int, int, int]]] = {}
        for record in records:
            place = record.partition(), record.offset(), record.delivery_count()
            done.setdefault(self._decided(*place), []).append(place)
        for how, places in done.items():
            for partition, offset, _ in places:
                self._consumer.acknowledge_offset(self._topic, partition, offset, AcknowledgeType[how.upper()])
        problem = self._commit()
        for how, places in done.items():
            if how != "accept" or problem:
                self._tell(how, places=places, problem=problem)

    def _decided(self, partition: int, offset: int, count: int) -> str:
        if self._failing or (partition, offset) in self._poison:
            return "release"
        if (every := self._habits.get("rejects")) and offset % every == every - 1:
            return "reject"
        if (every := self._habits.get("retries")) and offset % every == every - 1 and count == 1:
            return "release"
        return "accept"

    def _commit(self) -> str:
        """Commit acknowledgements, and return the error, or an empty text."""
        try:
            outcome = self._consumer.commit_sync(PATIENCE_S)
        except KafkaException as failed:
            return str(failed.args[0].name())
        return next((str(each.args[0].name()) for each in outcome.values() if each is not None), "")

    def _tell(self, event: str, **more: object) -> None:
        print(json.dumps({"ms": time.time_ns() // 1_000_000, "member": self._name, "event": event, **more}), flush=True)

    def _listen(self) -> None:
        for line in sys.stdin:
            self._orders.put(line.strip())


if __name__ == "__main__":
    name, config, topic, habits = sys.argv[1:]
    _Process(name, json.loads(config), topic, json.loads(habits)).run()
