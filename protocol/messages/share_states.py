"""Ranges of records and what became of them: the part that reading and writing of share group states have in common."""

from kohort.protocol.shape import shape


@shape
class StateBatch:
    first_offset: int
    last_offset: int
    delivery_state: int
    delivery_count: int
