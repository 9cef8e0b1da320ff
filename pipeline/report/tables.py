"""Tables of a page: they scroll separately, also by keyboard, if they are wider than the screen."""

from __future__ import annotations

from collections.abc import Iterable


def table(columns: Iterable[str], rows: str, *, numbers: bool = False) -> str:
    """Render a table.

    Args:
        columns: Titles of the columns.
        rows: Rows as HTML.
        numbers: All columns except the first one are numbers, so their titles are on the right.
    """
    number = ' class="n"' if numbers else ""
    head = "".join(f'<th scope="col"{number if n else ""}>{column}</th>' for n, column in enumerate(columns))
    return f'<div class="scroll" tabindex="0"><table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table></div>'
