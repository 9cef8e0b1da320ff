"""Real clients continue after their broker is killed and restarted on its data directory: no member leaves or joins."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from kohort.demo.libraries import LIBRARIES
from tests.clients.company import LONG_SESSION_MS, Company
from tests.restarting import SERVE, kill, restart, start

pytestmark = pytest.mark.needs("our own broker")


@pytest.fixture(params=["never", "always"])
def company(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[tuple[Company, Path]]:
    """Clients of a broker that keeps its data."""
    made = Company(start(tmp_path, (*SERVE, "--fsync", request.param)), session_timeout_ms=LONG_SESSION_MS)
    yield made, tmp_path
    made.dissolve()
    kill(tmp_path)


def test_members_survive_broker_kill(company: tuple[Company, Path]) -> None:
    made, folder = company
    members = [made.join(f"c{number}", library) for number, library in enumerate(LIBRARIES)]
    made.until_shared_by(*members)
    made.until_calm()
    expected = made.produce(5)
    made.until_consumed(expected, *members)
    owned = [set(member.owns) for member in members]
    generations = [member.generations[-1] for member in members]
    restart(folder)
    expected = made.produce(5)
    made.until_consumed(expected, *members)
    assert [set(member.owns) for member in members] == owned
    assert [member.generations[-1] for member in members] == generations
