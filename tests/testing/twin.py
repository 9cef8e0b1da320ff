"""Makes `testing/sync.py`, the types of what `with Cluster()` hands out: `python -m tests.testing.twin`.

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
TWIN = ROOT / "testing" / "sync.py"

CLASSES = {"Clock": "testing/cluster_clock.py", "Group": "control/lab_group.py", "Cluster": "testing/cluster.py"}
"""Those with something to await; all others are the same on both sides."""
NOT_THEIRS = {"start", "stop", "laboratory"}
"""What belongs to whoever holds the cluster's own thread."""

HEAD = '''"""What `with Cluster()` hands out, for type checkers and editors: the words of `Cluster`, without `await`.

Annotate a fixture with it: `def test_it(kafka: SyncCluster)`. Made by `python -m tests.testing.twin`; a test compares.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Protocol

from kohort.control.lab_group import PATIENCE_S
from kohort.control.lab_offsets import EARLIEST

if TYPE_CHECKING:
    from kohort.control.appends import Appends
    from kohort.control.explanation import Explanation
    from kohort.control.faults.table import Faults
    from kohort.control.gates import Gates
    from kohort.control.group_members import GroupMember
    from kohort.control.history import Rebalance
    from kohort.control.lab_acls import Acls
    from kohort.control.lab_group import Migration
    from kohort.control.lab_topics import Topics
    from kohort.coordinator.events import GroupEvent
    from kohort.protocol.topic_partition import TopicPartition
'''


class _Renamed(ast.NodeTransformer):
    """Names of classes become those of their twins."""

    def visit_Name(self, node: ast.Name) -> ast.Name:
        return ast.Name(f"Sync{node.id}", node.ctx) if node.id in CLASSES else node


def made() -> str:
    """What the file has to be."""
    text = HEAD
    for name, path in CLASSES.items():
        tree = ast.parse((ROOT / path).read_text())
        found = next(each for each in tree.body if isinstance(each, ast.ClassDef) and each.name == name)
        text += "\n\n" + ast.unparse(_twin(found))
    command = [sys.executable, "-m", "ruff", "format", "--stdin-filename", str(TWIN), "-"]
    return subprocess.run(command, input=text, capture_output=True, text=True, check=True, cwd=ROOT).stdout


def _twin(found: ast.ClassDef) -> ast.ClassDef:
    body: list[ast.stmt] = [ast.Expr(ast.Constant(f"`{found.name}`, whose every word waits for its end."))]
    for each, following in pairwise([*found.body, ast.Pass()]):
        if isinstance(each, ast.AnnAssign) and isinstance(each.target, ast.Name) and _is_theirs(each.target.id):
            body.append(_Renamed().visit(each))
            if isinstance(following, ast.Expr):  # what it is, in words
                body.append(following)
        elif isinstance(each, ast.FunctionDef | ast.AsyncFunctionDef) and _is_theirs(each.name):
            body.append(_function(each))
    return ast.fix_missing_locations(ast.ClassDef(f"Sync{found.name}", [ast.Name("Protocol")], [], body, []))


def _function(found: ast.FunctionDef | ast.AsyncFunctionDef) -> ast.FunctionDef:
    docstring = found.body[0]
    assert isinstance(docstring, ast.Expr), f"{found.name} tells what it does"
    arguments = _Renamed().visit(found.args)
    returns = _Renamed().visit(found.returns) if found.returns is not None else None
    return ast.FunctionDef(
        found.name, arguments, [docstring, ast.Expr(ast.Constant(...))], found.decorator_list, returns, None
    )


def _is_theirs(name: str) -> bool:
    return not name.startswith("_") and name not in NOT_THEIRS


if __name__ == "__main__":
    TWIN.write_text(made())
