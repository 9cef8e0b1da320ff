"""Importing libraries without what they would import because it happens to be installed."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager


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
