"""State batches: common part of reading and writing share-group states."""

from kohort.protocol.shape import shape


@shape
class StateBatch:
    first_offset: int
    last_offset: int
    delivery_state: int
    delivery_count: int
