"""Requests that only brokers send are made as brokers make them, as far as Kafka counts on that.

A marker for a partition that is named twice, or two for one producer, Kafka never answers, or for one of both, as its
hash maps have it. Markers with negative numbers take others with them, if those are not written yet. An
AddPartitionsToTxn that names a transactional id twice is answered before either is written, or after. None of that can
come from a client.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tests.talk.values import Value

FIRST_OF_BROKERS = 4
"""The version of AddPartitionsToTxn from which on only brokers send it, for many transactions at once."""


def as_brokers_make_it(api: str, version: int, values: dict[str, Value]) -> dict[str, Value]:
    """Return the request without duplicate names and without impossible markers."""
    if api == "WriteTxnMarkers":
        markers = _once(values["markers"], lambda marker: marker["producer_id"])
        possible = [marker for marker in markers if min(_numbers(marker)) >= 0]
        return {**values, "markers": [_marker(marker) for marker in possible or markers[:1]]}
    if api == "AddPartitionsToTxn" and version >= FIRST_OF_BROKERS:
        transactions = _once(values["transactions"], lambda transaction: transaction["transactional_id"])
        return {**values, "transactions": [{**each, "topics": _topics(each, "partitions")} for each in transactions]}
    return values


def _numbers(marker: dict[str, Any]) -> list[int]:
    named = ("producer_id", "producer_epoch", "transaction_version")
    return [0, *(marker[name] for name in named if isinstance(marker.get(name), int))]


def _marker(marker: dict[str, Any]) -> dict[str, Value]:
    return {**marker, "topics": _topics(marker, "partition_indexes")}


def _topics(values: dict[str, Any], listed: str) -> list[dict[str, Value]]:
    topics = _once(values["topics"], lambda topic: topic["name"])
    return [{**topic, listed: _once(topic[listed], lambda index: index)} for topic in topics]


def _once(values: list[Any], name_of: Callable[[Any], Any]) -> list[Any]:
    return list({repr(name_of(value)): value for value in reversed(values)}.values())[::-1]
