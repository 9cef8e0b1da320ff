"""What the tests of this room share."""

from tests.control.talking import lab

__all__ = ["lab"]
