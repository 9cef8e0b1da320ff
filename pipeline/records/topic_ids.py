"""Topic ids as text."""

from __future__ import annotations

import base64
import uuid


def kafka_uuid(raw: bytes) -> str:
    """Return a topic id as Kafka prints it: base64 for URLs, without padding."""
    return base64.urlsafe_b64encode(raw).rstrip(b"=").decode()


def uuid_bytes(text: str) -> bytes:
    """Parse a topic id, in Kafka's 22 letters or in hexadecimal with dashes."""
    return base64.urlsafe_b64decode(text + "==") if len(text) == 22 else uuid.UUID(text).bytes
