"""A broker loads modules for consumers and producers while it is idle."""

from kohort.broker.runtime.registry import Registry
from kohort.broker.scheduling.loading_ahead import ASKED_FIRST, AT_REST_S, EVERY_S, LoadingAhead
from kohort.protocol.api_keys import API_BY_NAME
from kohort.protocol.messages import message_of
from tests.support.manual_clock import ManualClock
from tests.support.still_loop import StillLoop

PIECES = 2
"""Of most APIs: messages and handler."""

ALL = 100
"""More than all pieces."""

BUSY_S = 2 * AT_REST_S


class Process:
    """A process whose load is set by the test."""

    def __init__(self, release: str = "4.3") -> None:
        self.worked_s = 0.0
        self.registry = Registry(release)
        self.loop = StillLoop(ManualClock())
        LoadingAhead(self.loop, self.registry, lambda: self.worked_s).wait()  # type: ignore[arg-type]

    def serves(self, seconds: float, looks: int) -> list[str]:
        """Keep the process busy between its checks, and return the modules loaded then."""
        for _ in range(looks):
            self.worked_s += seconds
            self.loop.wait(round(EVERY_S * 1_000))
        return [api.spec.name for api in self.registry.loaded.values()]


def test_first_requests_are_loaded_first() -> None:
    process = Process()
    assert process.serves(0.0, looks=PIECES) == ["api_versions"]
    assert process.serves(0.0, looks=PIECES) == ["api_versions", "metadata"]
    assert process.serves(0.0, looks=PIECES) == ["api_versions", "metadata", "find_coordinator"]


def test_follow_up_modules_come_next() -> None:
    process = Process()
    process.registry.find(API_BY_NAME["join_group"].key)
    assert process.serves(0.0, looks=PIECES) == ["join_group", "sync_group"]
    assert process.serves(0.0, looks=ALL)[:3] == ["join_group", "sync_group", "offset_fetch"]
    assert {api.spec.name for api in process.registry.loaded.values()} == set(ASKED_FIRST)


def test_busy_broker_loads_nothing() -> None:
    process = Process()
    assert process.serves(BUSY_S, looks=ALL) == []
    assert process.serves(0.0, looks=PIECES) == ["api_versions"]
    assert process.serves(BUSY_S, looks=ALL) == ["api_versions"]


def test_loading_ends_after_heartbeats() -> None:
    process = Process()
    assert process.serves(AT_REST_S / 2, looks=ALL) == list(ASKED_FIRST)
    assert process.loop.timer is None


def test_newest_version_is_ready() -> None:
    message = message_of("heartbeat")
    message.readers.clear()
    Process().serves(0.0, looks=ALL)
    assert list(message.readers) == [4]


def test_used_modules_are_not_reloaded() -> None:
    process = Process()
    asked = process.registry.find(0)
    process.serves(0.0, looks=ALL)
    assert process.registry.find(0) is asked
