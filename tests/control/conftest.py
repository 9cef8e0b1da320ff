"""What the tests of this room share."""

from tests.control.sharing_lab import shared
from tests.control.talking import lab

__all__ = ["lab", "shared"]
