"""Finds names in backticks that do not exist in the project."""

import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from tests.docs.sources import MARK, ROOT, documents, python_files

_QUOTED = re.compile(r"(?<!`)`([^`\n]+)`(?!`)")
_FENCED = re.compile(r"```.*?```", re.DOTALL)
_FILE = re.compile(r"[\w./-]+\.(?:py|md|toml|talk|properties)")
_WORD = re.compile(r"(?<![\w.])[A-Za-z_]\w*(?:\.\w+)*")
_TOKEN = re.compile(
    r"""
    (?P<string>  [rbfuRBFU]{0,2} (?:
        "{3} (?: \\[\s\S] | [^\\] )*? "{3} | '{3} (?: \\[\s\S] | [^\\] )*? '{3}
        | " (?: \\[\s\S] | [^"\\\n] )* " | ' (?: \\[\s\S] | [^'\\\n] )* '
    ))
    | (?P<comment>  \#[^\n]* )
    | (?P<name>  [^\W\d]\w* )
    | \d[\w.]*
    """,
    re.VERBOSE,
)  # tokenize of the standard library finds the same five times as slowly
# a paragraph that mentions these may contain foreign names; foreign names have underscores in constants only
_FOREIGN = re.compile(r"Kafka|Java|KIP-|Spark|Source")


def unknown_names() -> Iterator[str]:
    """Yield each name in backticks that does not exist in the project, with its file."""
    names = _existing_names()
    for path in documents():
        title, _, text = path.read_text().partition("\n\n")
        if text.startswith(MARK):  # the code is the source of these names
            continue
        for paragraph in _FENCED.sub("", f"{title}\n\n{text}").split("\n\n"):
            yield from _unknown(path, paragraph, names)
    for path in python_files():
        for text in _prose(path):
            yield from _unknown(path, text, names)


def _unknown(path: Path, text: str, names: set[str]) -> Iterator[str]:
    is_foreign = _FOREIGN.search(text) is not None
    for quoted in _QUOTED.findall(text):
        if _FILE.fullmatch(quoted):
            if not _is_file(path, quoted) and quoted not in names:
                yield f"{path.relative_to(ROOT)}: no file {quoted}"
        else:
            yield from (
                f"{path.relative_to(ROOT)}: {word}"
                for word in _WORD.findall(_FILE.sub("", quoted))
                if _looks_like_a_name(word) and not set(word.split(".")) <= names and word not in names
                if not (is_foreign and ("_" not in word or word.rpartition(".")[2].isupper()))
            )


def _looks_like_a_name(word: str) -> bool:
    """Return whether a word looks like code: `member_id`, `GroupEvent`, `group.max.size`."""
    return "_" in word.strip("_") or "." in word or re.search(r"[a-z][A-Z]", word) is not None


def _is_file(path: Path, name: str) -> bool:
    return (ROOT / name).exists() or (path.parent / name).exists() or ("/" not in name and name in _file_names())


@cache
def _file_names() -> frozenset[str]:
    return frozenset(path.name for path in ROOT.rglob("*") if path.suffix in (".py", ".md", ".toml", ".properties"))


def _existing_names() -> set[str]:
    """Return identifiers, their forms as errors and settings in Kafka, and words in strings other than docstrings."""
    names: set[str] = set()
    for path in python_files():
        names |= {path.stem, *path.parts}
        for kind, text in _tokens(path):
            if kind == "name":
                names |= {text, text.upper(), text.replace("_", ".")}
            elif kind == "string" and not text.startswith('"""'):
                names |= set(re.findall(r"[\w.-]*\w", text))
    for name in ("pyproject.toml", "Makefile", "setup.py", "docker/compose.yaml"):
        names |= set(re.findall(r"[\w.-]*\w", (ROOT / name).read_text()))
    return names


def _prose(path: Path) -> Iterator[str]:
    """Yield comments and docstrings, each followed by the module docstring."""
    texts = [text for kind, text in _tokens(path) if kind == "comment" or text.startswith('"""')]
    first = next((text for kind, text in _tokens(path) if kind != "comment"), "")
    introduction = first.replace("`", "") if first.startswith('"""') else ""
    for text in texts:
        yield f"{text} {introduction}"


@cache
def _tokens(path: Path) -> tuple[tuple[str, str], ...]:
    """Return the distinct names, strings and comments of a file with their types."""
    tokens = _TOKEN.finditer(path.read_text())
    return tuple(dict.fromkeys((token.lastgroup, token[0]) for token in tokens if token.lastgroup is not None))
