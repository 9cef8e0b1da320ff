"""A target that is being computed: what it follows from, and how far it is."""

from typing import NamedTuple
from uuid import UUID

from kohort.coordinator.consumer.assignors.subscriber import Subscriber
from kohort.coordinator.modern.modern_values import Target


class Inputs(NamedTuple):
    """What a target follows from."""

    assignor: str
    members: dict[str, Subscriber]
    """By id, in Kafka's order."""
    counts: dict[UUID, int]
    """The number of partitions of each topic, likewise."""
    homogeneous: bool
    """Whether all members subscribe to the same topics."""


class Preparation:
    """A target that is computed beside the heartbeats of its group."""

    __slots__ = ("inputs", "spent_us", "targets")

    def __init__(self, inputs: Inputs) -> None:
        self.inputs = inputs
        self.targets: dict[str, Target] | None = None
        """None: it is not there yet."""
        self.spent_us = 0
        """The assignor's time, if somebody measures it."""
