"""The effect of a transaction's end on the offsets that it committed (KIP-447; classic-groups §7.3)."""

from kohort.coordinator.coordinator import GroupCoordinator


def complete(coordinator: GroupCoordinator, partition: int, producer_id: int, committed: bool, now_ms: int) -> None:
    """Apply or discard the offsets of a transaction that has ended in a partition of `__consumer_offsets`."""
    for group_id in coordinator.open_transactions.pop((partition, producer_id), ()):
        group = coordinator.groups.get(group_id)
        if group is None or group.pending_offsets is None:
            continue  # it was deleted during the transaction
        counts = group.pending_offsets.end(producer_id, committed=committed)
        if not group.pending_offsets:
            group.pending_offsets = None
        for (topic, index), offset in counts.items():
            group.committed_offsets().put(topic, index, offset)
