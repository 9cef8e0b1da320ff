"""A proxy in front of any Kafka cluster: every node has a port here, and answers name these ports."""
