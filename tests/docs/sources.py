"""The texts of the project: its documents, its Python files, its conversations."""

from pathlib import Path

ROOT = Path(__file__).parent.parent.parent
BEHAVIOUR = ROOT / "docs" / "behaviour"
CONVERSATIONS = ROOT / "tests" / "conversations"

_NOT_OURS = {".venv", "node_modules", "target", "build", "typings", "dist"}


def documents() -> list[Path]:
    """Every page in Markdown, but for the list of changes, which tells of what is gone, too."""
    return [path for path in _files("*.md") if path.name != "CHANGELOG.md"]


def python_files() -> list[Path]:
    """Every Python file, tests and examples included."""
    return _files("*.py")


def conversations() -> list[Path]:
    """Every recorded or written conversation."""
    return sorted(CONVERSATIONS.rglob("*.talk"))


def _files(pattern: str) -> list[Path]:
    return sorted(path for path in ROOT.rglob(pattern) if not _NOT_OURS & set(path.relative_to(ROOT).parts))
