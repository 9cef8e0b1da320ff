"""Interface of connections to the scheduler."""

from __future__ import annotations

from mypy_extensions import mypyc_attr


@mypyc_attr(allow_interpreted_subclasses=True)  # the proxy's connections are not compiled
class Served:
    """A connection with something to do, or to write."""

    __slots__ = ("load_ns",)

    load_ns: int  # exponential mean of how long it is served at a time

    def go_on(self, now_ms: int) -> None:
        """Resume pending work; never raises."""
        raise NotImplementedError

    def write(self) -> None:
        """Write pending responses; never raises."""
        raise NotImplementedError
