"""The code blocks of README and docs."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parent.parent.parent
PAGES = (
    ROOT / "README.md",
    ROOT / "CONTRIBUTING.md",
    *sorted((ROOT / "docs").rglob("*.md")),
    ROOT / "examples/http/README.md",
    ROOT / "clients/README.md",
)

_BLOCK = re.compile(
    r"^(?P<comments>(?:<!-- [^\n]* -->\n)*)"
    r"```(?P<language>\w*)(?: title=\"(?P<title>[^\"]+)\")?\n(?P<text>.*?)^```$",
    re.MULTILINE | re.DOTALL,
)
_COMMENT = re.compile(r"<!-- (not run|fails|given): (.*) -->")


@dataclass(frozen=True)
class Block:
    """Code block with its position."""

    page: str
    line: int
    language: str
    text: str
    title: str = ""  # name of the file that contains it
    not_run: str = ""  # the reason why no test runs it
    fails: str = ""  # text in the output of a test that shows a bug
    # Commands that a test runs before the block: they start what a reader has already.
    preparation: tuple[str, ...] = ()

    def __str__(self) -> str:
        return f"{self.page}:{self.line}"


def blocks(language: str) -> list[Block]:
    """Return the blocks in a language, of all pages."""
    return [block for page in PAGES for block in blocks_of(page) if block.language == language]


def blocks_of(page: Path) -> list[Block]:
    """Return the blocks of a page in order.

    Comments before a block say that it is not run, that its test fails, or what a reader has already.
    """
    text = page.read_text()
    return [
        Block(
            str(page.relative_to(ROOT)),
            text.count("\n", 0, match.start("language")) + 1,
            match["language"],
            match["text"],
            match["title"] or "",
            "".join(comment for mark, comment in comments if mark == "not run"),
            "".join(comment for mark, comment in comments if mark == "fails"),
            tuple(comment for mark, comment in comments if mark == "given"),
        )
        for match in _BLOCK.finditer(text)
        for comments in [_COMMENT.findall(match["comments"])]
    ]
