"""Share coordinator: states of share partitions, stored in `__share_group_state` (KIP-932)."""
