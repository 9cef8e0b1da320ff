"""The client libraries that play, by the names people know them under."""

from __future__ import annotations

from importlib.util import find_spec

LIBRARIES = {"aiokafka": "aiokafka", "kafka-python": "kafka", "confluent-kafka": "confluent_kafka"}
"""The name on the package index, and the module it installs."""


def missing_libraries() -> list[str]:
    """Those that are not installed here."""
    return [name for name, module in LIBRARIES.items() if find_spec(module) is None]
