"""A broker gives memory back when it has worked and comes to rest."""

from kohort.broker.runtime.memory_trimmer import AT_REST_S, EVERY_S, GROWN, LARGEST, WORKED_S, MemoryTrimmer
from tests.support.manual_clock import ManualClock
from tests.support.still_loop import StillLoop


class Process:
    """A process with a set load, and its memory trims."""

    def __init__(self) -> None:
        self.worked_s = 0.0
        self.resident = 100 << 20
        self.trims = 0
        self.loop = StillLoop(ManualClock())
        loop = self.loop
        MemoryTrimmer(loop, self._trim, lambda: self.resident, lambda: self.worked_s).wait()  # type: ignore[arg-type]

    def works(self, seconds: float, looks: int = 1) -> int:
        """Perform this much work in each of the checks, and return the number of trims so far."""
        for _ in range(looks):
            self.worked_s += seconds
            self.loop.wait(round(EVERY_S * 1_000))
        return self.trims

    def _trim(self) -> None:
        self.trims += 1


def test_at_rest_after_work() -> None:
    process = Process()
    assert process.works(WORKED_S) == 0, "it is still at work"
    assert process.works(AT_REST_S / 2) == 1
    assert process.works(AT_REST_S / 2) == 1, "nothing has been done since"


def test_idle_broker_is_not_trimmed() -> None:
    assert Process().works(0.0, looks=10) == 0


def test_heartbeats_count_as_work() -> None:
    a_little = AT_REST_S / 2
    assert Process().works(a_little, looks=round(WORKED_S / a_little)) == 1


def test_large_process_is_not_trimmed() -> None:
    process = Process()
    process.resident = LARGEST + 1
    process.works(WORKED_S)
    assert process.works(0.0) == 0
    process.resident = LARGEST
    assert process.works(0.0) == 1


def test_grown_broker_is_trimmed_once() -> None:
    process = Process()
    process.resident += GROWN - 1
    assert process.works(0.0, looks=3) == 0
    process.resident += 1
    assert process.works(0.0, looks=3) == 1, "what is left is in use"
    process.resident += GROWN
    assert process.works(0.0, looks=3) == 2
