"""Shortcuts: requests that are recognised without being read, and what is kept to answer them again.

Everything is answered the same without this folder, only slower. Outside of it `broker/shortcuts.py` says what a
shortcut may do, and nobody names what is inside.
"""

from kohort.broker.fast.remembered_requests import SHORTCUTS

__all__ = ["SHORTCUTS"]
