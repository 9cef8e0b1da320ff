"""The clock of a laboratory, which runs, pauses, and jumps without expiring live members."""
