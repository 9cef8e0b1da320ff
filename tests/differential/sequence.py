"""A sequence: steps that somebody takes one after the other."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
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


def topic(name: str, partitions: int = 1, order: str = "") -> Step:
    """A topic is there, and its leader ready. `order`: of what the order is alike on both sides.

    `topics`: that of the ids of all such topics; `partitions`: that of its partitions in a hash map.
    """
    return Step("topic", "stagehand", values={"topic": name, "partitions": partitions, "order": order})


def wait(length_ms: int) -> Step:
    """Nobody says anything for a while."""
    return Step("wait", values=length_ms)


def disconnect(speaker: str) -> Step:
    """Somebody hangs up, and connects again when there is something to say."""
    return Step("disconnects", speaker)


def set_of_group(settings: Mapping[str, str]) -> Step:
    """Somebody gives the group settings of its own."""
    configs = [{"name": name, "config_operation": 0, "value": value} for name, value in settings.items()]
    resource = {"resource_type": 32, "resource_name": "$group", "configs": configs}
    return request("zoe", "IncrementalAlterConfigs", 1, {"resources": [resource], "validate_only": False})
