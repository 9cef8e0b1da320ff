"""Suggestions for attributes and keyword arguments that a cluster does not have."""

from __future__ import annotations

import importlib
import importlib.metadata
import inspect
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import pytest

from kohort.control.groups.any_group import AnyGroup
from kohort.control.suggesting import suggest_names
from kohort.proxy.observed.proxy_group import ProxyGroup
from kohort.testing import Cluster


@pytest.mark.parametrize(
    ("use", "sentence"),
    [
        (
            lambda kafka: kafka.bootstrap_servers,
            "Cluster has no attribute 'bootstrap_servers'; did you mean 'bootstrap'?",
        ),
        (lambda kafka: kafka.topics.lists(), "Topics has no attribute 'lists'; did you mean 'list'?"),
        (lambda kafka: kafka.group("g").offset, "Group has no attribute 'offset'; did you mean 'offsets'?"),
    ],
)
def test_unknown_attribute_names_nearest(use: Callable[[Any], object], sentence: str) -> None:
    with Cluster() as kafka, pytest.raises(AttributeError) as error:
        use(kafka)
    assert str(error.value) == sentence


async def test_unknown_keyword_names_nearest() -> None:
    async with Cluster() as cluster:
        kafka: Any = cluster
        with pytest.raises(TypeError, match=r"create\(\) has no .* 'num_partitions'; did you mean 'partitions'"):
            kafka.topics.create("orders", num_partitions=3)
        with pytest.raises(TypeError, match="'member'; did you mean 'members'"):
            await kafka.group("billing").wait_stable(member=3)
        with pytest.raises(TypeError, match="valid: internal"):
            kafka.topics.list(hidden=True)


def test_unknown_option_of_cluster() -> None:
    untyped: Any = Cluster
    with pytest.raises(TypeError, match="'num_nodes'; did you mean 'nodes'"):
        untyped(num_nodes=3)


def test_subclass_checks_own_methods() -> None:
    untyped: Any = ProxyGroup
    with pytest.raises(TypeError, match="'timeouts'; did you mean 'timeout'"):
        untyped.wait_for_offset(None, "orders", 1, timeouts=3)


def test_error_in_property_is_kept() -> None:
    @suggest_names
    class Sample:
        @property
        def state(self) -> Any:
            return ().missing  # type: ignore[attr-defined]

    with pytest.raises(AttributeError, match="'tuple' object has no attribute 'missing'"):
        _ = Sample().state


def test_checked_methods_keep_signature() -> None:
    assert list(inspect.signature(AnyGroup.wait_stable).parameters) == ["self", "members", "timeout"]


def test_topics_are_container_of_names() -> None:
    with Cluster() as kafka:
        kafka.topics.create("orders")
        kafka.topics.create("audit")
        assert "orders" in kafka.topics
        assert "payments" not in kafka.topics
        assert kafka.topics.list() == list(kafka.topics) == ["orders", "audit"]
        assert "__consumer_offsets" in kafka.topics.list(internal=True)
        assert len(kafka.topics) == 2


@pytest.mark.parametrize("moment", [1_767_225_600_000, datetime(2026, 1, 1, tzinfo=UTC)])
def test_records_with_time_and_headers(moment: int | datetime) -> None:
    with Cluster() as kafka:
        kafka.topics.create("orders")
        kafka.topics.append("orders", "a", headers=[("trace", "1"), ("trace", b"2")], timestamp=moment)
        (record,) = kafka.topics.records("orders")
        assert record.timestamp_ms == 1_767_225_600_000
        assert record.headers == (("trace", b"1"), ("trace", b"2"))


@pytest.mark.parametrize("moment", ["now", -1, True, datetime(2026, 1, 1)])
def test_rejects_other_timestamps(moment: Any) -> None:
    with Cluster() as kafka:
        kafka.topics.create("orders")
        with pytest.raises(ValueError, match="timestamp must"):
            kafka.topics.append("orders", "a", timestamp=moment)


def test_reset_between_tests_of_cluster() -> None:
    with Cluster() as kafka:
        kafka.topics.create("orders")
        kafka.group("billing").commit({("orders", 0): 0})
        kafka.faults.on("Heartbeat").drop()
        kafka.clock.pause()
        assert kafka.reset().groups == ()
        assert (list(kafka.faults), "orders" in kafka.topics) == ([], True)
        assert "runs 1 times" in str(kafka.clock)
        kafka.reset(data=True)
        assert (kafka.topics.list(), kafka.groups) == ([], [])


def test_version_is_that_of_package() -> None:
    package: Any = importlib.import_module("kohort")  # the type checker sees the folders of this checkout
    assert package.__version__ == importlib.metadata.version("kohort")
    with pytest.raises(AttributeError, match="module kohort has no attribute versions"):
        _ = package.versions
