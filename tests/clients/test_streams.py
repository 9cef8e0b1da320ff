"""Kafka Streams on the classic protocol: instances come, crash and come back, and nothing is lost."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import pytest

from tests.clients.kafkas_own import class_path
from tests.clients.libraries import Missing
from tests.clients.streaming import KEYS, Application, Traffic
from tests.support.lacking import lacks

pytestmark = [pytest.mark.libraries, pytest.mark.timeout(300)]


@pytest.fixture
def application(request: pytest.FixtureRequest, bootstrap: str, tmp_path: Path) -> Iterator[Application]:
    """An application with the processing guarantee that the test requests."""
    try:
        class_path()
    except Missing as reason:
        lacks("program", f"Kafka Streams: {reason}")
    made = Application(bootstrap, request.param, tmp_path)
    yield made
    for instance in made.instances:
        instance.crash()


@pytest.mark.parametrize("application", ["at_least_once"], indirect=True)
def test_crashed_instance_is_replaced(application: Application) -> None:
    first, second = application.start(), application.start()
    expected = application.produce(0, 400)
    assert set(application.copied(expected)) == set(expected)
    third = application.start()
    second.crash()
    expected |= application.produce(400, 400)
    assert set(application.copied(expected)) == set(expected)
    first.stop()
    third.stop()
    application.start()
    expected |= application.produce(800, 400)
    assert set(application.copied(expected)) == set(expected)
    counts = application.counted(1_200)
    assert set(counts) == set(KEYS)
    assert all(count >= 60 for count in counts.values())


@pytest.mark.parametrize("application", ["at_least_once"], indirect=True)
def test_static_instance_returns(application: Application) -> None:
    first, _ = application.start("first", "i1"), application.start("second", "i2")
    expected = application.produce(0, 400)
    assert set(application.copied(expected)) == set(expected)
    first.stop()
    application.start("first", "i1")
    expected |= application.produce(400, 400)
    assert set(application.copied(expected)) == set(expected)
    assert application.counted(800) == dict.fromkeys(KEYS, 40)


@pytest.mark.parametrize("application", ["exactly_once_v2"], indirect=True)
def test_exactly_once_survives_crashes(application: Application) -> None:
    traffic = Traffic(application)
    application.crashes_in_a_transaction("first")
    first, second = application.start("first"), application.start("second")
    application.goes_on()
    third = application.start("third")  # joins late
    application.goes_on()
    second.crash()
    application.goes_on()
    first.stop()  # leaves
    application.goes_on()
    application.start("second")  # comes back, and fences what it was before
    third.crash()
    application.goes_on()
    for home in ("first", "third"):
        application.start(home)
    application.goes_on()
    expected = traffic.stop()

    heard, rows = application.all_copied(expected)
    assert heard == expected, "nothing is lost, and nothing comes twice"
    for key in KEYS:
        numbers = [int(value) for each, value in rows if each == key]
        assert all(one < next_one for one, next_one in pairwise(numbers))
    assert application.counted(expected.total()) == {key: expected.total() // len(KEYS) for key in KEYS}
    assert application.everything_copied().total() > expected.total()
