"""Kafka's error codes, and the exception for bytes that cannot be read."""

from kio.schema.errors import ErrorCode

__all__ = ["DecodeError", "ErrorCode"]


class DecodeError(Exception):
    """These bytes are no request that can be read. The connection they came from is closed."""
