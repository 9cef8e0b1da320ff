"""Share groups (KIP-932): members, epochs and assignments. The share-partition leaders hand out their records."""
