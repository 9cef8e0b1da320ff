"""Links of README and docs have existing files and headings as targets."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from tests.docs.sources import ROOT, documents

_FENCED = re.compile(r"^```.*?^```$", re.DOTALL | re.MULTILINE)
_LINK = re.compile(r"\]\(([^()\s]+)\)")
_HEADING = re.compile(r"^#{1,6} (.+)$", re.MULTILINE)
_ANCHOR = re.compile(r'<a (?:id|name)="([^"]+)"')


@cache
def anchors(page: Path) -> frozenset[str]:
    """Return the anchors of a page's headings."""
    text = _FENCED.sub("", page.read_text())
    headings = [re.sub(r"[`*]|\[|\]\([^)]*\)", "", heading).strip().lower() for heading in _HEADING.findall(text)]
    return frozenset([re.sub(r"[^\w\- ]", "", title).replace(" ", "-") for title in headings] + _ANCHOR.findall(text))


def links() -> Iterator[tuple[Path, str]]:
    for page in documents():
        for link in _LINK.findall(_FENCED.sub("", page.read_text())):
            if "://" not in link and not link.startswith("mailto:"):
                yield page, link


def test_there_are_links() -> None:
    assert len(list(links())) > 100


def test_links_have_targets() -> None:
    broken = []
    for page, link in links():
        name, _, anchor = link.partition("#")
        target = (page.parent / name).resolve() if name else page
        if not target.exists() or (anchor and target.suffix == ".md" and anchor not in anchors(target)):
            broken.append(f"{page.relative_to(ROOT)}: {link}")
    assert broken == []
