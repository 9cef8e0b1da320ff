"""One broker for all tests of a run, topics and groups of their own for each test."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from tests.clients.administration import Admin
from tests.clients.company import LONG_SESSION_MS, Company
from tests.clients.kafkas_own import class_path
from tests.clients.libraries import OTHERS, PYTHON, Library, Missing, usable
from tests.clients.serving import ELSEWHERE, NOT_THROUGH, THROUGH_PROXY, proxied, serving
from tests.support.lacking import lacks

TIMEOUT_S = 600


def pytest_itemcollected(item: pytest.Item) -> None:
    """Mark all tests here as slow, with a timeout."""
    item.add_marker(pytest.mark.clients)
    if item.get_closest_marker("timeout") is None:
        item.add_marker(pytest.mark.timeout(TIMEOUT_S))


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Skip tests that do not work through the proxy, if all connections are proxied."""
    if THROUGH_PROXY and (reason := NOT_THROUGH.get(item.path.stem)):
        lacks("proxy", reason)


@pytest.fixture(scope="session")
def bootstrap() -> Iterator[str]:
    """Three nodes, so that coordinators and leaders have to be looked for."""
    if ELSEWHERE:
        with proxied(ELSEWHERE) as addresses:
            yield addresses
        return
    with serving(nodes=3, options=("--set", "group.share.min.record.lock.duration.ms=1000")) as addresses:
        yield addresses


@pytest.fixture(scope="session")
def kafkas_tools() -> None:
    """Skips where Kafka's own command-line tools cannot be had."""
    try:
        class_path()
    except Missing as reason:
        lacks("program", f"Kafka's own tools: {reason}")


@pytest.fixture(params=[library.name for library in PYTHON])
def library(request: pytest.FixtureRequest) -> str:
    """Each of the client libraries in Python."""
    name: str = request.param
    return name


def _marked(library: Library) -> object:
    return pytest.param(library.name, marks=() if library in PYTHON else pytest.mark.libraries)


@pytest.fixture(params=[_marked(library) for library in (*PYTHON, *OTHERS)])
def any_library(request: pytest.FixtureRequest) -> str:
    """Each of the client libraries in any language; skipped where it cannot run."""
    name: str = request.param
    return usable(name)


@pytest.fixture(params=[_marked(library) for library in (*PYTHON, *OTHERS) if library.consumer_protocol])
def modern_library(request: pytest.FixtureRequest) -> str:
    """Each of the client libraries that know the consumer protocol; skipped where it cannot run."""
    name: str = request.param
    return usable(name)


@pytest.fixture
def company(bootstrap: str) -> Iterator[Company]:
    """A group without members."""
    company = Company(bootstrap)
    yield company
    company.dissolve()


@pytest.fixture
def make_company(bootstrap: str) -> Iterator[Callable[..., Company]]:
    """Several of them, or one with another number of partitions."""
    made: list[Company] = []

    def make(**options: int) -> Company:
        made.append(Company(bootstrap, **options))
        return made[-1]

    yield make
    for company in made:
        company.dissolve()


@pytest.fixture
def cluster() -> Iterator[tuple[Company, Admin]]:
    """A cluster of its own, since its brokers stop; every topic has three copies."""
    with serving(nodes=3, options=("--control", ":0", "--set", "default.replication.factor=3")) as ready:
        bootstrap, _, control = ready.partition(" control=")
        company = Company(bootstrap, copies=3, session_timeout_ms=LONG_SESSION_MS)
        yield company, Admin(control)
        company.dissolve()
