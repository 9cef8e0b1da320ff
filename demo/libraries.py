"""Client libraries of the play, by their names on the package index."""

from __future__ import annotations

from importlib.util import find_spec

# name on the package index: the installed module
LIBRARIES = {"aiokafka": "aiokafka", "kafka-python": "kafka", "confluent-kafka": "confluent_kafka"}


def missing_libraries() -> list[str]:
    return [name for name, module in LIBRARIES.items() if find_spec(module) is None]
