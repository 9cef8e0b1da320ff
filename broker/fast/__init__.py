"""Shortcuts: requests that are recognized without being parsed, and the values with which they are answered again.

Without this folder every response is the same, only slower. `broker/shortcuts.py` is the interface; no other code
refers to modules of this folder.
"""

from kohort.broker.fast.remembered_requests import SHORTCUTS

__all__ = ["SHORTCUTS"]
