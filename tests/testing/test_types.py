"""Types of the laboratory, as a type checker reports them."""

from __future__ import annotations

import ast
import sys
from pathlib import Path
from subprocess import run
from textwrap import dedent

import pytest

ROOT = Path(__file__).parent.parent.parent


def test_sync_methods_have_docstrings() -> None:
    classes = [
        node for node in ast.parse((ROOT / "testing/sync.py").read_text()).body if isinstance(node, ast.ClassDef)
    ]
    methods = [node for each in classes for node in each.body if isinstance(node, ast.FunctionDef)]
    undocumented = [node.name for node in methods if not ast.get_docstring(node) and not node.name.startswith("__")]
    assert (len(classes), undocumented) == (11, [])


def run_mypy(folder: Path, text: str) -> str:
    """Return mypy's output for a user's file."""
    path = folder / "test_orders.py"
    path.write_text(dedent(text))
    # With the cache of `make lint`, which knows all but this file.
    command = [sys.executable, "-m", "mypy", "--config-file", "pyproject.toml", str(path)]
    return run(command, cwd=ROOT, capture_output=True, text=True, check=False).stdout


@pytest.mark.clients
@pytest.mark.timeout(400)
def test_types_of_both_apis(tmp_path: Path) -> None:
    output = run_mypy(
        tmp_path,
        """
        from typing import assert_type
        from kohort.control.gates.gates import Gate
        from kohort.control.history.history import Rebalance
        from kohort.groups.group_members import MemberTasks
        from kohort.testing import Cluster, GroupMember, Proxy, SyncCluster, SyncGroup, SyncProxy
        from kohort.testing import SyncRule, SyncShareGroup, SyncStreamsGroup

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
    assert output.startswith("Success"), output


@pytest.mark.clients
@pytest.mark.timeout(400)
def test_misspelt_names_are_type_errors(tmp_path: Path) -> None:
    output = run_mypy(
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
    assert output.count("error:") == 4, output
