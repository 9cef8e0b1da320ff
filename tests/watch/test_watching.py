"""`kohort watch` against kohort, with real members, over real sockets."""

from __future__ import annotations

import asyncio
import os
import pty
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest
from aiokafka import AIOKafkaConsumer
from confluent_kafka import Consumer as ConfluentConsumer
from confluent_kafka import ShareConsumer
from kafka import KafkaConsumer

from kohort.cli.watch.client import BrokerError
from kohort.cli.watch.looking import WatchedCluster
from kohort.cli.watch.snapshot import SeenGroup, SeenShare
from kohort.testing import Cluster
from tests.clients.ordered_process import PATIENCE_S
from tests.watch.seen_values import seen_group

pytestmark = [pytest.mark.clients, pytest.mark.timeout(180)]

WATCH = [str(Path(sys.executable).parent / "kohort"), "watch"]


def consumer(kafka: Cluster, name: str) -> AIOKafkaConsumer:
    return AIOKafkaConsumer(
        "orders",
        bootstrap_servers=kafka.bootstrap,
        group_id="billing",
        client_id=name,
        auto_offset_reset="earliest",
        enable_auto_commit=False,
        heartbeat_interval_ms=50,
    )


async def test_members_owners_and_lag() -> None:
    async with Cluster(nodes=3) as kafka:
        kafka.topics.create("orders", partitions=4)
        for partition in range(4):
            kafka.topics.append("orders", *"abc", partition=partition)
        ada, bob = consumer(kafka, "ada"), consumer(kafka, "bob")
        watched = WatchedCluster(kafka.bootstrap, "bil*")
        await ada.start()
        await bob.start()
        try:
            await kafka.group("billing").wait_stable(members=2)
            (partition,) = list(await ada.getmany(timeout_ms=60_000, max_records=2))
            await ada.commit()
            snapshot = await watched.look(7.0)
        finally:
            await bob.stop()
            await ada.stop()
        assert (snapshot.at, snapshot.brokers, snapshot.problems) == (7.0, 3, ())
        (group,) = snapshot.groups
        assert (group.group_id, group.state, group.coordinator) == (
            "billing",
            "Stable",
            kafka.group("billing").coordinator,
        )
        assert group.is_complete
        assert sorted(str(member) for member in group.members) == ["ada", "bob"]
        assert sorted(group.owners) == [("orders", number) for number in range(4)]
        assert group.lags[partition.topic, partition.partition] == 1
        assert (await WatchedCluster(kafka.bootstrap, "other*").look(8.0)).groups == ()
        assert (await watched.look(9.0)).groups == (seen_group("billing", "Empty", group.coordinator, lags=group.lags),)
        watched.close()


def test_share_group_with_members_and_lag() -> None:
    with Cluster() as kafka:
        kafka.topics.create("orders")
        queue = kafka.share_group("queue")
        ada = ShareConsumer({"bootstrap.servers": kafka.bootstrap, "group.id": "queue", "client.id": "ada"})
        ada.subscribe(["orders"])
        while not (queue.partitions and queue.partitions[0].progress == "active"):
            ada.poll(timeout=0.1)
        kafka.topics.append("orders", "a", "b")
        while queue.start_offset("orders") != 2:
            ada.poll(timeout=0.1)  # accepts what the last one brought
        kafka.topics.append("orders", "c")
        snapshot = asyncio.run(WatchedCluster(kafka.bootstrap).look(7.0))
        ada.close()
    (group,) = snapshot.groups
    assert (snapshot.problems, group.type, group.state, group.protocol) == ((), "share", "Stable", "simple")
    assert [(str(each), each.owned) for each in group.members] == [("ada", (("orders", 0),))]
    # The start moves in what is written with the next change (share-groups §14); the lag knows of both records.
    assert (group.shares, group.lag) == ((SeenShare(("orders", 0), 0, 1),), 1)


async def test_consumer_group_with_both_protocols() -> None:
    async with Cluster() as kafka:
        kafka.topics.create("orders", partitions=4)
        watched = WatchedCluster(kafka.bootstrap)
        ada = consumer(kafka, "ada")
        await ada.start()
        bob = ConfluentConsumer(
            {
                "bootstrap.servers": kafka.bootstrap,
                "group.id": "billing",
                "client.id": "bob",
                "group.protocol": "consumer",
            }
        )
        try:
            bob.subscribe(["orders"])
            await until(
                watched, lambda group: group.state == "Stable" and len(set(group.owners.values())) == 2, bob, ada
            )
            (group,) = (await watched.look(7.0)).groups
        finally:
            bob.close()
            await ada.stop()
            watched.close()
        assert (group.type, group.protocol, group.epoch) == ("consumer", "uniform", group.target_epoch)
        assert group.is_complete
        seen = {str(member): (member.speaks, member.epoch, member.revoking, member.missing) for member in group.members}
        assert seen == {"ada": ("classic", group.epoch, {}, ()), "bob": ("consumer", group.epoch, {}, ())}
        assert sorted(group.owners) == [("orders", number) for number in range(4)]


async def until(
    watched: WatchedCluster, holds: Callable[[SeenGroup], bool], bob: ConfluentConsumer, ada: AIOKafkaConsumer
) -> None:
    """Both poll until the only group is so."""
    while True:
        await asyncio.to_thread(bob.poll, 0.05)
        await ada.getmany(timeout_ms=50)
        groups = (await watched.look(0.0)).groups
        if groups and groups[0].members and holds(groups[0]):
            return


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([*WATCH, *arguments], capture_output=True, text=True, timeout=120, check=False)


