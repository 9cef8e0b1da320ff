"""Modules that others import and hardly ever use: they are loaded when somebody calls a function of theirs."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import import_module
from types import ModuleType
from typing import Any, Final

CO_COROUTINE: Final = 0x80
"""The flag of a coroutine function's code: `inspect.CO_COROUTINE`."""


class LateModule(ModuleType):
    """Stands in for a module. Who has imported it keeps it, and finds in it whatever the module has."""

    def __getattr__(self, name: str) -> Any:
        return _Named(self.__name__, name)


class _Named:
    """What a module that is not loaded yet has under a name."""

    def __init__(self, module: str, name: str) -> None:
        self._module, self._name = module, name

    def __call__(self, *arguments: Any, **options: Any) -> Any:
        return self._get()(*arguments, **options)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._get(), name)

    def _get(self) -> Any:
        return getattr(_loaded(self._module), self._name)


def _loaded(name: str) -> ModuleType:
    """The module itself, even while others are to get what stands in for it."""
    if isinstance(sys.modules.get(name), LateModule):
        del sys.modules[name]
    return import_module(name)


def _iscoroutinefunction(function: Any) -> bool:
    """`inspect.iscoroutinefunction`, which uvloop asks about each handler of a signal. For usual functions it is no."""
    code = getattr(function, "__code__", None)
    if code is not None and not code.co_flags & CO_COROUTINE and not hasattr(function, "_is_coroutine_mark"):
        return False
    return bool(_loaded("inspect").iscoroutinefunction(function))


CALLED_AT_START: Final[dict[tuple[str, str], Callable[..., Any]]] = {
    ("inspect", "iscoroutinefunction"): _iscoroutinefunction,
    ("platform", "system"): lambda: os.uname().sysname,
}
"""Functions that every start calls. `uuid` asks for the system's name; `platform` would compile patterns for more."""


@contextmanager
def late(*names: str) -> Iterator[None]:
    """Within, who imports these gets a `LateModule`, unless they are loaded."""
    modules = {name: LateModule(name) for name in names if name not in sys.modules}
    for (owner, name), function in CALLED_AT_START.items():
        if owner in modules:
            setattr(modules[owner], name, function)
    sys.modules.update(modules)
    try:
        yield
    finally:
        for name, module in modules.items():
            if sys.modules.get(name) is module:
                del sys.modules[name]
