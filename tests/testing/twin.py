"""`python -m tests.testing.twin` makes `testing/sync.py` and others: types of what `with Cluster()` gives.

At run time that is a `Remote`, which passes everything on. What a person, an editor and a type checker are told of it
is made here of the asynchronous classes: the same names, arguments and docstrings, without `await`.
"""

from __future__ import annotations

import ast
import subprocess
import sys
from itertools import pairwise
from pathlib import Path

ROOT = Path(__file__).parent.parent.parent

CLUSTER = {"Clock": "testing/cluster_clock.py", "Cluster": "testing/cluster.py"}
PROXY = {"ProxyGroup": "proxy/seen/proxy_group.py", "Proxy": "testing/proxy_cluster.py"}
GROUPS = {
    "AnyGroup": "control/any_group.py",
    "Group": "control/lab_group.py",
    "EpochGroup": "control/epoch_group.py",
    "ShareGroup": "control/lab_share_group.py",
}
STREAMS_GROUPS = {"StreamsGroup": "control/lab_streams_group.py"}
RULES = {
    "Rule": "control/faults/rules.py",
    "RuleBuilder": "control/faults/rule_builder.py",
    "Faults": "control/faults/table.py",
}
CLASSES = CLUSTER | PROXY | GROUPS | STREAMS_GROUPS | RULES
"""Those with something to await, and those that hand them out; all others are the same on both sides."""
NOT_THEIRS = {
    *("start", "stop", "laboratory"),
    *("takes", "would_take", "add", "take_idle", "apply", "denies", "take_away", "silences"),
}
"""What belongs to whoever holds the cluster's own thread, and to the brokers."""
THEIRS = {"__enter__", "__exit__", "__iter__", "__len__"}
"""Words with underscores that a test uses, of rules."""

CLUSTER_HEAD = '''\
"""What `with Cluster()` hands out, for type checkers and editors: the words of `Cluster`, without `await`.

Annotate a fixture with it: `def test_it(kafka: SyncCluster)`. Made by `python -m tests.testing.twin`; a test compares.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

from kohort.control.waiting import PATIENCE_S

if TYPE_CHECKING:
    from kohort.control.appends import Appends
    from kohort.control.gates import Gates
    from kohort.control.lab_acls import Acls
    from kohort.control.lab_topics import Topics
    from kohort.control.numbers import Seconds
    from kohort.testing.sync_faults import SyncFaults
    from kohort.testing.sync_groups import SyncGroup, SyncShareGroup
    from kohort.testing.sync_streams_groups import SyncStreamsGroup
'''
PROXY_HEAD = '''\
"""What `with Proxy(…)` hands out, for type checkers and editors; see sync.py.

Made by `python -m tests.testing.twin`; a test compares.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NoReturn, Protocol

from kohort.control.waiting import PATIENCE_S
from kohort.testing.sync_groups import SyncAnyGroup

if TYPE_CHECKING:
    from kohort.control.explanation import Explanation
    from kohort.control.gates import Gates
    from kohort.control.group_members import GroupMember
    from kohort.control.numbers import Seconds
    from kohort.protocol.topic_partition import TopicPartition
    from kohort.testing.sync_faults import SyncFaults
'''
GROUPS_HEAD = '''\
"""What `kafka.group(…)` is to a test that awaits nothing, for type checkers and editors; see sync.py.

Made by `python -m tests.testing.twin`; a test compares.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Protocol

from kohort.control.lab_offsets import EARLIEST
from kohort.control.redelivery import BEYOND_ALL
from kohort.control.waiting import PATIENCE_S

if TYPE_CHECKING:
    from kohort.control.explanation import Explanation
    from kohort.control.group_members import GroupMember
    from kohort.control.history import Rebalance
    from kohort.control.lab_group import Migration
    from kohort.control.numbers import Seconds
    from kohort.control.share_records import InFlightRecords, SharePartitionState
    from kohort.coordinator.events.group_event import GroupEvent
    from kohort.protocol.topic_partition import TopicPartition
'''
STREAMS_GROUPS_HEAD = '''\
"""What `kafka.streams_group(…)` is to a test that awaits nothing, for type checkers and editors; see sync.py.

Made by `python -m tests.testing.twin`; a test compares.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from kohort.control.waiting import PATIENCE_S
from kohort.testing.sync_groups import SyncEpochGroup

if TYPE_CHECKING:
    from kohort.control.explanation import Explanation
    from kohort.control.numbers import Seconds
    from kohort.control.streams_topology import LabTopology
    from kohort.control.task_members import TaskMember
    from kohort.protocol.topic_partition import TopicPartition
'''
RULES_HEAD = '''\
"""What `kafka.faults` is to a test that awaits nothing, for type checkers and editors; see sync.py.

Made by `python -m tests.testing.twin`; a test compares.
"""

from __future__ import annotations

from collections.abc import Iterator
from types import TracebackType
from typing import TYPE_CHECKING, Protocol, Unpack

from kohort.control.faults.matching import ANY
from kohort.control.waiting import PATIENCE_S

if TYPE_CHECKING:
    from kohort.control.assignments import Change
    from kohort.control.faults.matching import MatchOptions
    from kohort.control.faults.rule_builder import When
    from kohort.control.numbers import Seconds
'''
TWINS = {
    ROOT / "testing" / "sync.py": (CLUSTER_HEAD, CLUSTER),
    ROOT / "testing" / "sync_proxy.py": (PROXY_HEAD, PROXY),
    ROOT / "testing" / "sync_groups.py": (GROUPS_HEAD, GROUPS),
    ROOT / "testing" / "sync_streams_groups.py": (STREAMS_GROUPS_HEAD, STREAMS_GROUPS),
    ROOT / "testing" / "sync_faults.py": (RULES_HEAD, RULES),
}
"""Each file with its beginning and its classes."""


