"""README and docs say what the code does, and are no longer than somebody reads."""

import re
from pathlib import Path

import pytest

from kohort.protocol.releases import CURRENT, apis_of

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs"
ARCHITECTURE = (ROOT / "ARCHITECTURE.md").read_text()
LIVES = (DOCS / "explanation/lives.md").read_text()


LONGEST = {"README.md": 10_000, "ARCHITECTURE.md": 20_000}


@pytest.mark.parametrize("name", LONGEST)
def test_prominent_pages_are_short(name: str) -> None:
    assert len((ROOT / name).read_bytes()) <= LONGEST[name]


def test_index_lists_every_page_once() -> None:
    listed = re.findall(r"^\| \[[^]]+\]\(([\w./-]+)\) \|", (DOCS / "README.md").read_text(), re.MULTILINE)
    pages = [path.relative_to(DOCS) for path in DOCS.rglob("*.md")]
    alone = {str(path) for path in pages if path.parent.name not in ("", "behaviour", "cookbook")}
    assert sorted(listed) == sorted({*alone, "behaviour/README.md", "how-to/cookbook/README.md"})


def test_cookbook_lists_every_page_once() -> None:
    cookbook = DOCS / "how-to" / "cookbook"
    listed = re.findall(r"^- \[[^]]+\]\(([\w-]+\.md)\)$", (cookbook / "README.md").read_text(), re.MULTILINE)
    assert sorted(listed) == sorted(path.name for path in cookbook.glob("*.md") if path.name != "README.md")


def test_api_table_matches_api_versions() -> None:
    told = [
        (int(key), name, versions)
        for key, name, versions in re.findall(
            r"^\| (\d+) \| (\w+) \| ([\d–]+) \|$", (DOCS / "reference/served.md").read_text(), re.MULTILINE
        )
    ]
    served = [
        (
            api.key,
            "".join(word.capitalize() for word in api.name.split("_")),
            f"{api.min_version}–{api.max_version}" if api.max_version > api.min_version else str(api.max_version),
        )
        for api in apis_of(CURRENT)
    ]
    assert told == served


def test_architecture_paths_exist() -> None:
    rooms = re.findall(r"^\| `(\w+)/` \|", ARCHITECTURE, re.MULTILINE)
    assert rooms
    assert [room for room in rooms if not (ROOT / room).is_dir()] == []
    files = {name for name in re.findall(r"`([\w/]+\.py)`", ARCHITECTURE + LIVES) if "/" in name}
    assert [name for name in sorted(files) if not (ROOT / name).exists()] == []


def test_examples_page_lists_every_example() -> None:
    page = (DOCS / "reference/examples.md").read_text()
    told = re.findall(r"^\| \[(test_\w+\.py)\]\(\.\./\.\./examples/\1\) \| (.+) \|$", page, re.MULTILINE)
    there = [
        (path.name, path.read_text().split('"""')[1].splitlines()[0])
        for path in sorted((ROOT / "examples").glob("test_*.py"))
    ]
    assert told == there


def test_http_examples_match_python_examples() -> None:
    over_http = ROOT / "examples" / "http"
    page = (over_http / "README.md").read_text()
    told = re.findall(r"^\| \[(\S+)\]\(\1\.test\.js\) \| (.+) \|$", page, re.MULTILINE)
    first_lines = {
        path.name.removesuffix(".test.js"): path.read_text().splitlines()[0].removeprefix("// ")
        for path in sorted(over_http.glob("*.test.js"))
    }
    assert dict(told) == first_lines
    in_python = sorted(
        path.stem.removeprefix("test_").replace("_", "-") for path in (ROOT / "examples").glob("test_*.py")
    )
    assert list(first_lines) == [name for name in in_python if name not in IN_PYTHON_ALONE]


IN_PYTHON_ALONE = (
    "11-move-to-the-new-protocol",
    "12-a-partition-not-given-up",
    "13-a-poison-record",
    "14-a-worker-outlives-its-lock",
    "15-before-a-real-cluster",
    "16-an-incident-again",
    "17-a-stream-without-its-topic",
)
"""Stories that kafkajs can't tell: it does not speak those protocols; and those of the proxy."""