def test_one_picture_and_the_end() -> None:
    with Cluster() as kafka:
        bootstrap = kafka.bootstrap
        told = run(bootstrap, "--once")
    assert (told.returncode, told.stderr) == (0, "")
    assert f"kohort watch {bootstrap}  1 broker, 0 groups" in told.stdout
    assert "no group yet" in told.stdout


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_plain_output_ends_on_signal(number: signal.Signals) -> None:
    with Cluster() as kafka:
        command = [*WATCH, kafka.bootstrap, "--every", "0.2"]
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as watching:
            assert watching.stdout is not None
            assert watching.stderr is not None
            assert [watching.stdout.readline() for _ in range(2)][1] == "no group yet\n"
            kafka.topics.create("orders")
            member = KafkaConsumer("orders", bootstrap_servers=kafka.bootstrap, group_id="billing")
            while not kafka.group("billing").members:
                member.poll(2_000)  # a short one may end while it rejoins for newer metadata, and kafka-python hangs
            assert "  billing: new, " in watching.stdout.readline()
            os.kill(watching.pid, number)
            assert watching.wait(60) == 0
            assert watching.stderr.read() == ""
            member.close()


def test_live_view_survives_broker_outage() -> None:
    with Cluster() as kafka:
        bootstrap = kafka.bootstrap
        terminal = Terminal(bootstrap, "--every", "0.2")
        terminal.until("no group yet")
    terminal.until("retrying; showing the previous state")
    terminal.type(b"\x03")
    assert terminal.end() == 0
    assert "Traceback" not in terminal.shown


def test_q_quits_and_restores_terminal() -> None:
    with Cluster() as kafka:
        terminal = Terminal(kafka.bootstrap, "--every", "60")
        terminal.until("no group yet")
        terminal.type(b"xq")
        assert terminal.end() == 0
    assert "Traceback" not in terminal.shown


def test_returning_broker_is_watched_again() -> None:
    with Cluster(nodes=2) as kafka:
        bootstrap = kafka.bootstrap.split(",")[0]
        command = [*WATCH, bootstrap, "--every", "0.2"]
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as watching:
            assert watching.stdout is not None
            while "no group yet" not in watching.stdout.readline():
                pass
            kafka.stop_node(1)
            kafka.stop_node(2)
            while "; since " not in (line := watching.stdout.readline()):
                assert line
            assert line.startswith("! 127.0.0.1:")
            kafka.start_node(1)
            while "responds again, after" not in watching.stdout.readline():
                pass
            os.kill(watching.pid, signal.SIGTERM)
            assert watching.wait(60) == 0


def test_unmatched_pattern_is_named() -> None:
    with Cluster() as kafka:
        assert "no group matches 'nope*'" in run(kafka.bootstrap, "--group", "nope*", "--once").stdout


class Terminal:
    """A terminal that `kohort watch` runs in."""

    def __init__(self, *arguments: str) -> None:
        self.shown = ""
        self._pid, self._file = pty.fork()
        if self._pid == 0:
            os.execve(WATCH[0], [*WATCH, *arguments], os.environ | {"TERM": "xterm", "COLUMNS": "200", "LINES": "24"})

    def until(self, text: str) -> None:
        deadline_s = time.monotonic() + PATIENCE_S
        while text not in self.shown:
            assert time.monotonic() < deadline_s, f"{text!r} was not shown: {self.shown[-2_000:]}"
            self._read()

    def type(self, keys: bytes) -> None:
        os.write(self._file, keys)

    def end(self) -> int:
        with suppress(OSError):  # how a terminal ends on Linux
            while True:
                self._read()
        os.close(self._file)
        return os.waitstatus_to_exitcode(os.waitpid(self._pid, 0)[1])

    def _read(self) -> None:
        self.shown += os.read(self._file, 65_536).decode(errors="replace")


def test_nobody_there_is_one_sentence() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        address = f"127.0.0.1:{taken.getsockname()[1]}"
    told = run(address, "--once")
    assert (told.returncode, told.stderr) == (
        1,
        f"kohort: {address}: nothing listens there; is this the broker's address, and does it run?\n",
    )


def test_invalid_address_prints_one_line() -> None:
    told = run("nowhere")
    assert told.returncode == 2
    assert told.stderr.startswith("kohort: nowhere is not an address")


@pytest.mark.parametrize(
    ("answer", "sentence"),
    [
        (b"HTTP/1.1 400 Bad Request\r\n\r\n", "speaks HTTP, it is not a Kafka broker"),
        (b"", "the broker closed the connection"),
        (b"\0\0\0\x06\0\0\0\x01\0\0", "cannot be read"),
    ],
)
async def test_invalid_broker_is_rejected(answer: bytes, sentence: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        answering = threading.Thread(target=_answer_once(server, answer))
        answering.start()
        with pytest.raises(BrokerError, match=sentence):
            await WatchedCluster(f"127.0.0.1:{server.getsockname()[1]}").look(0)
        answering.join()


def _answer_once(server: socket.socket, answer: bytes) -> Callable[[], None]:
    def serve() -> None:
        connection, _ = server.accept()
        with connection:
            connection.recv(1_000)
            connection.sendall(answer)

    return serve
