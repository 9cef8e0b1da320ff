"""Suggestions for misspelled attributes and keyword arguments of the objects that tests use."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from difflib import get_close_matches
from functools import wraps
from inspect import CO_COROUTINE, CO_VARKEYWORDS
from types import FunctionType
from typing import Any, TypeVar

_Class = TypeVar("_Class", bound=type)


def suggest_names(cls: _Class) -> _Class:
    """Make a class report an unknown attribute or keyword argument with the nearest valid name.

    The methods of a subclass are only checked if it is decorated, too.
    """
    for name, value in list(vars(cls).items()):
        if isinstance(value, FunctionType) and (name == "__init__" or not name.startswith("_")):
            setattr(cls, name, _checked(value))
    if "__getattr__" not in vars(cls):
        cls.__getattr__ = report_attribute  # type: ignore[attr-defined]  # unknown to a type checker on purpose
    return cls


def report_attribute(instance: object, name: str) -> Any:
    """Raise AttributeError with the nearest valid name."""
    if hasattr(type(instance), name):
        return object.__getattribute__(instance, name)  # a property raised AttributeError, which is raised again here
    valid = () if name.startswith("_") else [item for item in dir(instance) if not item.startswith("_")]
    raise AttributeError(f"{type(instance).__name__} has no attribute {name!r}{_advice(name, valid)}")


def _checked(function: FunctionType) -> Callable[..., Any]:
    """Return the function with a check of its keyword arguments, unless it takes any or none."""
    code = function.__code__
    keywords = code.co_varnames[1 : code.co_argcount + code.co_kwonlyargcount]
    if not keywords or code.co_flags & CO_VARKEYWORDS:
        return function
    names = frozenset(keywords)

    @wraps(function)
    def call(*arguments: Any, **options: Any) -> Any:
        __tracebackhide__ = True
        if not names.issuperset(options):
            wrong = next(name for name in options if name not in names)
            raise TypeError(
                f"{function.__qualname__}() has no keyword argument {wrong!r}{_advice(wrong, sorted(names))}"
            )
        return function(*arguments, **options)

    if code.co_flags & CO_COROUTINE:
        _mark_coroutine_function(call)
    return call


def _mark_coroutine_function(function: Callable[..., Any]) -> None:
    import inspect

    if hasattr(inspect, "markcoroutinefunction"):  # from Python 3.12 on
        inspect.markcoroutinefunction(function)


def _advice(name: str, valid: Iterable[str]) -> str:
    names = list(valid)
    near = get_close_matches(name, names, 1)
    return f"; did you mean {near[0]!r}?" if near else f"; valid: {', '.join(names)}" if names else ""
