"""The share coordinator: what share groups have made of their records, kept in `__share_group_state` (KIP-932)."""
