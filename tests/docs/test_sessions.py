"""Console blocks of the pages are run, or marked with the reason why not."""

from pathlib import Path

import pytest

from tests.docs.blocks import PAGES, ROOT, Block, blocks, blocks_of
from tests.docs.sessions import Session, commands_of, matches

COMMANDS = ROOT / "docs" / "reference" / "commands.md"  # compared with the commands' help
SESSIONS = [
    page
    for page in PAGES
    if page != COMMANDS and any(block.language == "console" and not block.not_run for block in blocks_of(page))
]
TEXT = {"text"}  # formats and drawings: no code


@pytest.mark.parametrize(
    ("expected", "output", "is_match"),
    [
        ("a … c\n", "a b c\n", True),
        ("a …", "a", False),
        ("…\nb", "x\ny\nb", True),
        ("", "x", True),
        ("b", "abc", False),
    ],
)
def test_ellipsis_matches_any_text(expected: str, output: str, is_match: bool) -> None:
    assert matches(expected, output) is is_match


def test_commands_have_their_output() -> None:
    assert list(commands_of("$ a\n$ b\nx\ny\n$ c\n")) == [("a", ""), ("b", "x\ny\n"), ("c", "")]


@pytest.mark.clients
@pytest.mark.parametrize("page", SESSIONS, ids=[str(page.relative_to(ROOT)) for page in SESSIONS])
def test_session_works_as_written(page: Path, tmp_path: Path) -> None:
    session = Session(tmp_path)
    try:
        for block in blocks_of(page):
            if (block.language == "console" or block.title) and not block.not_run:
                session.play(block)
    finally:
        session.stop()


def is_tested(block: Block) -> bool:
    """Return whether a test runs or checks a block."""
    return (
        block.language == "console"
        or block.title != ""
        or block.language in ("python", "yaml", "json", "java", "js", "sql", "svg", *TEXT)  # test_blocks, test_sql
    )


def test_blocks_run_or_have_reason() -> None:
    languages = {language for page in PAGES for language in {block.language for block in blocks_of(page)}}
    every_block = [block for language in languages for block in blocks(language)]
    assert [str(block) for block in every_block if not block.not_run and not is_tested(block)] == []
