"""Kafka's wire format: frames, headers, messages, record batches, error codes. It knows nothing about its users."""
