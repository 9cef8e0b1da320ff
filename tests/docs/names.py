"""Names in backticks, and whether the project has them."""

import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from tests.docs.sources import ROOT, documents, python_files

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
)
"""What is looked at in a file of Python. The library's `tokenize` says the same in five times the time."""
_OTHERS = re.compile(r"Kafka|Java|KIP-|Spark|Source")
"""A paragraph that speaks of others may name what is theirs. Theirs have underscores in constants only."""


def unknown_names() -> Iterator[str]:
    """Each name in backticks that nothing in the project is called, with the file that names it."""
    known = _words()
    for path in documents():
        for paragraph in _FENCED.sub("", path.read_text()).split("\n\n"):
            yield from _unknown(path, paragraph, known)
    for path in python_files():
        for text in _words_of_people(path):
            yield from _unknown(path, text, known)


def _unknown(path: Path, text: str, known: set[str]) -> Iterator[str]:
    others = _OTHERS.search(text) is not None
    for quoted in _QUOTED.findall(text):
        if _FILE.fullmatch(quoted):
            if not _is_file(path, quoted) and quoted not in known:
                yield f"{path.relative_to(ROOT)}: no file {quoted}"
        else:
            yield from (
                f"{path.relative_to(ROOT)}: {word}"
                for word in _WORD.findall(_FILE.sub("", quoted))
                if _looks_like_a_name(word) and not set(word.split(".")) <= known and word not in known
                if not (others and ("_" not in word or word.rpartition(".")[2].isupper()))
            )


def _looks_like_a_name(word: str) -> bool:
    """Whether it is more than a word of English: `member_id`, `GroupEvent`, `group.max.size`."""
    return "_" in word.strip("_") or "." in word or re.search(r"[a-z][A-Z]", word) is not None


def _is_file(path: Path, name: str) -> bool:
    return (ROOT / name).exists() or (path.parent / name).exists() or ("/" not in name and name in _file_names())


@cache
def _file_names() -> frozenset[str]:
    return frozenset(path.name for path in ROOT.rglob("*") if path.suffix in (".py", ".md", ".toml", ".properties"))


def _words() -> set[str]:
    """Whatever code calls something: identifiers, errors and settings as in Kafka, words in strings but docstrings."""
    words: set[str] = set()
    for path in python_files():
        words |= {path.stem, *path.parts}
        for kind, text in _tokens(path):
            if kind == "name":
                words |= {text, text.upper(), text.replace("_", ".")}
            elif kind == "string" and not text.startswith('"""'):
                words |= set(re.findall(r"[\w.-]*\w", text))
    for name in ("pyproject.toml", "Makefile", "setup.py", "docker/compose.yaml"):
        words |= set(re.findall(r"[\w.-]*\w", (ROOT / name).read_text()))
    return words


def _words_of_people(path: Path) -> Iterator[str]:
    """Comments and docstrings, paragraph by paragraph. A file's first paragraph is read with each."""
    said = [text for kind, text in _tokens(path) if kind == "comment" or text.startswith('"""')]
    first = next((text for kind, text in _tokens(path) if kind != "comment"), "")
    introduction = first.replace("`", "") if first.startswith('"""') else ""
    for text in said:
        yield f"{text} {introduction}"


@cache
def _tokens(path: Path) -> tuple[tuple[str, str], ...]:
    """The kinds and texts of a file's names, strings and comments, each once."""
    found = _TOKEN.finditer(path.read_text())
    return tuple(dict.fromkeys((token.lastgroup, token[0]) for token in found if token.lastgroup is not None))
