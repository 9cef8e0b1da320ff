"""Acknowledgement batches: common part of ShareFetch and ShareAcknowledge requests."""

from kohort.protocol.shape import shape


@shape
class AcknowledgementBatch:
    first_offset: int
    last_offset: int
    # one for all offsets, or one per offset: 0 gap, 1 accept, 2 release, 3 reject, 4 renew (from v2 on)
    acknowledge_types: tuple[int, ...] = ()
