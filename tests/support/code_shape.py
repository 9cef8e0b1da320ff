"""Structure, names and texts of a Python file, for `same_words.py`."""

from __future__ import annotations

import ast
from collections.abc import Hashable
from dataclasses import dataclass, field
from typing import NamedTuple

from tests.support.scopes import COMPREHENSIONS, all_arguments, bound_names, last_name

SKIPPED_FIELDS = {"ctx", "kind", "type_comment", "type_ignores"}
NAMED_BY_TEXT = {"getattr", "setattr", "hasattr", "delattr", "attrgetter", "methodcaller"}
NAME_LISTS = {"__slots__", "__all__", "__match_args__"}


class Name(NamedTuple):
    """An identifier at one place of a file."""

    scope: Hashable  # number of the function that binds it, the function called for a keyword, or PUBLIC
    text: str
    line: int

    @property
    def callee(self) -> str:
        """The function or class that is called with this keyword."""
        return str(self.scope[1]) if isinstance(self.scope, tuple) else ""


class Text(NamedTuple):
    """Contents of a string literal or of a docstring."""

    text: str
    line: int
    is_name: bool  # an attribute or a name of the module, as in __slots__ and getattr


PUBLIC = "public"  # attributes, and names of classes' bodies
GLOBAL = "global"  # names that the module binds
BUILTIN = "builtin"


@dataclass
class Shape:
    """Everything of a file that is compared: its structure, and in the same order its names and texts."""

    structure: list[Hashable] = field(default_factory=list)
    names: list[Name] = field(default_factory=list)
    texts: list[Text] = field(default_factory=list)
    docstrings: dict[str, str] = field(default_factory=dict)
    parameters: list[tuple[str, list[Name]]] = field(default_factory=list)  # of each function, class or dataclass
    defined: set[str] = field(default_factory=set)  # names of the module and of classes, and attributes that are set


class _Scope(NamedTuple):
    number: int
    names: frozenset[str]
    is_class: bool


