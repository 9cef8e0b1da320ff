"""Share partitions: the records that members of a share group have acquired, and the states of the others (KIP-932)."""
