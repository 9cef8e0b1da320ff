"""A target that is being computed: its inputs and its progress."""

from typing import Any


class Preparation:
    """A target that is computed in the background."""

    __slots__ = ("inputs", "spent_us", "targets")

    def __init__(self, inputs: Any) -> None:
        self.inputs = inputs  # values that the target is computed from
        self.targets: dict[str, Any] | None = None  # None until the computation ends
        self.spent_us = 0  # duration of the assignor, if it is measured
