"""Dead letters: ranges of records that a share group cannot process, for the group's dead-letter topic (KIP-1191)."""

from typing import Final, NamedTuple

from kohort.coordinator.share_partitions.in_flight import InFlight

REJECTED_MESSAGE: Final = "Offset rejected by client."
LIMIT_MESSAGE: Final = "Offset delivery count exceeded the threshold."


class DeadLetters(NamedTuple):
    """Range of offsets with the same delivery count and reason."""

    first_offset: int
    last_offset: int
    delivery_count: int
    message: str


def letters_of(in_flight: InFlight, index: int, message: str) -> DeadLetters:
    return DeadLetters(in_flight.firsts[index], in_flight.lasts[index], in_flight.counts[index], message)
