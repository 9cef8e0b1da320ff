"""A cluster in this process, for as long as a `with` block lasts."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from random import SystemRandom
from types import TracebackType
from typing import TYPE_CHECKING, Any

from kohort.broker.address import Advertised, show_address
from kohort.broker.cluster.broker_cluster import BrokerCluster
from kohort.broker.cluster.node import Node
from kohort.broker.forking import FORKED, unwatch_forks, watch_forks
from kohort.broker.logs import log
from kohort.broker.runtime.listener import Entrances, PlainEntrance
from kohort.broker.runtime.registry import Registry
from kohort.broker.runtime.server import Server
from kohort.broker.settings.broker_settings import PROFILES, Settings
from kohort.control.appends import Appends
from kohort.control.control_errors import ControlError, unknown
from kohort.control.faults.table import Faults
from kohort.control.gates import Gates
from kohort.control.groups_by_id import group_of
from kohort.control.lab_clock import LabClock
from kohort.control.lab_group import Group
from kohort.control.lab_topics import Topics
from kohort.control.laboratory import Laboratory
from kohort.control.numbers import as_setting, whole
from kohort.control.safety import Budget
from kohort.protocol.visible import visible
from kohort.testing.cluster_clock import Clock
from kohort.testing.left_held import report
from kohort.testing.secured import ADDRESSES_NAME, LIBRARIES, PROTOCOLS, Secured

if TYPE_CHECKING:
    from kohort.control.lab_acls import Acls
    from kohort.control.lab_share_group import ShareGroup
    from kohort.control.lab_streams_group import StreamsGroup
    from kohort.testing.remote import InThread
    from kohort.testing.sync import SyncCluster

LONGEST_SEED = 1 << 32
DEFAULT_BUDGET = Budget()


class Cluster:
    """One or several Kafka brokers that listen on free ports of this machine, with groups under the test's control.

    Use it with `async with`, in the event loop that the test runs in, or with `with`, which runs it in a thread and
    hands out the same words without `await`. Nothing outlives the block.
    """

    seed: int
    """The seed of everything random; the same seed repeats it."""
    clock: Clock
    """The brokers' clock."""
    topics: Topics
    """Topics and records without a client."""
    laboratory: Laboratory

    def __init__(
        self,
        nodes: int = 1,
        *,
        profile: str = "test",
        as_kafka: str | None = None,
        seed: int | None = None,
        settings: Mapping[str, object] | None = None,
        safety: Budget | None = DEFAULT_BUDGET,
        host: str = "127.0.0.1",
        security: str | None = None,
    ) -> None:
        """`profile`: `test` waits for nobody who is not there; `faithful` is Kafka 4.3 as it comes.

        `as_kafka`: the release of Kafka whose API versions and defaults clients see, as in "2.8"; `kohort serve --help`
        lists them. `seed`: of all that is left to chance, ids included; without it one is drawn, and `self.seed` says
        which.
        `settings`: broker settings by Kafka's names, as in `{"group.max.size": 2}`. Raises SettingError for one that
        does not exist, naming the nearest. `safety`: what `violations` looks for; None: nothing.
        `security`: SSL, SASL_PLAINTEXT or SASL_SSL, with a throw-away authority and the users admin, alice and bob;
        `client_config` says what clients need. None: plain text, and nobody logs in.
        """
        if profile not in PROFILES:
            raise unknown("profile", profile, PROFILES)
        if safety is not None and not isinstance(safety, Budget):
            raise ControlError(f"safety is a Budget, or None, which watches nothing; not {safety!r}")
        nodes = whole(nodes, "nodes", 1)
        given = {name: as_setting(value) for name, value in (settings or {}).items()}
        if as_kafka is not None:
            given["kohort.as.kafka"] = as_kafka
        if security is not None and security not in PROTOCOLS:
            raise unknown("security", security, PROTOCOLS)
        if security is not None and "listeners" in given:
            raise ControlError("security makes the listener, and so does the setting listeners; give one of them")
        self._settings = Settings(given, profile, nodes)
        self._security = security
        self._secured: Secured | None = None
        self._nodes = nodes
        self._host = host
        self._safety = safety
        self.seed = SystemRandom().randrange(LONGEST_SEED) if seed is None else seed
        self._in_thread: InThread | None = None
        self._runs = False
        self._is_forked = False

    if not TYPE_CHECKING:  # which would take any name for one that is there

        def __getattr__(self, name: str) -> object:
            if name in Cluster.__annotations__ and self.__dict__.get("_is_forked"):
                raise RuntimeError(FORKED)
            if name in Cluster.__annotations__:
                raise RuntimeError("the cluster has not started; ask it within `async with Cluster() as kafka:`")
            raise AttributeError(f"a cluster has no {name}")

    async def start(self) -> None:
        """What `async with` does first. Raises RuntimeError if the cluster runs already."""
        if self._runs:
            raise RuntimeError("the cluster runs already; make another one, or leave its block first")
        log.configure(level="warning")
        clock = LabClock()
        try:
            settings, entrances = self._entrances(clock)
            await self._start(clock, settings, entrances)
        except BaseException:
            self._let_go()
            raise
        self._runs = True
        watch_forks(self)

    async def _start(self, clock: LabClock, settings: Settings, entrances: Entrances) -> None:
        cluster = BrokerCluster(settings, clock, self._nodes, seed=self.seed, advertised=entrances.advertised)
        laboratory = Laboratory(cluster, clock)
        server = Server(cluster, Registry(self._settings.kohort_as_kafka), asyncio.get_running_loop())
        laboratory.attach(server)
        laboratory.record()
        if self._safety is not None:
            laboratory.watch_safety(self._safety)
        await server.listen_on(entrances.listeners(cluster))
        cluster.offsets_topic.create(clock.now_ms())
        self.laboratory = laboratory
        self.clock = Clock(laboratory)
        self.topics = laboratory.topics

    def _entrances(self, clock: LabClock) -> tuple[Settings, Entrances]:
        """The settings that count, and where clients come in."""
        settings, users = self._settings, []
        if self._security is not None:
            self._secured = secured = Secured(self._security)
            made = secured.settings(show_address(self._host, 0), settings.given.get("authorizer.class.name", ""))
            settings, users = Settings(made | settings.given, settings.profile, self._nodes), secured.new_users
        if not settings.listeners:
            return settings, PlainEntrance(self._host, 0, Advertised())
        from kohort.broker.runtime.securing import Securing

        return settings, Securing(settings, self._nodes, (clock.epoch_ms + clock.now_ms()) / 1_000, users)

    def _let_go(self) -> None:
        if self._secured is not None:
            self._secured.close()

    async def stop(self) -> list[str]:
        """What `async with` does last: rules and gates are removed, and every connection closed.

        Returns a line for each gate that was still held.
        """
        self.laboratory.faults.clear()
        self.laboratory.appends.clear()
        left = self.laboratory.gates.open_all()
        self.laboratory.waiters.close("the cluster has ended; call it before its block or its test ends")
        self.laboratory.server.stop()
        self._runs = False
        unwatch_forks(self)
        self._let_go()
        await asyncio.sleep(0)  # lets the loop close what was closed
        return left

    def on_forked(self) -> tuple[()]:
        """Let all calls fail in a forked child; its server closes the sockets."""
        self._is_forked = True
        self.laboratory.waiters.close(FORKED)
        for name in ("clock", "laboratory", "topics"):
            del self.__dict__[name]
        return ()

    def timeline(self, since_us: int = 0) -> str:
        """What has happened in all groups, for a person; only since a moment of the cluster's clock, if given."""
        happened = self.laboratory.recorder.groups_since(since_us)
        shown = [group for group in self.groups if group.id in happened or not since_us]
        gone = [group_of(self.laboratory, each) for each in sorted(happened - {group.id for group in self.groups})]
        return "\n".join(group.timeline(since_us) for group in (*shown, *gone)) or "there is no group"

    @property
    def violations(self) -> list[str]:
        """What has happened that must never happen, a sentence each; see `kohort.control.safety`."""
        safety = self.laboratory.safety
        return list(safety.violations) if safety is not None else []

    # Nodes

    async def stop_node(self, node: int) -> None:
        """Stops one node while the others run: its port is closed, and others lead what it led, where they can."""
        found = self._node(node)
        if not found.running:
            raise ValueError(f"node {node} is stopped already")
        self.laboratory.server.stop_node(found)
        await asyncio.sleep(0)

    async def start_node(self, node: int) -> None:
        """Starts a stopped node, on the port it had."""
        found = self._node(node)
        if found.running:
            raise ValueError(f"node {node} runs already")
        await self.laboratory.server.start_node(found)

    def _node(self, node_id: int) -> Node:
        node = self.laboratory.cluster.node(node_id)
        if node is None:
            raise ValueError(f"there is no node {node_id}; there are {self.nodes}")
        return node

    # What there is

    @property
    def bootstrap(self) -> str:
        """What clients call `bootstrap.servers`: every node's address, with commas between."""
        return ",".join(show_address(self._host, node.port) for node in self.laboratory.cluster.nodes)

    def client_config(
        self, user: str = "alice", *, library: str = "confluent-kafka", mechanism: str = "SCRAM-SHA-512"
    ) -> dict[str, Any]:
        """What a client needs to come in as `user`: admin, alice or bob, whose password is `alice-secret` and so on.

        `library`: aiokafka, confluent-kafka, java, kafka-python or librdkafka; the names are that library's own.
        `mechanism`: PLAIN, SCRAM-SHA-256, SCRAM-SHA-512 or OAUTHBEARER, where clients log in. Of a cluster without
        `security` it is the addresses alone.
        """
        if library not in LIBRARIES:
            raise unknown("library", library, LIBRARIES)
        if self._secured is None:
            return {ADDRESSES_NAME[library]: self.bootstrap}
        return self._secured.client_config(self.bootstrap, user, library, mechanism)

    @property
    def id(self) -> str:
        """The cluster id that clients get."""
        return self.laboratory.cluster.cluster_id

    @property
    def nodes(self) -> list[int]:
        """The ids of the brokers."""
        return [node.id for node in self.laboratory.cluster.nodes]

    @property
    def faults(self) -> Faults:
        """Rules that spoil requests."""
        return self.laboratory.faults

    @property
    def acls(self) -> Acls:
        """Who may do what, in a cluster with an authorizer."""
        return self.laboratory.acls

    @property
    def appends(self) -> Appends:
        """What coordinators write, to fail, to be slow, or to be held."""
        return self.laboratory.appends

    @property
    def gates(self) -> Gates:
        """Stops at which requests wait for the test."""
        return self.laboratory.gates

    def group(self, group_id: str) -> Group:
        """A classic group or a consumer group, whether it is there yet or not."""
        return Group(self.laboratory, group_id)

    def share_group(self, group_id: str) -> ShareGroup:
        """A share group (KIP-932), whether it is there yet or not."""
        from kohort.control.lab_share_group import ShareGroup  # not for tests without such groups

        return ShareGroup(self.laboratory, group_id)

    def streams_group(self, group_id: str) -> StreamsGroup:
        """A streams group (KIP-1071), whether it is there yet or not."""
        from kohort.control.lab_streams_group import StreamsGroup  # not for tests without such groups

        return StreamsGroup(self.laboratory, group_id)

    @property
    def groups(self) -> list[Group | ShareGroup | StreamsGroup]:
        """The groups that there are, of every kind, by id."""
        return [group_of(self.laboratory, group_id) for group_id in self.laboratory.group_ids()]

    def __repr__(self) -> str:
        if "laboratory" not in self.__dict__:
            return f"<a cluster of {self._nodes} nodes that has not started>"
        return visible(
            f"<cluster {self.bootstrap}, seed {self.seed}, groups: {', '.join(map(str, self.groups)) or 'none'}>"
        )

    # As a context

    async def __aenter__(self) -> Cluster:
        await self.start()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, problem: BaseException | None, trace: TracebackType | None
    ) -> None:
        report(await self.stop())

    def __enter__(self) -> SyncCluster:
        """A cluster with the same methods, without `await`; see `kohort.testing.remote`."""
        from kohort.testing.remote import InThread

        runner = InThread(self)
        entered: SyncCluster = runner.start()
        self._in_thread = runner
        return entered

    def __exit__(
        self, kind: type[BaseException] | None, problem: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._in_thread is not None, "it was entered"
        report(self._in_thread.stop())
