"""Names that functions, classes and comprehensions of a syntax tree bind."""

from __future__ import annotations

import ast

FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)


def all_arguments(arguments: ast.arguments) -> list[ast.arg]:
    extra = [vararg for vararg in (arguments.vararg, arguments.kwarg) if vararg is not None]
    return [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs, *extra]


def bound_names(scope: ast.AST) -> set[str]:
    """Return the names that a function, class or comprehension binds itself."""
    names: set[str] = set()
    outside: set[str] = set()
    todo: list[ast.AST] = []
    if isinstance(scope, ast.Module):
        todo += scope.body
    elif isinstance(scope, FUNCTIONS):
        names |= {argument.arg for argument in all_arguments(scope.args)}
        todo += scope.body if isinstance(scope.body, list) else [scope.body]
    elif isinstance(scope, ast.ClassDef):
        todo += scope.body
    elif isinstance(scope, COMPREHENSIONS):
        todo += [generator.target for generator in scope.generators]
    while todo:
        node = todo.pop()
        if isinstance(node, ast.Name):
            if not isinstance(node.ctx, ast.Load):
                names.add(node.id)
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            names.add(node.name)
            todo += node.decorator_list
        elif isinstance(node, ast.Global | ast.Nonlocal):
            outside.update(node.names)
        elif isinstance(node, ast.ExceptHandler | ast.MatchAs | ast.MatchStar):
            if node.name:
                names.add(node.name)
            todo += ast.iter_child_nodes(node)
        elif isinstance(node, ast.MatchMapping):
            if node.rest:
                names.add(node.rest)
            todo += ast.iter_child_nodes(node)
        elif isinstance(node, ast.alias):
            names.add(node.asname or node.name.partition(".")[0])
        elif isinstance(node, COMPREHENSIONS):  # only `:=` binds outside of it
            todo += [child for child in ast.walk(node) if isinstance(child, ast.NamedExpr)]
        elif not isinstance(node, ast.Lambda):
            todo += ast.iter_child_nodes(node)
    return names - outside


def last_name(node: ast.expr) -> str:
    if isinstance(node, ast.Attribute):
        return node.attr
    return node.id if isinstance(node, ast.Name) else ""
