"""What distinguishes client libraries: where they work, and how long their steps take.

The spans were measured with real clients on an idle machine; a run draws from them.
"""

from __future__ import annotations

from typing import NamedTuple

Span = tuple[int, int]  # shortest and longest time in milliseconds


class Library(NamedTuple):
    """Behaviour of a client library that costs time in a rebalance."""

    name: str
    startup_ms: Span  # from the start of the client to its first request for the group
    first_fetch_ms: Span  # from an assignment to the first records: fetch of offsets, then of records
    heartbeat_delay_ms: Span  # by how much a heartbeat is later than its interval
    # The application's thread handles responses to joins and syncs, so that a long batch delays them (Java). Otherwise
    # a thread of the library does (librdkafka), and only the callbacks wait.
    joins_in_poll: bool = True
    # A commit during a rebalance fails at once (Java), or waits behind the JoinGroup on the same connection, which the
    # broker does not read while the JoinGroup is pending (librdkafka).
    commits_behind_join: bool = False
    # An assignment by the consumer protocol waits for the end of the current poll of the application.
    callbacks_at_poll: bool = True
    join_interval_ms: int = 0  # shortest time between two JoinGroups
    has_rebalance_timeout: bool = True  # sends max.poll.interval.ms as rebalance timeout, otherwise the session timeout
    # The user data of sticky assignments is in the assignment, too, which Kafka cannot convert (KIP-848).
    writes_user_data: bool = False


JAVA = Library("java", (60, 170), (15, 60), (5, 20))
JAVA_CONSUMER = Library("java", (20, 270), (15, 130), (2, 15))
LIBRDKAFKA = Library(
    "librdkafka",
    (90, 140),
    (110, 400),
    (1, 15),
    joins_in_poll=False,
    commits_behind_join=True,
    callbacks_at_poll=False,
    join_interval_ms=1_000,
    writes_user_data=True,
)
# Both run in an event loop or a thread of their own and poll the coordinator from there.
AIOKAFKA = Library("aiokafka", (20, 80), (10, 60), (1, 10), joins_in_poll=False, has_rebalance_timeout=False)
KAFKA_PYTHON = Library("kafka-python", (60, 150), (15, 60), (5, 100))
LIBRARIES = {library.name: library for library in (JAVA, LIBRDKAFKA, AIOKAFKA, KAFKA_PYTHON)}
