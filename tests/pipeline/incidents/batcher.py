"""A consumer that works in batches: `python -m tests.pipeline.incidents.batcher OPTIONS`, OPTIONS in JSON.

It commits after each batch, and not when a rebalance takes its partitions, which aiokafka does behind its back. `stop`
on stdin ends it after the batch.
"""

from __future__ import annotations

import asyncio
import json
import sys
import threading
import time
from typing import Any

from aiokafka import AIOKafkaConsumer
from aiokafka.errors import KafkaError


async def _work(options: dict[str, Any], stopping: threading.Event) -> None:
    consumer = AIOKafkaConsumer(
        options["topic"],
        bootstrap_servers=options["bootstrap"],
        client_id=options["name"],
        group_id=options["group"],
        auto_offset_reset="earliest",
        enable_auto_commit=False,
        session_timeout_ms=6_000,
        heartbeat_interval_ms=1_000,
        metadata_max_age_ms=2_000,
    )
    await consumer.start()
    while not stopping.is_set():
        polled = await consumer.getmany(timeout_ms=500)
        if not polled:
            continue
        await asyncio.sleep(options["batch_s"])
        try:
            await consumer.commit({place: records[-1].offset + 1 for place, records in polled.items()})
        except KafkaError as problem:
            row = {"event": "commit_failed", "error": type(problem).__name__, "member": options["name"]}
            print(json.dumps({"ms": time.time_ns() // 1_000_000, **row}), flush=True)
    await consumer.stop()


def _listen(stopping: threading.Event) -> None:
    sys.stdin.readline()
    stopping.set()


if __name__ == "__main__":
    over = threading.Event()
    threading.Thread(target=_listen, args=(over,), daemon=True).start()
    asyncio.run(_work(json.loads(sys.argv[1]), over))
