"""Extension of griffe for the documentation site: comments of dataclass fields are their descriptions."""

from __future__ import annotations

import re
from typing import Any

import griffe

_TRAILING = re.compile(r"  # (.+)$")


class FieldComments(griffe.Extension):
    """Describes a field by its trailing comment, or by the comment lines above it.

    A docstring below each field would take two lines per field in the sources; see "Docstrings" in the style guide.
    """

    def on_attribute_instance(self, *, node: Any, attr: griffe.Attribute, agent: Any, **_: Any) -> None:
        """Give a field without a docstring the text of its comment."""
        if attr.docstring is None and attr.parent is not None and attr.parent.is_class and attr.lineno is not None:
            text = _comment(agent.code.splitlines(), attr.lineno, attr.endlineno or attr.lineno)
            if text:
                attr.docstring = griffe.Docstring(text[:1].upper() + text[1:], parent=attr)


def _comment(lines: list[str], first: int, last: int) -> str:
    """Return the comment of the statement in these lines, which count from 1."""
    trailing = _TRAILING.search(lines[last - 1])
    if trailing:
        return trailing[1]
    above: list[str] = []
    for line in reversed(lines[: first - 1]):
        if not line.lstrip().startswith("# "):
            break
        above.insert(0, line.strip().removeprefix("# "))
    return " ".join(above)
