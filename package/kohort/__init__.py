"""Kafka's group coordination without a Kafka cluster.

The imports of this package are in its subpackages, so that `import kohort` costs nothing.

PYTEST_DONT_REWRITE: a process that imported kohort before it runs pytest must not be warned that it is too late to
rewrite asserts here.
"""

__version__: str  # read on first use, because that takes 30 ms


def __getattr__(name: str) -> str:
    if name != "__version__":
        raise AttributeError(f"module {__name__} has no attribute {name}")
    from importlib.metadata import version

    return version("kohort")
