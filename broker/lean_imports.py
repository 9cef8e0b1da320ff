"""Importing libraries without what they would import because it happens to be installed."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from types import ModuleType
from typing import Any

from kohort.broker.late_modules import late


@contextmanager
def without(*names: str) -> Iterator[None]:
    """Within, `import name` fails for these, as where they are not installed. What has loaded them keeps them.

    kio imports hypothesis to describe its types to it (100 ms and more), structlog imports rich for its tracebacks
    (60 ms and 8 MiB). Both do well without, and a broker that starts for a test has no time for either.
    """
    hidden = {name: sys.modules.get(name) for name in names}
    for name in names:
        sys.modules[name] = None  # type: ignore[assignment]  # how Python marks what cannot be imported
    try:
        yield
    finally:
        for name, module in hidden.items():
            del sys.modules[name]
            if module is not None:
                sys.modules[name] = module


class _NoTls(ModuleType):
    """Stands in for `ssl`: errors that nobody raises, a context that nobody makes, numbers that nobody gets."""

    def __getattr__(self, name: str) -> Any:
        return 0 if name.startswith("SSL_ERROR_") else type(name, (Exception,), {})


def load_event_loop() -> None:
    """Loads asyncio and uvloop without `ssl`, as on a Python that has none, and without what only shows tracebacks.

    Whoever is to serve TLS has made its context before, and so has loaded it. Others save 4 MiB and a twentieth of the
    start. asyncio provides for it. uvloop takes a few names out of `ssl` when it is loaded, for those who come with a
    context: without the right ones it refuses to listen. If it wants more than names, it gets the real module.

    What they, `dataclasses` and `uuid` seldom need is a tenth, and loaded when it is needed. With a release of Python
    whose modules want more than functions of it, they are forgotten again, and loaded whole where they are imported.
    """
    before = set(sys.modules)
    try:
        with late("inspect", "linecache", "platform", "traceback"):
            _load_asyncio_and_uvloop()
            import dataclasses  # noqa: F401
            import uuid  # noqa: F401
    except Exception:
        for name in sys.modules.keys() - before:
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
