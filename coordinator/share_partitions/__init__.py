"""Share partitions: which member of a share group holds which records, and what became of others (KIP-932)."""
