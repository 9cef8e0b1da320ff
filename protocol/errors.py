"""Kafka's error codes, and the exception for bytes that cannot be read."""

from kio.schema.errors import ErrorCode

__all__ = ["DecodeError", "ErrorCode", "TooManyElementsError"]


class DecodeError(Exception):
    """These bytes are no request that can be read. The connection they came from is closed."""


class TooManyElementsError(DecodeError):
    """A request holds more array elements and tagged fields than it may."""
