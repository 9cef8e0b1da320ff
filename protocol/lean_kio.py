"""Imports only the required parts of kio.

`kio.serial` imports its writer, which is needed for rare responses, and the package of an API version imports both
request and response. That is a tenth of the start time. Such a package is deferred: its modules can be imported, and
its `__init__` runs on the first access to one of its names.
"""

from __future__ import annotations

import dataclasses
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from importlib import import_module
from importlib.machinery import PathFinder
from io import BytesIO
from types import ModuleType
from typing import Any

__all__ = [
    "InvalidUnicode",
    "NegativeByteLength",
    "entity_module",
    "entity_reader",
    "entity_writer",
    "primitive_writer",
]


class PutOff(ModuleType):
    """A package whose `__init__` has not run. The first access to a missing name imports it completely."""

    def __getattr__(self, name: str) -> Any:
        if sys.modules.get(self.__name__) is self:
            del sys.modules[self.__name__]
        whole = import_module(self.__name__)
        for part, module in list(vars(self).items()):
            if isinstance(module, ModuleType):  # it was loaded before
                vars(whole).setdefault(part, module)
        return getattr(whole, name)


def put_off(name: str) -> None:
    """Register a package without running its `__init__`, unless it is imported."""
    if name in sys.modules:
        return
    parent, _, last = name.rpartition(".")
    above = import_module(parent)
    spec = PathFinder.find_spec(name, above.__path__)
    if spec is None or spec.loader is None:
        return  # the import reports the reason
    package = PutOff(name)
    package.__spec__, package.__loader__, package.__file__ = spec, spec.loader, spec.origin
    package.__package__, package.__path__ = name, spec.submodule_search_locations or []
    sys.modules[name] = package
    setattr(above, last, package)


def entity_module(api: str, version: int, kind: str) -> ModuleType:
    """Import kio's module for a version's "request" or "response".

    Raises:
        ModuleNotFoundError: kio does not have it.
    """
    put_off(f"kio.schema.{api}.v{version}")
    with _without_signatures():
        return import_module(f"kio.schema.{api}.v{version}.{kind}")


class _Undescribed:
    """Replaces `inspect` in `dataclasses`, which would compute a signature for each class of kio."""

    def __getattr__(self, name: str) -> Any:
        return getattr(_INSPECT, name)

    def signature(self, *_arguments: object, **_options: object) -> str:
        """Raise TypeError, as for a class without a signature."""
        raise TypeError


_INSPECT: Any = vars(dataclasses).get("inspect")


@contextmanager
def _without_signatures() -> Iterator[None]:
    if _INSPECT is None:
        yield
        return
    dataclasses.inspect = _Undescribed()  # type: ignore[attr-defined]
    try:
        yield
    finally:
        dataclasses.inspect = _INSPECT  # type: ignore[attr-defined]


class _Names(ModuleType):
    """Replaces a module of which only names are needed, for annotations that are never evaluated."""

    def __getattr__(self, name: str) -> Any:
        return type(name, (), {})


@contextmanager
def _only_names_of(*modules: str) -> Iterator[None]:
    missing = [name for name in modules if name not in sys.modules]
    sys.modules.update({name: _Names(name) for name in missing})
    try:
        yield
    finally:
        for name in missing:
            del sys.modules[name]


put_off("kio.serial")
with suppress(Exception), _only_names_of("typing_extensions", "kio.static.protocol"), _without_signatures():
    # kio's native reader imports it. If more than names are needed, it is loaded then, as kio would.
    import kio.serial._implicit_defaults  # noqa: F401

from kio.serial._parse import entity_reader  # noqa: E402
from kio.serial.errors import InvalidUnicode, NegativeByteLength  # noqa: E402


def entity_writer(entity: type) -> Callable[[BytesIO, Any], None]:
    """Return kio's writer for a class; imports `kio.serial` on first use."""
    from kio.serial import entity_writer

    return entity_writer(entity)


def primitive_writer(kafka_type: str, *, flexible: bool) -> Callable[[BytesIO, Any], None]:
    """Return what writes an element of an array of that type, as in `kio.serial`."""
    from kio.serial._serialize import get_writer

    return get_writer(kafka_type, flexible, False)
