"""The documentation site: its navigation, and the links of a built site."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import yaml

from tests.docs.sources import ROOT

DOCS = ROOT / "docs"
CONFIG = ROOT / "mkdocs.yml"


class _Loader(yaml.SafeLoader):  # type: ignore[misc]  # yaml has no types here
    """Loader of mkdocs.yml, which contains tags of MkDocs."""


def _ignore(loader: object, suffix: str, node: object) -> None:
    return None


_Loader.add_multi_constructor("", _ignore)


def navigation() -> list[str]:
    """Return the pages in the site's navigation, in order."""

    def pages(entry: object) -> Iterator[str]:
        if isinstance(entry, str):
            yield entry
        elif isinstance(entry, dict):
            for value in entry.values():
                yield from pages(value)
        elif isinstance(entry, list):
            for value in entry:
                yield from pages(value)

    return list(pages(yaml.load(CONFIG.read_text(), Loader=_Loader)["nav"]))


def build_site(folder: Path) -> subprocess.CompletedProcess[str]:
    """Build the site strictly into a folder."""
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(folder)]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=100)


class Html(HTMLParser):
    """Anchors, links and loaded files of a page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.anchors: set[str] = set()
        self.links: set[str] = set()
        self.loads: set[str] = set()
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = {name: value or "" for name, value in attrs}
        self.anchors |= {values[name] for name in ("id", "name") if name in values}
        if tag == "a" and "href" in values:
            self.links.add(values["href"])
        elif tag == "link" and values.get("rel") not in ("canonical", "prev", "next"):
            self.loads.add(values["href"])
        elif "src" in values:
            self.loads.add(values["src"])


def broken_links(site: Path) -> Iterator[str]:
    """Yield each link, script, style sheet and image of a built site whose target does not exist in it.

    A link to another site is not followed. A file loaded from another site is broken: the site works without a network.
    """
    pages = {path: Html(path.read_text()) for path in site.rglob("*.html") if path.name != "404.html"}
    for path, page in sorted(pages.items()):
        for url in sorted(page.loads | page.links):
            parts = urlsplit(url)
            if parts.scheme or parts.netloc:
                if url in page.loads and parts.scheme != "data":
                    yield f"{path.relative_to(site)}: loads {url}"
                continue
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            target = target / "index.html" if target.is_dir() else target
            anchor = unquote(parts.fragment)
            if not target.exists() or (anchor and target in pages and anchor not in pages[target].anchors):
                yield f"{path.relative_to(site)}: {url}"
