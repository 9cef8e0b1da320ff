"""Share groups (KIP-932): members, epochs and assignments; their records are shared out elsewhere."""
