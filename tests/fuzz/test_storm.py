"""A storm continues whatever happens to its clients, and requests are generated quickly."""

import asyncio
from dataclasses import fields, is_dataclass
from random import Random
from typing import Any

import pytest
from kio.static.constants import EntityType

from tests.fuzz import storm as storm_module
from tests.fuzz.live import SILENT_S, Stillness
from tests.fuzz.requests import MOST_ELEMENTS, Requests
from tests.fuzz.storm import Storm, connect
from tests.protocol.messages import VERSIONS, load

WITHIN_S = 60


@pytest.fixture(scope="module")
def shared_storm() -> Storm:
    """One storm with few requests for all tests, because generating all requests takes seconds."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(storm_module, "OF_EACH", 1)
        return Storm(0, Random(7))


@pytest.fixture
def storm(shared_storm: Storm) -> Storm:
    """The shared storm without clients."""
    shared_storm.counts, shared_storm.ends = storm_module.Counts(), False
    return shared_storm


class OftenLarge(Random):
    """Random numbers that make every array large."""

    def random(self) -> float:
        return 0.99

    def getrandbits(self, k: int) -> int:  # else the numbers would come from the above, too
        return super().getrandbits(k)


def elements(value: Any) -> int:
    """Count the elements of arrays, including nested ones."""
    if isinstance(value, tuple):
        return len(value) + (len(value) * elements(value[0]) if value else 0)
    return sum(elements(getattr(value, element.name)) for element in fields(value)) if is_dataclass(value) else 0


@pytest.mark.parametrize("name", ["offset_fetch", "offset_commit", "produce", "create_topics", "alter_configs"])
def test_nested_arrays_fit_limits(name: str) -> None:
    version = max(version for each, version in VERSIONS if each == name)
    entity = load(name).entity(version, EntityType.request)
    requests = Requests(OftenLarge(7), (20_000,))
    instance = requests._instance(entity)
    assert MOST_ELEMENTS >= elements(instance) / 10 > 1_000  # of several arrays
    repeated = requests._instance(entity)
    assert elements(repeated) == elements(instance)  # it does not shrink from one to the next


async def test_unanswered_client_is_reported(storm: Storm, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(storm_module, "PATIENCE_S", 0.01)

    async def stays_silent(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while await reader.read(1 << 16):
            pass
        writer.close()

    server = await asyncio.start_server(stays_silent, "127.0.0.1", 0)
    storm.port = server.sockets[0].getsockname()[1]
    await connect(storm)
    async with asyncio.timeout(WITHIN_S):
        while storm.counts.connections < 4:
            await asyncio.sleep(0.01)
    assert storm.counts.given_up >= 3
    assert storm.counts.unanswered.total() == storm.counts.given_up
    storm.ends = True
    storm.replace_all()
    async with asyncio.timeout(WITHIN_S):
        while storm.clients:
            await asyncio.sleep(0.01)
    server.close()


async def test_idle_clients_are_replaced(storm: Storm) -> None:
    watch = Stillness(storm)
    assert watch.check(0) == []
    storm.counts.sent = 5
    assert watch.check(SILENT_S) == []  # something was sent meanwhile
    storm.counts.unanswered["fetch v11"] = 3
    assert watch.check(2 * SILENT_S - 1) == []
    (finding,) = watch.check(2 * SILENT_S)
    assert "after 5 frames no client sent anything" in finding
    assert finding.endswith("given up on fetch v11 3")
    assert watch.check(2 * SILENT_S + 1) == []


async def test_client_reconnects_until_accepted(storm: Storm, monkeypatch: pytest.MonkeyPatch) -> None:
    tries = 0

    async def create_connection(*_: object) -> None:
        nonlocal tries
        tries += 1
        if tries < 3:
            raise TimeoutError

    monkeypatch.setattr(asyncio.get_running_loop(), "create_connection", create_connection, raising=False)
    await connect(storm)
    assert (tries, storm.counts.not_accepted, storm.ends) == (3, 2, False)
