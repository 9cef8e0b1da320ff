"""A target that is being computed: what it follows from, and how far it is."""

from typing import Any


class Preparation:
    """A target that is computed beside the heartbeats of its group."""

    __slots__ = ("inputs", "spent_us", "targets")

    def __init__(self, inputs: Any) -> None:
        self.inputs = inputs
        """What the target follows from."""
        self.targets: dict[str, Any] | None = None
        """None: it is not there yet."""
        self.spent_us = 0
        """The assignor's time, if somebody measures it."""
