"""A cluster that never rests, driven by a seed: leaders move, brokers stop and start, and time passes.

Who simulates something on it derives from `RestlessCluster`, names the actions of a step, and keeps account.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from random import Random
from typing import Any, ClassVar

from kohort.broker.cluster.moving import move_leader
from kohort.broker.cluster.node import Node
from tests.support.broker import Broker, Client


class RestlessCluster:
    """Three brokers, connections to them, and what happens to them."""

    MISTAKES: ClassVar[float] = 0.03
    """Probability of a request to the wrong broker."""
    KEPT_RUNNING: ClassVar[int] = 1
    """Number of brokers that always run."""
    PAUSES_MS: ClassVar[tuple[int, ...]] = (1, 1, 5, 300)

    def __init__(self, seed: int, **settings: Any) -> None:
        self.seed = seed
        self.random = Random(seed)
        self.broker = Broker(nodes=3, **settings)
        self.cluster = self.broker.cluster
        self.cluster.offsets_topic.create(0)
        self.transcript: deque[str] = deque(maxlen=60)
        self.steps = 0
        self._clients: dict[int, Client] = {}

    def actions(self) -> dict[Callable[[], None], float]:
        """Return the possible actions with their weights."""
        raise NotImplementedError

    def step(self) -> None:
        self.steps += 1
        actions = self.actions()
        self.random.choices([*actions], [*actions.values()])[0]()

    def say(self, line: str) -> None:
        """Record what happened, for the report of a failure."""
        self.transcript.append(f"{self.cluster.clock.now_ms():>8} {line}")

    @contextmanager
    def told(self) -> Iterator[None]:
        """Return how to reproduce a failure, and what happened before it."""
        try:
            yield
        except Exception:
            print(f"KOHORT_SEED={self.seed}, step {self.steps}; before:", *self.transcript, sep="\n")
            raise

    # the right broker

    def client_of(self, leader: int) -> Client | None:
        """Return a connection to a node, sometimes to a wrong one, or None if it does not run."""
        node = self.cluster.node(leader)
        if self.random.random() < self.MISTAKES:
            node = self.random.choice(self.cluster.nodes)
        return self.connected(node.id - 1) if node is not None and node.running else None

    def connected(self, number: int) -> Client:
        client = self._clients.get(number)
        if client is None or client.closed:
            client = self._clients[number] = self.broker.client(number)
        return client

    def coordinator(self, group: str) -> Client | None:
        """Return a connection to the group's coordinator, as `client_of` does."""
        home = self.cluster.offsets_topic.home_of(group)
        return None if home is None else self.client_of(home)

    # What happens

    def passes(self) -> None:
        self.broker.loop.wait(self.random.choice(self.PAUSES_MS))
        self.broker.loop.run_soon()

    def moves(self) -> None:
        running = [node for node in self.cluster.nodes if node.running]
        topic = self.random.choice(list(self.cluster.topics))
        if running:
            where = topic, self.random.choice(topic.partitions), self.random.choice(running).id
            self.say(f"{topic.name}-{where[1].index} moves to {where[2]}")
            self.broker.server.act(partial(move_leader, self.cluster, *where))

    def stops(self) -> None:
        running = [node for node in self.cluster.nodes if node.running]
        if len(running) > self.KEPT_RUNNING:
            node = self.random.choice(running)
            self.say(f"node {node.id} stops")
            self.broker.server.stop_node(node)

    def starts(self) -> None:
        """Start one of the stopped brokers."""
        stopped = [node for node in self.cluster.nodes if not node.running]
        if stopped:
            self._starts(self.random.choice(stopped))

    def all_run(self) -> None:
        """Start all brokers and stop all mistakes."""
        for node in self.cluster.nodes:
            if not node.running:
                self._starts(node)
        self.random.random = lambda: 1.0  # type: ignore[method-assign]

    def _starts(self, node: Node) -> None:
        self.say(f"node {node.id} starts")
        self.broker.server.node_started(node)
