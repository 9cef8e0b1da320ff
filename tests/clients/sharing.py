"""Share consumers in processes of their own, as a test talks of them: ada holds records, bob releases, eve crashes."""

from __future__ import annotations

import json
import sys
import threading
import time
from collections import defaultdict
from collections.abc import Callable
from functools import cache
from uuid import uuid4

from confluent_kafka import Producer
from confluent_kafka.admin import (
    AdminClient,
    AlterConfigOpType,
    ConfigEntry,
    ConfigResource,
    NewTopic,
    ResourceType,
)

from tests.clients.libraries import HERE, fresh_folder, run
from tests.clients.ordered_process import PATIENCE_S, OrderedProcess

JAVA, FRANZ_GO, CONFLUENT = "kafka-clients 4.4.0", "franz-go", "confluent-kafka"
LIBRARIES = (JAVA, FRANZ_GO, CONFLUENT)

Place = tuple[int, int]  # partition and offset

# acknowledgement of a record by its delivery count: accept, release, reject, renew; empty: hold it
Decide = Callable[[Place, int], str]


def accept(_: Place, __: int) -> str:
    """Accept all records."""
    return "accept"


def hold(_: Place, __: int) -> str:
    """Hold all records, like a busy member."""
    return ""


@cache
def command_of(library: str) -> tuple[str, ...]:
    """Return the command of a worker, built if necessary.

    Raises:
        Missing: It cannot run here.
    """
    if library == CONFLUENT:
        return sys.executable, "-m", "tests.clients.share_worker"
    if library == FRANZ_GO:
        built = fresh_folder("franz_go", HERE / "franz_go") / "shareworker"
        if not built.exists():
            run(["go", "build", "-o", str(built), "./shareworker"], HERE / "franz_go")
        return (str(built),)
    folder = fresh_folder("java-4.4.0", HERE / "java")
    jars = folder / "jars"
    if not (folder / "shares").exists():
        fetched = f"-DoutputDirectory={jars}", "-Dkafka.version=4.4.0"
        run(["mvn", "-q", "-B", "dependency:copy-dependencies", *fetched], HERE / "java")
        run(["javac", "-nowarn", "-cp", f"{jars}/*", "-d", str(folder), "ShareWorker.java"], HERE / "java")
        (folder / "shares").touch()
    return "java", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-cp", f"{folder}:{jars}/*", "ShareWorker"


class Sharer(OrderedProcess):
    """One member of a share group, and everything it has got."""

    def __init__(self, arguments: tuple[str, ...], decide: Decide | None, changed: threading.Condition) -> None:
        """Start a member.

        Args:
            decide: In explicit mode, the acknowledgement of a record; None accepts all by the next poll.
        """
        super().__init__(arguments, changed)
        self.got: list[tuple[Place, int]] = []  # partition, offset and delivery count of all deliveries, in order
        self.problems: list[str] = []  # errors of acknowledgements
        self.is_idle = True  # whether its last poll returned no records, so that earlier ones are acknowledged
        self._decide = decide
        self._listener.start()

    def says(self, how: str, *places: Place) -> None:
        """Acknowledge held records."""
        self.order(" ".join(f"{partition},{offset},{how}" for partition, offset in places))

    def heard(self, line: str) -> None:
        self._note(*json.loads(line))

    def _note(self, what: str, told: object = None) -> None:
        if what == "Got":
            assert isinstance(told, list)
            came = [((partition, offset), count) for partition, offset, count in told]
            self.got += came
            self.is_idle = False
            if self._decide is not None:
                decided = defaultdict(list)
                for place, count in came:
                    decided[self._decide(place, count)].append(place)
                if line := " ".join(f"{p},{o},{how}" for how, places in decided.items() if how for p, o in places):
                    self.order(line)
        elif what == "Idle":
            self.is_idle = True
        elif what == "Acknowledged" and told:
            self.problems.append(str(told))
        elif what == "Closed":
            self.closed = True


class Sharing:
    """A share group on a topic of its own, which it reads from the start, with its members."""

    def __init__(self, bootstrap: str, partitions: int = 1, copies: int = 1, **configs: str) -> None:
        """Create the topic.

        Args:
            configs: Settings of the group, with underscores for dots, such as `share_delivery_count_limit`.
        """
        self.bootstrap = bootstrap
        self.topic = f"topic-{uuid4().hex[:8]}"
        self.group = f"group-{uuid4().hex[:8]}"
        self.members: list[Sharer] = []
        self._changed = threading.Condition()
        self._next = [0] * partitions
        self._producer = Producer({"bootstrap.servers": bootstrap, "linger.ms": 0})
        admin = AdminClient({"bootstrap.servers": bootstrap})
        admin.create_topics([NewTopic(self.topic, partitions, copies)])[self.topic].result(PATIENCE_S)
        settings = {"share.auto.offset.reset": "earliest"} | {n.replace("_", "."): v for n, v in configs.items()}
        entries = [
            ConfigEntry(name, value, incremental_operation=AlterConfigOpType.SET) for name, value in settings.items()
        ]
        resource = ConfigResource(ResourceType.GROUP, self.group, incremental_configs=entries)
        admin.incremental_alter_configs([resource])[resource].result(PATIENCE_S)

    def join(self, name: str, library: str, decide: Decide | None = None, *, most: int = 500) -> Sharer:
        """Start a member. `decide` is that of `Sharer`; `most` is the maximum number of records per poll."""
        mode = "implicit" if decide is None else "explicit"
        arguments = (*command_of(library), self.bootstrap, self.topic, self.group, name, mode, str(most))
        member = Sharer(arguments, decide, self._changed)
        self.members.append(member)
        return member

    def produce(self, count: int, *, one_by_one: bool = False) -> set[Place]:
        """Send records to each partition, and return their positions. `one_by_one`: each in its own batch."""
        sent = {
            (partition, offset) for partition, first in enumerate(self._next) for offset in range(first, first + count)
        }
        for partition, offset in sorted(sent):
            self._producer.produce(self.topic, f"{partition}:{offset}".encode(), partition=partition)
            if one_by_one:
                assert self._producer.flush(PATIENCE_S) == 0
        assert self._producer.flush(PATIENCE_S) == 0
        self._next = [first + count for first in self._next]
        return sent

    def counts(self, place: Place) -> list[int]:
        """Return the delivery counts of a record, for all members."""
        return [count for member in self.members for where, count in member.got if where == place]

    @property
    def got(self) -> set[Place]:
        """Return all deliveries to all members."""
        return {place for member in self.members for place, _ in member.got}

    def until(self, condition: Callable[[], bool], what: str) -> None:
        """Wait for a condition."""
        deadline = time.monotonic() + PATIENCE_S
        with self._changed:
            while not condition():
                left_s = deadline - time.monotonic()
                assert left_s > 0, (
                    f"{what}: not within {PATIENCE_S} s; {[(len(m.got), m.problems) for m in self.members]}"
                )
                self._changed.wait(min(left_s, 1.0))

    def close(self) -> None:
        for member in self.members:
            if member.running:
                member.crash()
