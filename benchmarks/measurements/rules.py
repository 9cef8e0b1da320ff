"""Cost of a heartbeat in a laboratory with a thousand rules for other clients, without sockets."""

from collections.abc import Callable
from time import thread_time

from benchmarks.bench import Bench
from kohort.control.clock.lab_clock import LabClock
from kohort.control.faults.matching import MatchOptions
from kohort.control.laboratory import Laboratory
from tests.support.broker import Broker
from tests.support.frames import heartbeat

RULES = 1_000
TIMES, ROUNDS = 50, 7

KINDS: dict[str, Callable[[int], MatchOptions]] = {
    "groups": lambda number: {"group": f"other-{number}"},
    "clients": lambda number: {"client_id": f"other-{number}"},
    "members": lambda number: {"member": f"other-{number}"},
    "patterns of groups": lambda number: {"group": f"other-{number}-*"},
}


async def measure(bench: Bench) -> None:
    """Measure heartbeats of one client that no rule matches."""
    bench.figure("a heartbeat without rules", "us", _beat_us(None))
    for kind, options in KINDS.items():
        bench.figure(f"with {RULES:,} rules for other {kind}", "us", _beat_us(options))


def _beat_us(options: Callable[[int], MatchOptions] | None) -> float:
    """Return the CPU time of a heartbeat, the least of several rounds."""
    broker = Broker()
    laboratory = Laboratory(broker.cluster, LabClock(broker.clock))
    laboratory.attach(broker.server)
    client, beat = broker.client(), heartbeat()
    for number in range(RULES if options is not None else 0):
        assert options is not None
        laboratory.faults.on(**options(number)).error("NOT_COORDINATOR")
    took_s: list[float] = []
    for _ in range(ROUNDS):
        before_s = thread_time()
        for _ in range(TIMES):
            client.says(beat)
        took_s.append(thread_time() - before_s)
        assert len(client.heard()) == TIMES, "each is answered"
    return min(took_s) / TIMES * 1e6
