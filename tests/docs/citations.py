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
    """A document without its ending, a section, and the rule within it, if one is named."""

    document: str
    section: str
    rule: str | None


def citations(text: str, document: str = "") -> Iterator[Citation]:
    """The citations of a text. One without a document means the document named before it, or `document` at first."""
    for line in text.splitlines():
        if "§" not in line:  # the expression would try each word of it
            continue
        named = document
        for found in _FIRST.finditer(line):
            named = found["document"] or named
            yield Citation(named, found["section"], found["rule"])


def sections() -> dict[tuple[str, str], str]:
    """The text of each section of docs/behaviour, by document and number."""
    found = {}
    for path in sorted(BEHAVIOUR.glob("*.md")):
        text = path.read_text()
        headings = list(_HEADING.finditer(text))
        for heading, following in zip_longest(headings, headings[1:]):
            found[path.stem, heading[1]] = text[heading.end() : following.start() if following else None]
    return found


def titles() -> dict[tuple[str, str], str]:
    """What each section is called, by document and number."""
    return {
        (path.stem, heading[1]): heading[2]
        for path in sorted(BEHAVIOUR.glob("*.md"))
        for heading in _HEADING.finditer(path.read_text())
    }


def has_rule(body: str, rule: str) -> bool:
    """Whether a section has a rule of that number."""
    return re.search(rf"^{rule}\. ", body, re.MULTILINE) is not None
