"""Proxy in front of any Kafka cluster: every node has a port here, and responses name these ports."""
