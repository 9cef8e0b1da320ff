"""Generator of `testing/sync.py`: types of a cluster, its groups and its fault rules for tests without `await`.

At run time such a test uses a `kohort.testing.remote.Remote`, which forwards every call to the thread of the cluster.
The generated protocols give editors and type checkers the same methods, arguments and docstrings, without `await`.

`setup.py` writes the file into every wheel, and into the checkout for an editable install. `make` runs
`python package/sync_types.py` when a source has changed.
"""

from __future__ import annotations

import ast
from itertools import pairwise
from pathlib import Path

ROOT = Path(__file__).parent.parent
TARGET = "testing/sync.py"

# Modules and their classes with coroutine methods, and classes whose methods return those. A base class comes first.
SOURCES = {
    "control/faults/rules.py": ["Rule"],
    "control/faults/rule_builder.py": ["RuleBuilder"],
    "control/faults/table.py": ["Faults"],
    "control/groups/any_group.py": ["AnyGroup"],
    "control/groups/lab_group.py": ["Group"],
    "control/groups/lab_share_group.py": ["ShareGroup"],
    "control/groups/lab_streams_group.py": ["StreamsGroup"],
    "testing/cluster_clock.py": ["Clock"],
    "testing/cluster.py": ["Cluster"],
    "proxy/observed/proxy_group.py": ["ProxyGroup"],
    "testing/proxy_cluster.py": ["Proxy"],
}
CLASSES = {name for names in SOURCES.values() for name in names}
EXCLUDED_METHODS = {
    *("start", "stop", "laboratory"),  # for the owner of the cluster's thread
    *("takes", "would_take", "add", "take_idle", "apply", "denies", "take_away", "silences"),  # for the brokers
}
RULE_METHODS = {"__enter__", "__exit__", "__iter__", "__len__"}  # special methods that tests use on fault rules
HEADER = '''\
"""Types of a cluster in tests that do not use `await`: `def test_orders(kafka: SyncCluster)`.

Generated from the asynchronous classes by package/sync_types.py.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

'''


def generate() -> str:
    """Return the text of the generated module."""
    origins: dict[str, str] = {}
    classes: list[ast.ClassDef] = []
    for path, names in SOURCES.items():
        tree = ast.parse((ROOT / path).read_text())
        origins |= _find_origins(tree, "kohort." + path.removesuffix(".py").replace("/", "."))
        definitions = {node.name: node for node in tree.body if isinstance(node, ast.ClassDef)}
        classes += [_convert_class(definitions[name]) for name in names]
    used = {name for node in classes for name in _find_names(node)}
    defaults = {name for node in classes for name in _find_default_names(node)}
    runtime = _format_imports(origins, defaults)
    typing_only = _format_imports(origins, used - defaults - {"Protocol"})
    imports = [*runtime, "", "if TYPE_CHECKING:", *(f"    {line}" for line in typing_only)]
    return HEADER + "\n".join([*imports, *(f"\n\n{ast.unparse(node)}" for node in classes)]) + "\n"


def _find_origins(tree: ast.Module, module: str) -> dict[str, str]:
    """Return the module that each global name of a source file comes from."""
    origins: dict[str, str] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module:
            origins |= {alias.name: node.module for alias in node.names}
    for statement in tree.body:
        if isinstance(statement, ast.ClassDef):
            origins[statement.name] = module
        elif isinstance(statement, ast.Assign | ast.AnnAssign):
            targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
            origins |= {target.id: module for target in targets if isinstance(target, ast.Name)}
    return origins


def _find_names(node: ast.AST) -> set[str]:
    return {name.id for name in ast.walk(node) if isinstance(name, ast.Name) and isinstance(name.ctx, ast.Load)}


def _find_default_names(node: ast.ClassDef) -> set[str]:
    """Return names in default values of parameters, which are evaluated when the module is imported."""
    arguments = [function.args for function in node.body if isinstance(function, ast.FunctionDef)]
    defaults = [
        default for parameters in arguments for default in (*parameters.defaults, *parameters.kw_defaults) if default
    ]
    return {name for default in defaults for name in _find_names(default)}


def _format_imports(origins: dict[str, str], names: set[str]) -> list[str]:
    modules: dict[str, list[str]] = {}
    for name in sorted(names & origins.keys()):
        modules.setdefault(origins[name], []).append(name)
    return [f"from {module} import {', '.join(imported)}" for module, imported in sorted(modules.items())]


class _Renaming(ast.NodeTransformer):
    def visit_Name(self, node: ast.Name) -> ast.Name:
        return ast.Name(f"Sync{node.id}", node.ctx) if node.id in CLASSES else node


def _convert_class(node: ast.ClassDef) -> ast.ClassDef:
    body: list[ast.stmt] = [ast.Expr(ast.Constant(f"`{node.name}` with methods that block until they are done."))]
    for statement, following in pairwise([*node.body, ast.Pass()]):
        if isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name):
            if _is_public(node, statement.target.id):
                body.append(_Renaming().visit(statement))
                if isinstance(following, ast.Expr):  # its description
                    body.append(following)
        elif isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef) and _is_public(node, statement.name):
            body.append(_convert_function(statement))
    bases: list[ast.expr] = [
        _Renaming().visit(base) for base in node.bases if isinstance(base, ast.Name) and base.id in CLASSES
    ]
    return ast.fix_missing_locations(
        ast.ClassDef(f"Sync{node.name}", [*bases, ast.Name("Protocol", ast.Load())], [], body, [])
    )


def _convert_function(node: ast.FunctionDef | ast.AsyncFunctionDef) -> ast.FunctionDef:
    docstring = node.body[:1] if ast.get_docstring(node) else []
    arguments = _Renaming().visit(node.args)
    returns = _Renaming().visit(node.returns) if node.returns is not None else None
    body = [*docstring, ast.Expr(ast.Constant(...))]
    return ast.FunctionDef(node.name, arguments, body, node.decorator_list, returns, None)


def _is_public(node: ast.ClassDef, name: str) -> bool:
    if name in RULE_METHODS:
        return node.name in {"Rule", "RuleBuilder", "Faults"}
    return not name.startswith("_") and name not in EXCLUDED_METHODS


if __name__ == "__main__":
    (ROOT / TARGET).write_text(generate())
