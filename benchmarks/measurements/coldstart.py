"""Time from the start of a process to the first synced member, and memory of an idle server.

Uses blocking sockets, so that nothing has to be imported meanwhile. Times count from the start of the process.
"""

import socket
import time
from asyncio import sleep
from time import perf_counter

from benchmarks import replies, requests
from benchmarks.bench import Bench
from benchmarks.failures import UnmeasurableError
from benchmarks.server import START_WITHIN_S, Server, command, free_port
from kohort.protocol.wire import INT

KNOCK_INTERVAL_S = 0.0003
NODES = 5
SETTLE_S = 0.7


async def measure(bench: Bench) -> None:
    """Measure one node with a member, then one and several idle nodes, for the memory of a further node."""
    used_kib = await _first_start(bench)
    one_kib, many_kib = await _idle_kib(bench, 1), await _idle_kib(bench, NODES)
    if used_kib is not None and one_kib is not None and many_kib is not None:
        bench.figure("idle memory", "MiB", used_kib / 1024)
        bench.figure("idle memory, never used", "MiB", one_kib / 1024)
        bench.figure("each further node", "MiB", (many_kib - one_kib) / 1024 / (NODES - 1))


async def _idle_kib(bench: Bench, nodes: int) -> float | None:
    async with bench.server("--nodes", str(nodes)) as server:
        await sleep(SETTLE_S)
        return server.rss_kib()


async def _first_start(bench: Bench) -> float | None:
    port = free_port()
    start = perf_counter()
    server = Server(command(["--listen", f"127.0.0.1:{port}", *bench.arguments]), bench.failures)
    try:
        with _knock(server, port, start) as client:
            accepts_s = perf_counter() - start
            client.settimeout(START_WITHIN_S)
            _first_member(client)
            synced_s = perf_counter() - start
        await sleep(SETTLE_S)
        rss_kib = server.rss_kib()
    finally:
        stop_ms = server.stop()
    bench.figure("accepts", "ms", accepts_s * 1000)
    bench.figure("first member synced", "ms", synced_s * 1000)
    bench.figure("stops in", "ms", stop_ms)
    return rss_kib


def _knock(server: Server, port: int, start: float) -> socket.socket:
    while perf_counter() - start < START_WITHIN_S:
        try:
            return socket.create_connection(("127.0.0.1", port), 1)
        except OSError:
            if server.process.poll() is not None:
                break
            time.sleep(KNOCK_INTERVAL_S)
    raise UnmeasurableError(f"the server never accepted a connection: {server.last_words()}")


def _first_member(client: socket.socket) -> None:
    """Join a group and sync. The server is the only node, so it coordinates every group."""
    member_id = ""
    while True:
        reply = replies.joined(_call(client, requests.join_group("cold", member_id, 30_000)))
        if not reply.error_code:
            break
        if reply.error_code == replies.MEMBER_ID_REQUIRED:
            member_id = reply.member_id
        elif reply.error_code not in replies.COORDINATOR_NOT_READY:
            raise UnmeasurableError(f"JoinGroup answered {reply.error_code}")
    plan = {member_id: b"all"}
    payload = _call(client, requests.sync_group("cold", member_id, reply.generation, plan))
    if payload[4:] != replies.synced(b"all"):
        raise UnmeasurableError(f"wrong reply to SyncGroup: {payload.hex()}")


def _call(client: socket.socket, frame: bytes) -> bytes:
    client.sendall(frame)
    return _exactly(client, INT.unpack(_exactly(client, 4))[0])


def _exactly(client: socket.socket, size: int) -> bytes:
    received = b""
    while len(received) < size:
        more = client.recv(size - len(received))
        if not more:
            raise UnmeasurableError("the server hung up")
        received += more
    return received
