"""Fixtures of the tests in this folder."""

from tests.control.sharing_lab import shared
from tests.control.talking import lab

__all__ = ["lab", "shared"]
