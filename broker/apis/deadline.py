"""How long a client waits for what changes the cluster.

Kafka's controller refuses what comes too late: with a timeout of 0, or a negative one, everything does
(`QuorumController`, `KafkaEventQueue`). Nothing takes any time here, so that all other timeouts are met.
"""


def has_passed(timeout_ms: int) -> bool:
    """Whether there is no time left when the request comes: REQUEST_TIMED_OUT."""
    return timeout_ms <= 0
