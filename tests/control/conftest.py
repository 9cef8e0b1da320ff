"""What the tests of this room share."""

from tests.broker.conftest import lines
from tests.control.talking import lab

__all__ = ["lab", "lines"]
