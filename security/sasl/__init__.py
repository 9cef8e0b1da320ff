"""Server side of SASL (KIP-43, KIP-152, KIP-368): mechanisms, and the valid order of requests."""
