"""A sequence of steps."""

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
    """Add a request of a client."""
    return Step("request", speaker, api, version, values)


def topic(name: str, partitions: int = 1, order: str = "") -> Step:
    """Add a topic whose leader is ready. `order` names the orders that must match on both sides."""
    return Step("topic", "stagehand", values={"topic": name, "partitions": partitions, "order": order})


def wait(length_ms: int) -> Step:
    return Step("wait", values=length_ms)


def disconnect(speaker: str) -> Step:
    """Add a disconnect of a client, which reconnects at its next request."""
    return Step("disconnects", speaker)


def set_of_group(settings: Mapping[str, str]) -> Step:
    configs = [{"name": name, "config_operation": 0, "value": value} for name, value in settings.items()]
    resource = {"resource_type": 32, "resource_name": "$group", "configs": configs}
    return request("zoe", "IncrementalAlterConfigs", 1, {"resources": [resource], "validate_only": False})
