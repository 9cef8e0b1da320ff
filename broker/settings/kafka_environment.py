"""Broker settings in environment variables, as images of Kafka take them. Loaded only if such variables are to be read.

Apache's and Confluent's images take `KAFKA_NUM_PARTITIONS` as `num.partitions`; Bitnami's takes
`KAFKA_CFG_NUM_PARTITIONS`. Two underscores are one in the name, and three are a hyphen.
Source: Kafka's `KafkaDockerWrapper`; Confluent's `configure` script.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Mapping
from difflib import get_close_matches
from typing import NamedTuple

from kohort.base.address import EVERYWHERE
from kohort.broker.settings.unsupported import A_SLIP

_PREFIXES = ("KAFKA_", "KAFKA_CFG_")  # in increasing order of precedence
_VARIABLE = re.compile(r"[A-Z][A-Z0-9_]*")
_SEPARATORS = {"_": ".", "__": "_", "___": "-"}


class EnvironmentSettings(NamedTuple):
    """Settings that variables define, and the variables that define none."""

    values: dict[str, str]
    unknown: list[str]


def settings_of(
    variables: Mapping[str, str], is_setting: Callable[[str], bool], in_file: Collection[str] = ()
) -> EnvironmentSettings:
    """Return the settings that variables define. Quotes around a value are removed.

    Args:
        in_file: Names of other settings that apply unless variables define them.
    """
    values, unknown = {}, []
    for prefix in _PREFIXES:
        for variable, value in variables.items():
            if variable.startswith(prefix) and is_setting(name := _setting_name(variable.removeprefix(prefix))):
                values[name] = value[1:-1] if value[:1] in ("'", '"') and value[-1:] == value[:1] else value
    if "advertised.listeners" in values and "listeners" not in {*values, *in_file}:
        # as Confluent's image: the advertised ports, on all addresses
        values["listeners"] = re.sub(r"://[^,]*:", f"://{EVERYWHERE}:", values["advertised.listeners"])
    for variable in variables:
        if not any(is_setting(_setting_name(variable.removeprefix(prefix))) for prefix in _PREFIXES):
            unknown.append(variable)
    return EnvironmentSettings(values, unknown)


def describe_unknown(unknown: Iterable[str], settings: Iterable[str]) -> str:
    """Return a log line about variables that are not settings, with suggestions for typing errors."""
    names = [*settings]
    return "ignored variables that are not broker settings: " + ", ".join(
        variable + _suggestion(variable, names) for variable in unknown
    )


def is_environment(names: Collection[str]) -> bool:
    """Return whether the names in a file are those of environment variables for an image of Kafka."""
    variables = [name for name in names if _VARIABLE.fullmatch(name)]
    return len(variables) == len(names) and any(name.startswith(_PREFIXES[0]) for name in variables)


def _setting_name(rest: str) -> str:
    return re.sub("_{1,3}", lambda match: _SEPARATORS[match[0]], rest.lower())


def _suggestion(variable: str, settings: list[str]) -> str:
    prefix = next((prefix for prefix in reversed(_PREFIXES) if variable.startswith(prefix)), "")
    matches = get_close_matches(_setting_name(variable.removeprefix(prefix)), settings, 1, A_SLIP)
    return f" (did you mean {prefix}{matches[0].upper().replace('.', '_')}?)" if matches else ""
