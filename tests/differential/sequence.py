"""A sequence: steps that somebody takes one after the other."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from tests.talk.values import Value

Kind = str


class Step(NamedTuple):
    """One step. `kind` is `request`, `sends` (a header made by hand), `topic`, `wait` or `disconnects`."""

    kind: Kind
    speaker: str = "ada"
    api: str = ""
    version: int = 0
    values: Value = None
    """Of a request its fields, with `$names`; of `topic` its name and partitions; of `wait` the milliseconds."""


Steps = Sequence[Step]


def request(speaker: str, api: str, version: int, values: Value) -> Step:
    """Somebody asks something."""
    return Step("request", speaker, api, version, values)


def topic(name: str, partitions: int = 1, in_order: bool = False) -> Step:
    """A topic is there, and its leader ready. `in_order`: the ids of all such topics sort alike on both sides."""
    return Step("topic", "stagehand", values={"topic": name, "partitions": partitions, "in_order": in_order})


def wait(length_ms: int) -> Step:
    """Nobody says anything for a while."""
    return Step("wait", values=length_ms)
