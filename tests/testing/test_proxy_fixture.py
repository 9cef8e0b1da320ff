"""The fixture `kafka_proxy`, as a user's test file has it."""

from __future__ import annotations

import pytest

from kohort.control.control_errors import ControlError
from kohort.testing import Cluster, Proxy
from tests.testing.user_file import run

pytest_plugins = ["pytester"]
pytestmark = [pytest.mark.clients, pytest.mark.timeout(180)]

TESTS = """
import socket

def test_it_stands_before_the_cluster(kafka_proxy):
    rule = kafka_proxy.faults.on("Heartbeat").hold()
    host, port = kafka_proxy.bootstrap.split(":")
    socket.create_connection((host, int(port))).close()
    assert len(kafka_proxy.faults) == 1

def test_what_a_test_has_done_ends_with_it(kafka_proxy):
    assert len(kafka_proxy.faults) == 0

async def test_a_coroutine_has_the_same_words(kafka_proxy):
    with kafka_proxy.gates.hold("join-complete") as gate:
        assert gate.held == []
"""


def test_proxy_in_front_of_existing_cluster(pytester: pytest.Pytester) -> None:
    with Cluster() as kafka:
        run(pytester, TESTS, f"--kafka-proxy={kafka.bootstrap}").assert_outcomes(passed=3)


def test_unreachable_cluster_fails_tests(pytester: pytest.Pytester) -> None:
    result = run(pytester, "def test_one(kafka_proxy): ...", "--kafka-proxy=127.0.0.1:1")
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(["*127.0.0.1:1: nothing listens there*"])


def test_unnamed_cluster_fails_tests(pytester: pytest.Pytester) -> None:
    result = run(pytester, "def test_one(kafka_proxy): ...")
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(["*set --kafka-proxy HOST:PORT*"])


def test_proxy_clients_get_library_config() -> None:
    with Cluster() as kafka, Proxy(kafka.bootstrap) as proxy:
        assert proxy.client_config() == {"bootstrap.servers": proxy.bootstrap}
        assert proxy.client_config("bob", library="aiokafka") == {"bootstrap_servers": proxy.bootstrap}
        with pytest.raises(ControlError, match=r"unknown library 'aiokafk'; did you mean aiokafka\?"):
            proxy.client_config(library="aiokafk")
