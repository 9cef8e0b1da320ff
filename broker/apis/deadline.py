"""Timeouts of requests that change the cluster.

Kafka's controller rejects late requests: those with a timeout of 0 or less always are (`QuorumController`,
`KafkaEventQueue`). Changes take no time here, so that all other timeouts are met.
"""


def has_passed(timeout_ms: int) -> bool:
    """Return whether a request has expired on arrival: REQUEST_TIMED_OUT."""
    return timeout_ms <= 0
