"""What incidents are made of: a cluster, topics with records, groups, and members in processes of their own."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from typing import Any, TextIO

from confluent_kafka import IsolationLevel, KafkaError, KafkaException, Producer, TopicPartition
from confluent_kafka.admin import (
    AdminClient,
    AlterConfigOpType,
    ConfigEntry,
    ConfigResource,
    NewPartitions,
    NewTopic,
    OffsetSpec,
    ResourceType,
)

from tests.pipeline.incidents.truth import Truth

PARTITIONS = 4
PATIENCE_S = 60
RECORDS_A_SECOND = 5
"""In each partition."""
SAMPLE_S = 2.0


class Member:
    """One process in a group."""

    def __init__(self, group: Group, name: str, command: list[str]) -> None:
        """Start a process, whose `command` is a module of this package with arguments."""
        self.name = name
        self._group = group
        self._heard: set[str] = set()
        self._changed = threading.Condition()
        module, *arguments = command
        self._process = subprocess.Popen(
            [sys.executable, "-m", f"{__package__}.{module}", *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        threading.Thread(target=self._listen, daemon=True).start()

    def order(self, text: str) -> None:
        """Send a command: `subscribe A,B` or `stall SECONDS`."""
        assert self._process.stdin is not None
        self._process.stdin.write(text + "\n")
        self._process.stdin.flush()

    def signal(self, number: signal.Signals) -> None:
        self._group.tell("signal", member=self.name, signal=number.name)
        self._process.send_signal(number)

    def until(self, event: str) -> None:
        """Wait until it has printed an event for the first time; a JVM starts slowly on a busy machine."""
        with self._changed:
            assert self._changed.wait_for(lambda: event in self._heard, 3 * PATIENCE_S), f"{self.name}: no {event}"

    def stop(self) -> None:
        """Close the consumer and wait for its end."""
        self._group.tell("stop", member=self.name)
        if self.is_there:
            self.order("stop")
            self._process.wait(PATIENCE_S)

    def end(self) -> None:
        """Stop the process, whatever its state."""
        self._process.kill()
        self._process.wait(PATIENCE_S)

    @property
    def is_there(self) -> bool:
        return self._process.poll() is None

    def _listen(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            document = json.loads(line)
            self._group.stage.truth.write({**document, "group": self._group.name})
            with self._changed:
                self._heard.add(str(document.get("event")))
                self._changed.notify_all()


class Group:
    """A group, its topic of the same name, and its members."""

    def __init__(self, stage: Stage, name: str) -> None:
        self.stage, self.name = stage, name
        self.members: list[Member] = []

    def tell(self, event: str, **more: object) -> None:
        self.stage.truth.tell(self.name, event, **more)

    def starts(
        self,
        name: str,
        *,
        topics: list[str] | None = None,
        protocol: str = "consumer",
        instance: str | None = None,
        max_poll_ms: int = 20_000,
        config: dict[str, Any] | None = None,
        **habits: object,
    ) -> Member:
        """Start a member with additional settings of librdkafka and `habits` for `member.py`."""
        settings: dict[str, Any] = {
            "bootstrap.servers": self.stage.bootstrap,
            "client.id": name,
            "group.id": self.name,
            "auto.offset.reset": "earliest",
            "auto.commit.interval.ms": 1000,
            "topic.metadata.refresh.interval.ms": 2_000,
            "group.protocol": protocol,
            "max.poll.interval.ms": max_poll_ms,
        }
        if instance is not None:
            settings["group.instance.id"] = instance
        if protocol == "classic":
            settings["session.timeout.ms"] = 6_000
        self.tell("start", member=name, protocol=protocol, instance=instance)
        subscribed = ",".join(topics or [self.name])
        return self._member(
            name, ["member", name, json.dumps(settings | (config or {})), subscribed, json.dumps(habits)]
        )

    def pod(self, name: str, host: str, *, client_id: str | None = None, **more: object) -> Member:
        """Start a classic kafka-python consumer on its own host, with options of `pod.py`."""
        options = {
            "name": name,
            "host": host,
            "client_id": client_id or name,
            "bootstrap": self.stage.bootstrap,
            "group": self.name,
            "topics": [self.name],
            **more,
        }
        self.tell("start", **{"member": name, "host": host, **more})
        return self._member(name, ["pod", json.dumps(options)])

    def batches(self, name: str, *, batch_s: float) -> Member:
        """Start an aiokafka consumer that commits after batches of this many seconds."""
        options = {
            "name": name, "batch_s": batch_s, "bootstrap": self.stage.bootstrap, "group": self.name, "topic": self.name
        }  # fmt: skip
        self.tell("start", member=name, batch_s=batch_s)
        return self._member(name, ["batcher", json.dumps(options)])

    def shares(self, name: str, *, most: int = 50, **habits: object) -> Member:
        """Start a share group member that polls at most `most` records, with `habits` for `sharer.py`."""
        settings = {
            "bootstrap.servers": self.stage.bootstrap,
            "client.id": name,
            "group.id": self.name,
            "share.acknowledgement.mode": "explicit",
            "max.poll.records": most,
            "fetch.wait.max.ms": 100,
        }
        self.tell("start", member=name, **habits)
        return self._member(name, ["sharer", name, json.dumps(settings), self.name, json.dumps(habits)])

    def streams(self, name: str, *, home: str = "", pause_ms: int = 0, stores: tuple[str, ...] = ("counts",)) -> Member:
        """Start a Kafka Streams process, which keeps its state in `home` over restarts."""
        options = {
            "bootstrap": self.stage.bootstrap, "group": self.name, "name": name, "topic": self.name,
            "home": home or name, "pause_ms": pause_ms, "stores": stores,
        }  # fmt: skip
        self.tell("start", member=name, home=home or name, stores=stores)
        return self._member(name, ["streamer", json.dumps(options)])

    def _member(self, name: str, command: list[str]) -> Member:
        member = Member(self, name, command)
        self.members.append(member)
        return member

    def all_stop(self) -> None:
        """Stop all members one after the other."""
        for member in self.members:
            if member.is_there:
                member.stop()
                time.sleep(0.5)


class Stage:
    """A cluster; topics are written to from their creation on."""

    def __init__(self, bootstrap: str, truth: Truth, log_ends: TextIO) -> None:
        self.bootstrap, self.truth = bootstrap, truth
        self.admin = AdminClient({"bootstrap.servers": bootstrap, "topic.metadata.refresh.interval.ms": 1_000})
        self.groups: list[Group] = []
        self._topics: dict[str, int] = {}
        self._rates: dict[str, tuple[float, ...]] = {}
        self._watched: dict[str, int] = {}
        self._keyed: set[str] = set()
        self._last_key = 0
        self._log_ends = log_ends
        self._over = threading.Event()
        self._threads = [threading.Thread(target=each, daemon=True) for each in (self._produce, self._sample)]
        for thread in self._threads:
            thread.start()

    def group(self, name: str, *, partitions: int = PARTITIONS) -> Group:
        """Create a group with its own topic."""
        self.topic(name, partitions)
        group = Group(self, name)
        self.groups.append(group)
        return group

    def share_group(self, name: str, *, partitions: int = PARTITIONS) -> Group:
        """Create a share group that starts with the first record of its topic."""
        self.group_config(name, "share.auto.offset.reset", "earliest")
        return self.group(name, partitions=partitions)

    def streams_group(self, name: str, *, partitions: int = PARTITIONS, standbys: int = 0) -> Group:
        """Create a streams group, whose topic has records with unique keys."""
        self._keyed.add(name)
        self.group_config(name, "streams.num.standby.replicas", str(standbys))
        return self.group(name, partitions=partitions)

    def group_config(self, group_id: str, name: str, value: str) -> None:
        entry = ConfigEntry(name, value, incremental_operation=AlterConfigOpType.SET)
        resource = ConfigResource(ResourceType.GROUP, group_id, incremental_configs=[entry])
        self.admin.incremental_alter_configs([resource])[resource].result(PATIENCE_S)

    def watch(self, name: str, partitions: int = PARTITIONS) -> None:
        self._watched[name] = partitions

    def delete_group(self, group_id: str) -> None:
        self.admin.delete_consumer_groups([group_id])[group_id].result(PATIENCE_S)

    def topic(self, name: str, partitions: int = PARTITIONS) -> None:
        self.admin.create_topics([NewTopic(name, partitions, 1)])[name].result(PATIENCE_S)
        self._topics[name] = partitions

    def grow(self, name: str, partitions: int) -> None:
        self.admin.create_partitions([NewPartitions(name, partitions)])[name].result(PATIENCE_S)
        self._topics[name] = partitions

    def rate(self, name: str, *each: float) -> None:
        """Set the records per second, in all partitions of a topic together or in each."""
        self._rates[name] = each

    def again(self, name: str, partitions: int = PARTITIONS) -> None:
        """Delete a topic and create it again."""
        del self._topics[name]
        self.admin.delete_topics([name])[name].result(PATIENCE_S)
        while True:
            try:
                self.topic(name, partitions)
                return
            except KafkaException as problem:
                if problem.args[0].code() != KafkaError.TOPIC_ALREADY_EXISTS:
                    raise
                time.sleep(0.5)

    def purge(self, name: str, behind: int) -> None:
        """Delete all records of a topic but the last ones of each partition."""
        places = [TopicPartition(name, partition) for partition in range(self._topics[name])]
        ends = self._offsets(places, OffsetSpec.latest())
        self.admin.delete_records(
            [TopicPartition(name, place.partition, max(0, ends[name][place.partition] - behind)) for place in places]
        )

    def transaction(self, name: str) -> Producer:
        """Begin a transaction, with a record in each partition of a topic."""
        producer = Producer(
            {"bootstrap.servers": self.bootstrap, "transactional.id": name, "transaction.timeout.ms": 120_000}
        )
        producer.init_transactions(PATIENCE_S)
        self.in_transaction(producer, name)
        return producer

    def in_transaction(self, producer: Producer, name: str) -> None:
        """Begin another transaction in the same way."""
        producer.begin_transaction()
        for partition in range(self._topics[name]):
            producer.produce(name, b"x", partition=partition)
        producer.flush(PATIENCE_S)

    def ends(self) -> None:
        """Stop all remaining processes and threads."""
        for group in self.groups:
            for member in group.members:
                member.end()
        self._over.set()
        for thread in self._threads:
            thread.join(PATIENCE_S)

    def _produce(self) -> None:
        refresh = {"topic.metadata.refresh.interval.ms": 500}
        producer = Producer({"bootstrap.servers": self.bootstrap, "linger.ms": 50, **refresh})
        due: dict[tuple[str, int], float] = {}
        while not self._over.wait(0.5 / RECORDS_A_SECOND):
            now = time.monotonic()
            for name, partitions in list(self._topics.items()):
                rates = self._rates.get(name, (RECORDS_A_SECOND,))
                for partition in range(partitions):
                    if rate := rates[partition % len(rates)]:
                        at = due.setdefault((name, partition), now)
                        while at <= now:
                            _produce(producer, name, partition, self._key(name))
                            at += 1 / rate
                        due[name, partition] = at
                    else:
                        due.pop((name, partition), None)
            producer.poll(0)
        producer.flush(PATIENCE_S)

    def _key(self, topic: str) -> bytes | None:
        self._last_key += 1
        return str(self._last_key).encode() if topic in self._keyed else None

    def _sample(self) -> None:
        while not self._over.wait(SAMPLE_S):
            topics = self._topics | self._watched
            places = [TopicPartition(name, n) for name, count in topics.items() for n in range(count)]
            if not places:
                continue
            starts = self._offsets(places, OffsetSpec.earliest())
            stable = self._offsets(places, OffsetSpec.latest(), IsolationLevel.READ_COMMITTED)
            ends = self._offsets(places, OffsetSpec.latest())
            now_ms = time.time_ns() // 1_000_000
            for topic, log_end in ends.items():
                row = {
                    "sampled_ms": now_ms,
                    "topic": topic,
                    "log_start": starts.get(topic, {}),
                    "log_end": log_end,
                    "last_stable": stable.get(topic, {}),
                }
                self._log_ends.write(json.dumps(row) + "\n")

    def _offsets(
        self,
        places: list[TopicPartition],
        which: OffsetSpec,
        isolation: IsolationLevel = IsolationLevel.READ_UNCOMMITTED,
    ) -> dict[str, dict[int, int]]:
        wanted = dict.fromkeys(places, which)
        asked = self.admin.list_offsets(wanted, isolation_level=isolation, request_timeout=PATIENCE_S)
        found: dict[str, dict[int, int]] = {}
        for place, answer in asked.items():
            try:
                found.setdefault(place.topic, {})[place.partition] = answer.result(PATIENCE_S).offset
            except KafkaException as problem:  # a new partition, or the broker is away
                print(f"no sample of {place.topic}-{place.partition}: {problem}", file=sys.stderr)
        return found


def _produce(producer: Producer, topic: str, partition: int, key: bytes | None) -> None:
    try:
        producer.produce(topic, b"x", key=key, partition=partition)
    except KafkaException as problem:
        # a new partition, or a topic that is being deleted and created again
        if problem.args[0].code() not in (KafkaError._UNKNOWN_PARTITION, KafkaError._UNKNOWN_TOPIC):
            raise


def play(*stories: Callable[[], None]) -> None:
    """Play all stories concurrently, and raise the first error of one."""
    problems: list[BaseException] = []

    def one(story: Callable[[], None]) -> None:
        try:
            story()
        except BaseException as problem:
            problems.append(problem)

    threads = [threading.Thread(target=one, args=(story,)) for story in stories]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if problems:
        raise problems[0]
