"""Partition logs: Kafka's record batches kept as bytes, and the topics they belong to."""
