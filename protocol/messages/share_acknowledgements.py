"""What a member says of ranges of records: the part that ShareFetch and ShareAcknowledge requests have in common."""

from kohort.protocol.shape import shape


@shape
class AcknowledgementBatch:
    first_offset: int
    last_offset: int
    acknowledge_types: tuple[int, ...] = ()
    """One for all offsets, or one for each: 0 gap, 1 accept, 2 release, 3 reject, 4 renew (from v2 on)."""