class _Flattener:
    def __init__(self) -> None:
        self.shape = Shape()
        self._scopes: list[_Scope] = []
        self._count = 0
        self._path: list[str] = []
        self._module_names: set[str] = set()

    def flatten(self, tree: ast.Module) -> Shape:
        self._module_names = bound_names(tree) | {
            name for node in ast.walk(tree) if isinstance(node, ast.Global) for name in node.names
        }
        imported = {
            name for node in ast.walk(tree) if isinstance(node, ast.alias) for name in [node.asname or node.name]
        }
        self.shape.defined |= self._module_names - imported
        self._body(tree.body, tree)
        return self.shape

    def _visit(self, node: ast.AST) -> None:
        self.shape.structure.append(type(node).__name__)
        method = getattr(self, f"_visit_{type(node).__name__.lower()}", None)
        if method is not None:
            method(node)
        elif isinstance(node, COMPREHENSIONS):
            self._comprehension(node)
        else:
            self._fields(node)

    def _fields(self, node: ast.AST, *without: str) -> None:
        line = getattr(node, "lineno", 0)
        for name in node._fields:
            if name in SKIPPED_FIELDS or name in without:
                continue
            value = getattr(node, name)
            if isinstance(value, ast.AST):
                self._visit(value)
            elif isinstance(value, list):
                if name in ("body", "orelse", "finalbody") and not isinstance(node, ast.Lambda | ast.IfExp):
                    self._body(value, node)
                else:
                    self._list(value, line)
            elif isinstance(value, str):
                self._identifier(value, line)
            else:
                self.shape.structure.append(value)

    def _list(self, values: list[object], line: int) -> None:
        self.shape.structure.append(len(values))
        for value in values:
            if isinstance(value, ast.AST):
                self._visit(value)
            elif isinstance(value, str):
                self._identifier(value, line)
            else:
                self.shape.structure.append(value)

    def _body(self, body: list[ast.stmt], owner: ast.AST) -> None:
        """Visit statements without those that do nothing: docstrings, `pass` and `...`."""
        kept = []
        above = ""
        for statement in body:
            if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant):
                if isinstance(statement.value.value, str):
                    self.shape.docstrings[".".join([*self._path, above])] = statement.value.value
                if isinstance(statement.value.value, str) or statement.value.value is ...:
                    continue
            elif isinstance(statement, ast.Pass):
                continue
            else:
                target = statement.targets[0] if isinstance(statement, ast.Assign) else getattr(statement, "target", "")
                above = ast.unparse(target) if isinstance(target, ast.AST) else ""
            kept.append(statement)
        self.shape.structure.append(len(kept))
        for statement in kept:
            self._visit(statement)

    def _identifier(self, text: str, line: int) -> None:
        """Add a name that is not an attribute, in the scope that binds it."""
        for position, scope in enumerate(reversed(self._scopes)):
            if text in scope.names and not (scope.is_class and position):
                self._name(PUBLIC if scope.is_class else scope.number, text, line)
                return
        self._name(GLOBAL if text in self._module_names else BUILTIN, text, line)

    def _name(self, scope: Hashable, text: str, line: int) -> None:
        self.shape.structure.append(("name", scope))
        self.shape.names.append(Name(scope, text, line))

    def _dotted(self, text: str, line: int) -> None:
        parts = text.split(".")
        self.shape.structure.append(len(parts))
        for part in parts:
            self._name(PUBLIC, part, line)

    def _enter(self, node: ast.AST, *, is_class: bool = False) -> None:
        self._count += 1
        self._scopes.append(_Scope(self._count, frozenset(bound_names(node)), is_class))

    def _visit_name(self, node: ast.Name) -> None:
        self._identifier(node.id, node.lineno)

    def _visit_attribute(self, node: ast.Attribute) -> None:
        self._visit(node.value)
        if not isinstance(node.ctx, ast.Load):
            self.shape.defined.add(node.attr)
        self._name(PUBLIC, node.attr, node.end_lineno or node.lineno)

    def _visit_constant(self, node: ast.Constant) -> None:
        if isinstance(node.value, str):
            self.shape.structure.append("text")
            self.shape.texts.append(Text(node.value, node.lineno, False))
        else:
            self.shape.structure += [type(node.value).__name__, node.value]

    def _visit_joinedstr(self, node: ast.JoinedStr) -> None:
        placeholders = [value for value in node.values if isinstance(value, ast.FormattedValue)]
        if not placeholders:  # the same as a plain string
            self.shape.structure[-1] = "Constant"
        self.shape.structure.append("text")
        text = "".join(str(value.value) if isinstance(value, ast.Constant) else "{}" for value in node.values)
        self.shape.texts.append(Text(text, node.lineno, False))
        for value in placeholders:
            self._visit(value.value)
            self.shape.structure.append(value.conversion)
            self._format_spec(value.format_spec)

    def _format_spec(self, node: ast.expr | None) -> None:
        """Add a format specification, whose text is code."""
        values = node.values if isinstance(node, ast.JoinedStr) else []
        self.shape.structure.append(len(values))
        for value in values:
            if isinstance(value, ast.Constant):
                self.shape.structure.append(str(value.value))
            else:
                self._visit(value)

    def _visit_assign(self, node: ast.Assign) -> None:
        self._fields(node)
        if any(isinstance(target, ast.Name) and target.id in NAME_LISTS for target in node.targets):
            self._mark_as_names(node.value)

    def _mark_as_names(self, node: ast.expr) -> None:
        count = sum(isinstance(child, ast.Constant) and isinstance(child.value, str) for child in ast.walk(node))
        if count:
            self.shape.texts[-count:] = [text._replace(is_name=True) for text in self.shape.texts[-count:]]

    def _visit_call(self, node: ast.Call) -> None:
        self._visit(node.func)
        self._list([*node.args], node.lineno)
        callee = self._callee(node)
        if (
            callee in NAMED_BY_TEXT
            and node.args
            and isinstance(node.args[-1 if len(node.args) < 2 else 1], ast.Constant)
        ):
            self._mark_call(node)
        self.shape.structure.append(len(node.keywords))
        for keyword in node.keywords:
            if keyword.arg is None:
                self.shape.structure.append("**")
            else:
                self.shape.structure.append("keyword")
                self.shape.names.append(Name(("call", callee), keyword.arg, keyword.lineno))
            self._visit(keyword.value)

    def _callee(self, node: ast.Call) -> str:
        """Return the name of the function or class that gets the keywords of a call."""
        callee = last_name(node.func)
        if callee == "partial" and node.args:
            return last_name(node.args[0])
        if callee == "cls" and len(self._path) > 1:
            return self._path[-2]
        return callee

    def _mark_call(self, node: ast.Call) -> None:
        wanted = node.args[0 if len(node.args) < 2 else 1]
        for index in range(len(self.shape.texts) - 1, -1, -1):
            text = self.shape.texts[index]
            if isinstance(wanted, ast.Constant) and (text.text, text.line) == (wanted.value, wanted.lineno):
                self.shape.texts[index] = text._replace(is_name=True)
                return

    def _visit_functiondef(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> None:
        self._list([*node.decorator_list], node.lineno)
        self._identifier(node.name, node.lineno)
        self._signature(node.args)
        if node.returns is not None:
            self._visit(node.returns)
        self._path.append(node.name)
        self._enter(node)
        owner = node.name
        if node.name in ("__init__", "__new__") and len(self._path) > 1:
            owner = self._path[-2]
        self._arguments(node.args, owner)
        self._body(node.body, node)
        self._scopes.pop()
        self._path.pop()

    _visit_asyncfunctiondef = _visit_functiondef

    def _visit_lambda(self, node: ast.Lambda) -> None:
        self._signature(node.args)
        self._enter(node)
        self._arguments(node.args, "")
        self._visit(node.body)
        self._scopes.pop()

    def _signature(self, arguments: ast.arguments) -> None:
        """Visit defaults and annotations, which belong to the scope outside."""
        for argument in all_arguments(arguments):
            self.shape.structure.append(argument.annotation is not None)
            if argument.annotation is not None:
                self._visit(argument.annotation)
        self._list([*arguments.defaults], 0)
        self._list([*arguments.kw_defaults], 0)
        self.shape.structure += [len(arguments.posonlyargs), len(arguments.args), len(arguments.kwonlyargs)]
        self.shape.structure += [arguments.vararg is not None, arguments.kwarg is not None]

    def _arguments(self, arguments: ast.arguments, owner: str) -> None:
        start = len(self.shape.names)
        for argument in all_arguments(arguments):
            self._identifier(argument.arg, argument.lineno)
        if owner:
            self.shape.parameters.append((owner, self.shape.names[start:]))

    def _visit_classdef(self, node: ast.ClassDef) -> None:
        self._list([*node.decorator_list], node.lineno)
        self._identifier(node.name, node.lineno)
        self._list([*node.bases], node.lineno)
        self._list([*node.keywords], node.lineno)
        self._path.append(node.name)
        self._enter(node, is_class=True)
        self.shape.defined |= self._scopes[-1].names
        self._body(node.body, node)
        self._scopes.pop()
        self._path.pop()
        fields = [item.target for item in node.body if isinstance(item, ast.AnnAssign)]
        names = [Name(PUBLIC, field.id, field.lineno) for field in fields if isinstance(field, ast.Name)]
        if names:
            self.shape.parameters.append((node.name, names))

    def _comprehension(self, node: ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp) -> None:
        self._visit(node.generators[0].iter)  # evaluated in the scope outside
        self._enter(node)
        self.shape.structure.append(len(node.generators))
        for index, generator in enumerate(node.generators):
            self._fields(generator, *(("iter",) if index == 0 else ()))
        self._fields(node, "generators")
        self._scopes.pop()

    def _visit_import(self, node: ast.Import) -> None:
        for alias in node.names:
            self._dotted(alias.name, alias.lineno)
            self.shape.structure.append(alias.asname is not None)
            self._identifier(alias.asname or alias.name.partition(".")[0], alias.lineno)

    def _visit_importfrom(self, node: ast.ImportFrom) -> None:
        self._dotted(node.module or "", node.lineno)
        self.shape.structure += [node.level, len(node.names)]
        for alias in node.names:
            self._name(PUBLIC, alias.name, alias.lineno)
            self.shape.structure.append(alias.asname is not None)
            self._identifier(alias.asname or alias.name, alias.lineno)

    def _visit_matchclass(self, node: ast.MatchClass) -> None:
        self._fields(node, "kwd_attrs")
        for text in node.kwd_attrs:
            self._name(PUBLIC, text, node.lineno)


def shape_of(text: str) -> Shape:
    """Return the parts of a file's text that are compared."""
    return _Flattener().flatten(ast.parse(text))
