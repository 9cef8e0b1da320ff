"""Partition logs: Kafka's record batches kept as bytes, and the topics that own them."""
