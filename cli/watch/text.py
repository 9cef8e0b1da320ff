"""Text of rich that neutralizes control characters in names."""

from __future__ import annotations

from typing import Any

import rich.text

from kohort.base.visible import visible


class Text(rich.text.Text):
    """Text that shows unprintable characters as escapes."""

    def __init__(self, text: str = "", *arguments: Any, **options: Any) -> None:
        super().__init__(visible(text), *arguments, **options)

    @classmethod
    def assemble(cls, *parts: Any, **options: Any) -> Text:
        text = super().assemble(*parts, **options)
        assert isinstance(text, Text), "rich returns an instance of this class"
        return text

    def append(self, text: rich.text.Text | str, style: Any = None) -> Text:
        super().append(visible(text) if isinstance(text, str) else text, style)
        return self
