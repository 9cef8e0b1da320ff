"""Whom the scheduler serves, as far as it knows them: connections."""

from __future__ import annotations

from mypy_extensions import mypyc_attr


@mypyc_attr(allow_interpreted_subclasses=True)  # the proxy's connections are not compiled
class Served:
    """A connection with something to do, or to write."""

    __slots__ = ("load_ns",)

    load_ns: int
    """How long it is served at a time: a mean in which what is long ago counts little."""

    def go_on(self, now_ms: int) -> None:
        """Takes up what was left lying. Raises nothing."""
        raise NotImplementedError

    def write(self) -> None:
        """Writes what there is to write. Raises nothing."""
        raise NotImplementedError
