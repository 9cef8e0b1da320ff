"""Cluster in the test's process, for the duration of a `with` block."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from random import SystemRandom
from types import TracebackType
from typing import TYPE_CHECKING, Any, cast

from kohort.base.address import Advertised, show_address
from kohort.base.forking import FORKED, unwatch_forks, watch_forks
from kohort.base.logs import log
from kohort.base.visible import visible
from kohort.broker.cluster.broker_cluster import BrokerCluster
from kohort.broker.cluster.node import Node
from kohort.broker.runtime.listener import Entrances, PlainEntrance
from kohort.broker.runtime.registry import Registry
from kohort.broker.runtime.server import Server
from kohort.broker.settings.broker_settings import PROFILES, Settings
from kohort.control.clock.lab_clock import LabClock
from kohort.control.control_errors import ControlError, unknown
from kohort.control.faults.appends import Appends
from kohort.control.faults.table import Faults
from kohort.control.gates.gates import Gates
from kohort.control.groups.groups_by_id import group_of, share_group, streams_group
from kohort.control.groups.lab_group import Group
from kohort.control.lab_topics import Topics
from kohort.control.laboratory import Laboratory
from kohort.control.numbers import as_setting, whole
from kohort.control.oracle.safety import Budget
from kohort.control.resetting import Leftovers, reset
from kohort.control.suggesting import report_attribute, suggest_names
from kohort.testing.cluster_clock import Clock
from kohort.testing.left_held import report
from kohort.testing.secured import ADDRESSES_NAME, LIBRARIES, PROTOCOLS, Secured

if TYPE_CHECKING:
    from kohort.control.groups.lab_share_group import ShareGroup
    from kohort.control.groups.lab_streams_group import StreamsGroup
    from kohort.control.lab_acls import Acls
    from kohort.testing.remote import InThread
    from kohort.testing.sync import SyncCluster

LONGEST_SEED = 1 << 32
DEFAULT_BUDGET = Budget()


@suggest_names
class Cluster:
    """One or several Kafka brokers on free ports of this machine, with groups under the test's control.

    Use it with `async with` in the event loop of the test, or with `with`, which runs it in a thread and offers the
    same methods without `await`. Nothing outlives the block.
    """

    seed: int
    """Seed of all random choices; the same seed repeats them."""
    clock: Clock
    """The brokers' clock."""
    topics: Topics
    """Topics and their records, without a client."""
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
        """Set up a cluster without starting it.

        Args:
            profile: `test` avoids waiting for absent members; `faithful` has Kafka's defaults.
            as_kafka: Kafka release whose API versions, defaults and rules apply, as in "2.8"; `kohort serve --help`
                lists them.
            seed: Seed of all random choices, including ids; the default is random and available as `self.seed`.
            settings: Broker settings by Kafka's names, as in `{"group.max.size": 2}`.
            safety: What `violations` checks; None disables the checks.
            security: SSL, SASL_PLAINTEXT or SASL_SSL, with a temporary authority and the users admin, alice and bob;
                `client_config` returns their settings. None means plaintext without logins.

        Raises:
            SettingError: A setting does not exist; the text suggests the nearest name.
        """
        if profile not in PROFILES:
            raise unknown("profile", profile, PROFILES)
        if safety is not None and not isinstance(safety, Budget):
            raise ControlError(f"safety must be a Budget, or None to disable the checks; got {safety!r}")
        nodes = whole(nodes, "nodes", 1)
        settings_by_name = {name: as_setting(value) for name, value in (settings or {}).items()}
        if as_kafka is not None:
            settings_by_name["kohort.as.kafka"] = as_kafka
        if security is not None and security not in PROTOCOLS:
            raise unknown("security", security, PROTOCOLS)
        if security is not None and "listeners" in settings_by_name:
            raise ControlError("security and the setting listeners exclude each other")
        self._settings = Settings(settings_by_name, profile, nodes)
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
                raise RuntimeError("the cluster has not started; use it within `async with Cluster() as kafka:`")
            return report_attribute(self, name)

    async def start(self) -> None:
        """Start the brokers, as `async with` does. Raise RuntimeError if the cluster is running."""
        if self._runs:
            raise RuntimeError("the cluster is running already; create another one, or leave its block first")
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
        """Return the effective settings and the listeners."""
        settings, users = self._settings, []
        if self._security is not None:
            self._secured = secured = Secured(self._security)
            secured_settings = secured.settings(
                show_address(self._host, 0), settings.explicit.get("authorizer.class.name", "")
            )
            settings, users = (
                Settings(secured_settings | settings.explicit, settings.profile, self._nodes),
                secured.new_users,
            )
        if not settings.listeners:
            return settings, PlainEntrance(self._host, 0, Advertised())
        from kohort.broker.runtime.securing import Securing

        return settings, Securing(settings, self._nodes, (clock.epoch_ms + clock.now_ms()) / 1_000, users)

    def _let_go(self) -> None:
        if self._secured is not None:
            self._secured.close()

    async def stop(self) -> list[str]:
        """Remove rules and gates and close all connections, as the end of `async with` does.

        Returns:
            A line for each gate that was still held.
        """
        self.laboratory.faults.clear()
        self.laboratory.appends.clear()
        held_gates = self.laboratory.gates.open_all()
        self.laboratory.waiters.close("the cluster has ended; call it before its block or its test ends")
        self.laboratory.server.stop()
        self._runs = False
        unwatch_forks(self)
        self._let_go()
        await asyncio.sleep(0)  # lets the loop close the closed transports
        return held_gates

    def on_forked(self) -> tuple[()]:
        """Make all calls fail in a forked child, whose server closes the sockets."""
        self._is_forked = True
        self.laboratory.waiters.close(FORKED)
        for name in ("clock", "laboratory", "topics"):
            del self.__dict__[name]
        return ()

    async def reset(self, data: bool = False) -> Leftovers:
        """Remove all rules, open all gates, and let the clock run like the machine's, for the next test.

        Args:
            data: Also delete all topics, and all groups without members.

        Returns:
            Gates that still held requests, safety violations, and groups that were not deleted.
        """
        return await reset(self.laboratory, data)

    def timeline(self, since_us: int = 0) -> str:
        """Return the events of all groups as text, optionally only since a time of the cluster's clock."""
        happened = self.laboratory.recorder.groups_since(since_us)
        existing = [group for group in self.groups if group.id in happened or not since_us]
        deleted = [
            group_of(self.laboratory, group_id) for group_id in sorted(happened - {group.id for group in self.groups})
        ]
        return "\n".join(group.timeline(since_us) for group in (*existing, *deleted)) or "no groups"

    @property
    def violations(self) -> list[str]:
        """Violations of safety properties, as sentences; see `kohort.control.oracle.safety`."""
        safety = self.laboratory.safety
        return list(safety.violations) if safety is not None else []

    # Nodes

    async def stop_node(self, node: int) -> None:
        """Stop one node: its port is closed, and other nodes become leaders and coordinators if possible."""
        stopped_node = self._node(node)
        if not stopped_node.running:
            raise ValueError(f"node {node} is stopped already")
        self.laboratory.server.stop_node(stopped_node)
        await asyncio.sleep(0)

    async def start_node(self, node: int) -> None:
        """Start a stopped node, on the same port."""
        started_node = self._node(node)
        if started_node.running:
            raise ValueError(f"node {node} is running already")
        await self.laboratory.server.start_node(started_node)

    def _node(self, node_id: int) -> Node:
        node = self.laboratory.cluster.node(node_id)
        if node is None:
            raise ValueError(f"node {node_id} does not exist; the nodes are {self.nodes}")
        return node

    # Contents

    @property
    def bootstrap(self) -> str:
        """Value of `bootstrap.servers`: the addresses of all nodes, separated by commas."""
        return ",".join(show_address(self._host, node.port) for node in self.laboratory.cluster.nodes)

    def client_config(
        self, user: str = "alice", *, library: str = "confluent-kafka", mechanism: str = "SCRAM-SHA-512"
    ) -> dict[str, Any]:
        """Return the settings that a client needs to connect as `user`.

        Args:
            user: admin, alice or bob, whose password is `alice-secret` and so on.
            library: aiokafka, confluent-kafka, java, kafka-python or librdkafka; determines the names of the settings.
            mechanism: PLAIN, SCRAM-SHA-256, SCRAM-SHA-512 or OAUTHBEARER, if clients log in. Without `security` the
                result only has the addresses.
        """
        if library not in LIBRARIES:
            raise unknown("library", library, LIBRARIES)
        if self._secured is None:
            return {ADDRESSES_NAME[library]: self.bootstrap}
        return self._secured.client_config(self.bootstrap, user, library, mechanism)

    @property
    def id(self) -> str:
        """Cluster id as clients receive it."""
        return self.laboratory.cluster.cluster_id

    @property
    def nodes(self) -> list[int]:
        """Ids of the brokers."""
        return [node.id for node in self.laboratory.cluster.nodes]

    @property
    def faults(self) -> Faults:
        """Rules that change requests and responses."""
        return self.laboratory.faults

    @property
    def acls(self) -> Acls:
        """ACLs of a cluster with an authorizer."""
        return self.laboratory.acls

    @property
    def appends(self) -> Appends:
        """Rules for coordinators' writes: fail, delay or hold them."""
        return self.laboratory.appends

    @property
    def gates(self) -> Gates:
        """Gates at which requests wait for the test."""
        return self.laboratory.gates

    def group(self, group_id: str) -> Group:
        """Return a classic group or a consumer group, which need not exist."""
        return Group(self.laboratory, group_id)

    def share_group(self, group_id: str) -> ShareGroup:
        """Return a share group (KIP-932), which need not exist."""
        return share_group(self.laboratory, group_id)

    def streams_group(self, group_id: str) -> StreamsGroup:
        """Return a streams group (KIP-1071), which need not exist."""
        return streams_group(self.laboratory, group_id)

    @property
    def groups(self) -> list[Group | ShareGroup | StreamsGroup]:
        """All existing groups of every type, sorted by id."""
        groups = (group_of(self.laboratory, group_id) for group_id in self.laboratory.group_ids())
        return cast("list[Group | ShareGroup | StreamsGroup]", list(groups))

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
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        report(await self.stop())

    def __enter__(self) -> SyncCluster:
        """Start the cluster in a thread; its methods need no `await` (`kohort.testing.remote`)."""
        from kohort.testing.remote import InThread

        runner = InThread(self)
        entered: SyncCluster = runner.start()
        self._in_thread = runner
        return entered

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._in_thread is not None, "it was entered"
        report(self._in_thread.stop())
