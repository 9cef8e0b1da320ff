"""The picture of `kohort watch` in the README, made anew: `make pictures`.

Real consumers, one of which hangs, and a group of the consumer protocol (KIP-848).
"""

from __future__ import annotations

import asyncio
import io
import re
import sys
import time
from contextlib import AsyncExitStack
from pathlib import Path

from aiokafka import AIOKafkaConsumer
from confluent_kafka import Consumer
from rich.console import Console

from kohort.cli.watch.changes import Change, Changes
from kohort.cli.watch.looking import WatchedCluster
from kohort.cli.watch.view import picture
from kohort.testing import Cluster

TITLE = "kohort watch"
WIDTH = 96
WEB_FONT = re.compile(r"@font-face \{.*?\}", re.DOTALL)
"""A picture in a page may not load any."""
TOPICS = {"orders": 12, "payments": 6}
GROUPS = {"billing": ("orders", ("billing-a", "billing-b", "billing-c")), "fraud": ("payments", ("fraud-1", "fraud-2"))}

MODERN = ("audit-1", "audit-2")
"""Members of the group `audit`, which speak the consumer protocol."""


class Watching:
    """What `kohort watch` does, a look at a time."""

    def __init__(self, bootstrap: str) -> None:
        self.cluster = WatchedCluster(bootstrap)
        self._changes, self._seen = Changes(), list[Change]()

    async def look(self, console: Console | None = None) -> None:
        snapshot = await self.cluster.look(time.time())
        self._seen += self._changes.take(snapshot)
        if console is not None:
            console.print(picture(snapshot, self._seen, title=TITLE, last=self._changes.last))
        await asyncio.sleep(1)  # so that the times differ


async def main(to: Path) -> None:
    console = Console(width=WIDTH, record=True, file=io.StringIO(), highlight=False, force_terminal=True)
    async with Cluster(nodes=3, seed=7) as kafka, AsyncExitStack() as members:
        watching = Watching(kafka.bootstrap)
        for topic, partitions in TOPICS.items():
            kafka.topics.create(topic, partitions=partitions)
            for number in range(partitions):
                kafka.topics.append(topic, *"x" * (60 + number * number % 7), partition=number)
        await watching.look()
        for group_id, (_, names) in GROUPS.items():
            for name in names:
                await join(kafka, members, group_id, name)
            await kafka.group(group_id).wait_stable(members=len(names))
            await watching.look()
        await join_by_heartbeat(kafka, members)
        await watching.look()
        billing = kafka.group("billing")
        with kafka.faults.freeze(group="billing", member=billing.member("billing-b").member_id):
            with kafka.gates.hold("join-complete", group="billing"):
                await kafka.clock.advance(seconds=10)  # aiokafka's session timeout
                await watching.look()
            await billing.wait_stable(members=2)
            await watching.look(console)
        watching.cluster.close()
    to.write_text(WEB_FONT.sub("", console.export_svg(title=TITLE)), encoding="utf-8")


async def join(kafka: Cluster, members: AsyncExitStack, group_id: str, name: str) -> None:
    """A consumer that reads a little and commits."""
    consumer = AIOKafkaConsumer(
        GROUPS[group_id][0],
        bootstrap_servers=kafka.bootstrap,
        group_id=group_id,
        client_id=name,
        group_instance_id=name if group_id == "fraud" else None,
        auto_offset_reset="earliest",
        enable_auto_commit=False,
        heartbeat_interval_ms=50,
    )
    await consumer.start()
    members.push_async_callback(consumer.stop)
    await kafka.group(group_id).wait_stable()
    while not all([await consumer.position(each) for each in consumer.assignment()]):
        await consumer.getmany(timeout_ms=100, max_records=40)
    await consumer.commit()


async def join_by_heartbeat(kafka: Cluster, members: AsyncExitStack) -> None:
    """Consumers of the consumer protocol that read a little and commit."""
    consumers = []
    for name in MODERN:
        settings: dict[str, str | bool] = {"bootstrap.servers": kafka.bootstrap, "group.id": "audit", "client.id": name}
        settings |= {"group.protocol": "consumer", "auto.offset.reset": "earliest", "enable.auto.commit": False}
        consumer = Consumer(settings)
        members.push_async_callback(asyncio.to_thread, consumer.close)
        consumer.subscribe(["payments"])
        consumers.append(consumer)
    group, shares = kafka.group("audit"), [0]
    while not (all(shares) and group.state == "Stable"):
        for consumer in consumers:  # who does not poll gives nothing up
            await asyncio.to_thread(consumer.consume, 20, 0.1)
        shares = [len(consumer.assignment()) for consumer in consumers]
    for consumer in consumers:
        await asyncio.to_thread(consumer.consume, 20, 1)
        await asyncio.to_thread(consumer.commit, asynchronous=False)


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1])))
