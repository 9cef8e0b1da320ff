"""rich's text, in which names of others can't do anything."""

from __future__ import annotations

from typing import Any

import rich.text

from kohort.protocol.visible import visible


class Text(rich.text.Text):
    """Shows what is not printable as an escape, wherever text is given to it."""

    def __init__(self, text: str = "", *arguments: Any, **options: Any) -> None:
        super().__init__(visible(text), *arguments, **options)

    @classmethod
    def assemble(cls, *parts: Any, **options: Any) -> Text:
        """As rich does."""
        made = super().assemble(*parts, **options)
        assert isinstance(made, Text), "rich makes what it is asked of"
        return made

    def append(self, text: rich.text.Text | str, style: Any = None) -> Text:
        """As rich does."""
        super().append(visible(text) if isinstance(text, str) else text, style)
        return self
