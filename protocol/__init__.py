"""Bytes to values and back: frames, headers, messages, record batches, error codes. Knows nothing but the wire."""
