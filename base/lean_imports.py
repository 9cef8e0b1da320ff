"""Imports of libraries without the optional packages that they would import if installed."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from types import ModuleType
from typing import Any

from kohort.base.late_modules import import_lazily


@contextmanager
def without(*names: str) -> Iterator[None]:
    """Make `import name` fail for these within the context, as if they were not installed. Loaded modules keep them.

    kio imports hypothesis to describe its types to it (100 ms and more), structlog imports rich for its tracebacks
    (60 ms and 8 MiB), pyarrow imports pandas to recognize its objects (600 ms). They work without, and a process that
    starts for a test should not wait for them.
    """
    hidden = {name: module for name in names if (module := sys.modules.pop(name, None)) is not None}
    absent = _Absent(names)
    sys.meta_path.insert(0, absent)  # without its base class, which would import tempfile
    try:
        yield
    finally:
        sys.meta_path.remove(absent)
        sys.modules.update(hidden)


class _Absent:
    """A finder that fails for some names.

    A None in `sys.modules` has this effect in Python, but extensions compiled by Cython import it as None.
    """

    def __init__(self, names: tuple[str, ...]) -> None:
        self._names = names

    def find_spec(self, fullname: str, path: object, target: object = None) -> None:
        if fullname in self._names:
            raise ModuleNotFoundError(f"No module named {fullname!r}", name=fullname)


class _NoTls(ModuleType):
    """A placeholder for `ssl` with exceptions, a context class and constants that are never used."""

    def __getattr__(self, name: str) -> Any:
        return 0 if name.startswith("SSL_ERROR_") else type(name, (Exception,), {})


def load_event_loop() -> None:
    """Import asyncio and uvloop without `ssl`, as on a Python without it, and without what only shows tracebacks.

    A broker that serves TLS has created its context before, and so has imported `ssl`. Other brokers save 4 MiB and a
    twentieth of the start. asyncio supports that. uvloop takes a few names out of `ssl` when it is imported, for
    servers with a context; without a context the names are not used. If it needs more than names, it gets the real
    module.

    The rarely used imports of both, of `dataclasses` and of `uuid` take a tenth, and are loaded when needed. With a
    release of Python whose modules need more than functions of them, they are dropped, and imported in full where they
    are used.
    """
    loaded_before = set(sys.modules)
    try:
        with import_lazily("inspect", "linecache", "platform", "traceback"):
            _load_asyncio_and_uvloop()
            import dataclasses  # noqa: F401
            import uuid  # noqa: F401
    except Exception:
        for name in sys.modules.keys() - loaded_before:
            del sys.modules[name]


def _load_asyncio_and_uvloop() -> None:
    if "ssl" in sys.modules:
        import asyncio

        return
    with without("ssl"):
        import asyncio  # noqa: F401
    sys.modules["ssl"] = _NoTls("ssl")
    try:
        with suppress(Exception):
            import uvloop  # noqa: F401
    finally:
        del sys.modules["ssl"]
