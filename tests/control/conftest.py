"""What the broker logs, as in the tests of the broker."""

from tests.broker.conftest import lines

__all__ = ["lines"]
