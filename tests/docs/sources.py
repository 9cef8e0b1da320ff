"""The texts of the project: documents, Python files and conversations."""

from pathlib import Path

ROOT = Path(__file__).parent.parent.parent
BEHAVIOUR = ROOT / "docs" / "behaviour"
CONVERSATIONS = ROOT / "tests" / "conversations"

MARK = (
    "<!-- made by `python -m tests.docs.tables`; a test compares it with the code -->\n"  # below it a page is generated
)

_NOT_OURS = {".venv", "node_modules", "target", "build", "typings", "dist"}


def documents() -> list[Path]:
    """Return all Markdown pages but the changelog, which also describes what was removed."""
    return [path for path in _files("*.md") if path.name != "CHANGELOG.md"]


def python_files() -> list[Path]:
    return _files("*.py")


def conversations() -> list[Path]:
    return sorted(CONVERSATIONS.rglob("*.talk"))


def _files(pattern: str) -> list[Path]:
    return sorted(path for path in ROOT.rglob(pattern) if not _NOT_OURS & set(path.relative_to(ROOT).parts))
