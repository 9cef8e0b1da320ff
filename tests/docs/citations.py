"""Citations such as `classic-groups §3.3 step 7`, and the sections of docs/behaviour that they name."""

import re
from collections.abc import Iterator
from itertools import zip_longest
from typing import NamedTuple

from tests.docs.sources import BEHAVIOUR

_DOCUMENT = r"(?P<document>[a-z]+(?:-[a-z]+)*)(?:\.md)?(?:\]\([^)]*\))?"
_SECTION = r"§(?P<section>\d+(?:\.\d+)?)(?: (?:step|steps|rule|rules) (?P<rule>\d+))?"
_FIRST = re.compile(rf"(?:{_DOCUMENT} )?{_SECTION}")
_HEADING = re.compile(r"^#{2,3} (\d+(?:\.\d+)?)\.? (.+)$", re.MULTILINE)


class Citation(NamedTuple):
    """Document without its suffix, a section, and the rule in it, if the citation names one."""

    document: str
    section: str
    rule: str | None


def citations(text: str, document: str = "") -> Iterator[Citation]:
    """Yield the citations of a text.

    A citation without a document belongs to the document of the previous one in its line, or to `document`.
    """
    for line in text.splitlines():
        if "§" not in line:  # the expression would try each word of it
            continue
        named = document
        for match in _FIRST.finditer(line):
            named = match["document"] or named
            yield Citation(named, match["section"], match["rule"])


def sections() -> dict[tuple[str, str], str]:
    """Return the text of each section of docs/behaviour, by document and number."""
    bodies = {}
    for path in sorted(BEHAVIOUR.glob("*.md")):
        text = path.read_text()
        headings = list(_HEADING.finditer(text))
        for heading, following in zip_longest(headings, headings[1:]):
            bodies[path.stem, heading[1]] = text[heading.end() : following.start() if following else None]
    return bodies


def titles() -> dict[tuple[str, str], str]:
    """Return the title of each section, by document and number."""
    return {
        (path.stem, heading[1]): heading[2]
        for path in sorted(BEHAVIOUR.glob("*.md"))
        for heading in _HEADING.finditer(path.read_text())
    }


def has_rule(body: str, rule: str) -> bool:
    return re.search(rf"^{rule}\. ", body, re.MULTILINE) is not None
