"""State of share coordinators."""
