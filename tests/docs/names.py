"""Names in backticks, and whether the project has them."""

import ast
import io
import re
import tokenize
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from tests.docs.sources import ROOT, documents, python_files

_QUOTED = re.compile(r"(?<!`)`([^`\n]+)`(?!`)")
_FENCED = re.compile(r"```.*?```", re.DOTALL)
_FILE = re.compile(r"[\w./-]+\.(?:py|md|toml|talk|properties)")
_WORD = re.compile(r"(?<![\w.])[A-Za-z_]\w*(?:\.\w+)*")
_OTHERS = re.compile(r"Kafka|Java|KIP-|Spark|Source")
"""A paragraph that speaks of others may name what is theirs. Theirs have underscores in constants only."""


def unknown_names() -> Iterator[str]:
    """Each name in backticks that nothing in the project is called, with the file that names it."""
    known = _words()
    for path in documents():
        for paragraph in _FENCED.sub("", path.read_text()).split("\n\n"):
            yield from _unknown(path, paragraph, known)
    for path in python_files():
        for text in _words_of_people(path.read_text()):
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
        for token in tokenize.generate_tokens(io.StringIO(path.read_text()).readline):
            if token.type == tokenize.NAME:
                words |= {token.string, token.string.upper(), token.string.replace("_", ".")}
            elif token.type == tokenize.STRING and not token.string.startswith('"""'):
                words |= set(re.findall(r"[\w.-]*\w", token.string))
    for name in ("pyproject.toml", "Makefile", "setup.py", "docker/compose.yaml"):
        words |= set(re.findall(r"[\w.-]*\w", (ROOT / name).read_text()))
    return words


def _words_of_people(source: str) -> Iterator[str]:
    """Comments and docstrings, paragraph by paragraph. A file's first paragraph is read with each."""
    introduction = (ast.get_docstring(ast.parse(source)) or "").replace("`", "")
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT or (token.type == tokenize.STRING and token.string.startswith('"""')):
            yield f"{token.string} {introduction}"