class _Renamed(ast.NodeTransformer):
    """Names of classes become those of their twins."""

    def visit_Name(self, node: ast.Name) -> ast.Name:
        return ast.Name(f"Sync{node.id}", node.ctx) if node.id in CLASSES else node


def made(twin: Path) -> str:
    """What a file has to be."""
    text, classes = TWINS[twin]
    for name, path in classes.items():
        tree = ast.parse((ROOT / path).read_text())
        found = next(each for each in tree.body if isinstance(each, ast.ClassDef) and each.name == name)
        text += "\n\n" + ast.unparse(_twin(found))
    command = [sys.executable, "-m", "ruff", "format", "--stdin-filename", str(twin), "-"]
    return subprocess.run(command, input=text, capture_output=True, text=True, check=True, cwd=ROOT).stdout


def _twin(found: ast.ClassDef) -> ast.ClassDef:
    body: list[ast.stmt] = [ast.Expr(ast.Constant(f"`{found.name}`, whose every word waits for its end."))]
    for each, following in pairwise([*found.body, ast.Pass()]):
        if isinstance(each, ast.AnnAssign) and isinstance(each.target, ast.Name) and _is_theirs(found, each.target.id):
            body.append(_Renamed().visit(each))
            if isinstance(following, ast.Expr):  # what it is, in words
                body.append(following)
        elif isinstance(each, ast.FunctionDef | ast.AsyncFunctionDef) and _is_theirs(found, each.name):
            body.append(_function(each))
    bases: list[ast.expr] = [_Renamed().visit(each) for each in found.bases if isinstance(each, ast.Name)]
    return ast.fix_missing_locations(ast.ClassDef(f"Sync{found.name}", [*bases, ast.Name("Protocol")], [], body, []))


def _function(found: ast.FunctionDef | ast.AsyncFunctionDef) -> ast.FunctionDef:
    docstring = [each for each in found.body[:1] if isinstance(each, ast.Expr)]
    assert docstring or found.name in THEIRS, f"{found.name} tells what it does"
    arguments = _Renamed().visit(found.args)
    returns = _Renamed().visit(found.returns) if found.returns is not None else None
    return ast.FunctionDef(
        found.name, arguments, [*docstring, ast.Expr(ast.Constant(...))], found.decorator_list, returns, None
    )


def _is_theirs(found: ast.ClassDef, name: str) -> bool:
    return (name in THEIRS and found.name in RULES) or (not name.startswith("_") and name not in NOT_THEIRS)


if __name__ == "__main__":
    for each in TWINS:
        each.write_text(made(each))
