"""Lazy import of modules that others import but rarely use: they are loaded when one of their functions is called."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import import_module
from types import ModuleType
from typing import Any, Final

CO_COROUTINE: Final = 0x80  # the flag of a coroutine function's code: `inspect.CO_COROUTINE`


class LateModule(ModuleType):
    """A placeholder for a module. Importers keep it, and get the module's attributes from it."""

    def __getattr__(self, name: str) -> Any:
        return _Named(self.__name__, name)


class _Named:
    """A name in a module that is not loaded yet."""

    def __init__(self, module: str, name: str) -> None:
        self._module, self._name = module, name

    def __call__(self, *arguments: Any, **options: Any) -> Any:
        return self._get()(*arguments, **options)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._get(), name)

    def _get(self) -> Any:
        return getattr(_loaded(self._module), self._name)


def _loaded(name: str) -> ModuleType:
    if isinstance(sys.modules.get(name), LateModule):
        del sys.modules[name]
    return import_module(name)


def _iscoroutinefunction(function: Any) -> bool:
    """Return whether a function is a coroutine function, without importing `inspect` for ordinary ones.

    uvloop calls this for each signal handler.
    """
    code = getattr(function, "__code__", None)
    if code is not None and not code.co_flags & CO_COROUTINE and not hasattr(function, "_is_coroutine_mark"):
        return False
    return bool(_loaded("inspect").iscoroutinefunction(function))


CALLED_AT_START: Final[dict[tuple[str, str], Callable[..., Any]]] = {
    ("inspect", "iscoroutinefunction"): _iscoroutinefunction,
    ("platform", "system"): lambda: os.uname().sysname,
}  # Functions that every start calls. `uuid` looks up the system's name; `platform` would compile patterns for more.


@contextmanager
def import_lazily(*names: str) -> Iterator[None]:
    """Import these modules as a `LateModule` within the context, unless they are loaded already."""
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
