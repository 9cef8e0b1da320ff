"""What type checkers and editors are told of the laboratory."""

from __future__ import annotations

import sys
from pathlib import Path
from subprocess import run
from textwrap import dedent

import pytest

from tests.testing.twin import ROOT, TWINS, made


@pytest.mark.parametrize("twin", TWINS, ids=lambda path: path.stem)
def test_the_synchronous_words_are_the_asynchronous_ones(twin: Path) -> None:
    assert twin.read_text() == made(twin), "run python -m tests.testing.twin"


def checked(folder: Path, text: str) -> str:
    """What mypy says of a user's file."""
    path = folder / "test_orders.py"
    path.write_text(dedent(text))
    # With the cache of `make lint`, which knows all but this file.
    command = [sys.executable, "-m", "mypy", "--config-file", "pyproject.toml", str(path)]
    return run(command, cwd=ROOT, capture_output=True, text=True, check=False).stdout


@pytest.mark.clients
@pytest.mark.timeout(400)
def test_a_type_checker_knows_the_words_of_both_sides(tmp_path: Path) -> None:
    told = checked(
        tmp_path,
        """
        from typing import assert_type
        from kohort.testing.sync_faults import SyncRule
        from kohort.control.gates import Gate
        from kohort.control.history import Rebalance
        from kohort.control.task_members import MemberTasks
        from kohort.testing import Cluster, GroupMember, Proxy, SyncCluster, SyncGroup, SyncProxy
        from kohort.testing import SyncShareGroup, SyncStreamsGroup

        def test_orders(kafka: SyncCluster) -> None:
            group = kafka.group("billing")
            assert_type(group, SyncGroup)
            group.wait_stable(members=3)
            assert_type(group.member("ada"), GroupMember)
            assert_type(group.history[-1], Rebalance)
            assert_type(kafka.clock.advance(seconds=45), None)
            with kafka.faults.on("Heartbeat", group="billing").delay(until="Stable", times=2) as rule:
                assert_type(rule, SyncRule)
                rule.wait(times=2)
            assert_type(kafka.gates.hold("join-complete"), Gate)
            assert_type(kafka.topics.append("orders", "x"), int)

        with Cluster(nodes=3) as kafka:
            assert_type(kafka.groups, list[SyncGroup | SyncShareGroup | SyncStreamsGroup])
            assert_type(kafka.share_group("queue").redeliver("orders"), int)
            assert_type(kafka.streams_group("words").members[0].tasks, MemberTasks)
            kafka.stop_node(1)

        with Proxy("broker-1:9092") as proxy:
            assert_type(proxy, SyncProxy)
            proxy.faults.on("Heartbeat").hold().wait(times=2)
            assert_type(proxy.nodes, list[int])

        async def test_payments(kafka: Cluster) -> None:
            await kafka.group("billing").wait_stable()
            await kafka.clock.advance(seconds=45)
        """,
    )
    assert told.startswith("Success"), told


@pytest.mark.clients
@pytest.mark.timeout(400)
def test_a_type_checker_finds_what_is_misspelt(tmp_path: Path) -> None:
    told = checked(
        tmp_path,
        """
        from kohort.testing import SyncCluster

        def test_orders(kafka: SyncCluster) -> None:
            kafka.grup("billing")
            kafka.group("billing").wait_stable(member=3)
            kafka.faults.on("Heartbeat", grup="billing")
            kafka.faults.on("Heartbeat").delay(until="Stable", time=2)
        """,
    )
    assert told.count("error:") == 4, told
