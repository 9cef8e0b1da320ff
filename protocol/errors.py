"""Kafka's error codes, and the exception for malformed bytes."""

from kio.schema.errors import ErrorCode

__all__ = ["DecodeError", "ErrorCode", "TooManyElementsError"]


class DecodeError(Exception):
    """Malformed bytes. Their connection is closed."""


class TooManyElementsError(DecodeError):
    """A request exceeds the limit of array elements and tagged fields."""
