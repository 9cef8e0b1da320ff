"""Hooks of the documentation site (mkdocs.yml): the version, the packages of the API reference, and linked files.

Pages link to files outside of `docs/`, such as examples, as a forge needs it. The site has a page for each of them.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import suppress
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.plugins import event_priority
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs"
IMPORTS = ROOT / "build" / "docs-import"
PROJECT = "project"  # folder of the site for files outside of docs/
LANGUAGES = {".py": "python", ".java": "java", ".js": "js", ".yaml": "yaml", ".talk": "text"}

_CODE = re.compile(r"^ *```.*?^ *```$|`[^`\n]+`", re.MULTILINE | re.DOTALL)
_LINK = re.compile(r"(\[(?:[^\[\]]|!\[[^\]]*\]\([^)]*\))*\])\(([^()\s]+)\)")


@event_priority(100)  # before mkdocstrings looks for the folder
def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Add the version to the header, and lay out the packages as they are imported."""
    config.site_name = f"kohort {version('kohort')}"
    lay_out_packages()
    return config


def lay_out_packages() -> None:
    """Create a folder in which the installed packages have their import names.

    An editable install maps `kohort.testing` to the folder `testing`, which static readers of sources do not find.
    Two processes may do it at once.
    """
    home = IMPORTS / "kohort"
    home.mkdir(parents=True, exist_ok=True)
    root = find_spec("kohort")
    assert root is not None
    assert root.submodule_search_locations is not None
    sources = {source.name: source for path in root.submodule_search_locations for source in Path(path).iterdir()}
    for module in ROOT.glob("*/__init__.py"):
        package = find_spec(f"kohort.{module.parent.name}")
        if package is not None and package.origin is not None:
            sources[module.parent.name] = Path(package.origin).parent
    for link in home.iterdir():
        if link.name not in sources or link.resolve() != sources[link.name].resolve():
            link.unlink(missing_ok=True)
    for name, source in sources.items():
        if name != "__pycache__":
            with suppress(FileExistsError):
                (home / name).symlink_to(source)


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add a page for each file outside of `docs/` to which a page links."""
    pending = list(DOCS.rglob("*.md"))
    added: set[Path] = set()
    while pending:
        for target in targets(pending.pop()):
            if target.is_file() and not target.is_relative_to(DOCS) and target not in added:
                added.add(target)
                files.append(File.generated(config, page_of(target), content=page_text(target)))
                if target.suffix == ".md":
                    pending.append(target)
    return files


def targets(page: Path) -> Iterator[Path]:
    """Yield the files to which a Markdown file links."""
    for _, link in _LINK.findall(_CODE.sub("", page.read_text())):
        name = link.partition("#")[0]
        if name and "://" not in link:
            yield file_of((page.parent / name).resolve())


def file_of(path: Path) -> Path:
    """Return the README of a folder, or the path itself."""
    return path / "README.md" if (path / "README.md").is_file() else path


def page_of(path: Path) -> str:
    """Return the page of the site that shows a file, relative to the pages."""
    if path.is_relative_to(DOCS):
        return path.relative_to(DOCS).as_posix()
    name = path.relative_to(ROOT).as_posix()
    return f"{PROJECT}/{name if name.endswith('.md') else f'{name}.md'}"


def page_text(path: Path) -> str:
    """Return a file as Markdown."""
    if path.suffix == ".md":
        return path.read_text()
    return f"# {path.name}\n\n````{LANGUAGES.get(path.suffix, '')}\n{path.read_text()}````\n"


def on_page_markdown(markdown: str, page: Page, **_: Any) -> str:
    """Let links to files outside of `docs/` lead to their pages."""
    uri = page.file.src_uri
    source = ROOT / uri.removeprefix(f"{PROJECT}/") if uri.startswith(f"{PROJECT}/") else DOCS / uri
    if not source.is_file():  # a page with the text of a file that is not Markdown
        return markdown
    parts, start = [], 0
    for code in _CODE.finditer(markdown):
        parts += [_with_links(markdown[start : code.start()], source, uri), code[0]]
        start = code.end()
    return "".join([*parts, _with_links(markdown[start:], source, uri)])


def _with_links(text: str, source: Path, uri: str) -> str:
    def rewrite(match: re.Match[str]) -> str:
        name, hash_sign, anchor = match[2].partition("#")
        if not name or "://" in match[2] or match[2].startswith("mailto:"):
            return match[0]
        target = file_of((source.parent / name).resolve())
        if target.is_relative_to(DOCS) and source.is_relative_to(DOCS):
            return match[0]
        if not target.is_file():  # a folder, or a file that is missing: the strict build reports the latter
            return match[1][1:-1] if target.is_dir() else match[0]
        return f"{match[1]}({os.path.relpath(page_of(target), Path(uri).parent)}{hash_sign}{anchor})"

    return _LINK.sub(rewrite, text)
