"""Checks of the wording of names, docstrings, comments and messages.

python -m tests.support.wording                 # offenders of each folder, counted
python -m tests.support.wording broker tests/broker   # offenders of some folders, with file and line
python -m tests.support.wording --update        # write lower counts to tests/wording.toml

`tests/wording.toml` holds the number of offenders that each folder still has. It may only fall. Words that Kafka or a
protocol prescribes are listed there as quotations.
"""

from __future__ import annotations

import argparse
import ast
import re
import subprocess
import sys
import tomllib
from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parent.parent.parent
TABLE = ROOT / "tests" / "wording.toml"
DEEPER = {"clients", "control", "coordinator", "docs", "protocol", "proxy", "tests"}  # counted one level deeper
MAX_TEST_WORDS = 6
MAX_SUBJECT_LENGTH = 72

CHECKS = {
    "verb": "docstring of a function that does not start with a verb in base form",
    "dialect": "word from the left column of the word table, also in documents and comments of conversations",
    "name": "name of one vague word",
    "test": f"test name with more than {MAX_TEST_WORDS} words, a leading article, or what, who or which",
}

_VERBS_TEXT = """
    abort accept acknowledge acquire add adjust advance allocate allow alter answer append apply arm assemble
    assert assign attach authenticate await begin bind block build bump cache calculate call cancel check choose
    clear close collect combine commit compact compare compile complete compress compute configure confirm
    connect consume contain convert copy count create cut deactivate decide declare decode decompress decrease
    defer define delay delete deliver deny derive describe deserialize detach detect determine disable discard
    disconnect dispatch distribute divide downgrade drain draw drop elect emit enable encode end enforce enqueue
    ensure enter escape estimate evaluate evict execute exit expand expire explain export extend extract fail
    feed fence fetch fill filter find finish fire flag flush follow force forget format forward free freeze
    gather generate get give grant group grow guard handle hide hold identify ignore import include increment
    index infer initialize insert inspect install interrupt invalidate invoke issue iterate join jump keep kill
    launch leave let limit link list listen load locate lock log look make map mark match measure merge migrate
    mirror modify monitor mount move multiply narrow normalize note notify observe obtain open order override
    pack pad parse partition pass pause perform persist pick plan play poll pop populate post predict prefix
    prepare prevent print probe process produce project propose protect prove provide prune publish pull push put
    query queue quote raise rank reach read rebalance rebuild receive reconcile record recover redeliver
    redirect reduce refresh refuse register reject release reload remember remove rename render renew reopen
    repeat replace replay reply report represent request require reserve reset resolve respond restart restore
    resume retry return reuse reveal revoke rewind rewrite roll rotate round run save scale scan schedule search
    seek select send serialize serve set settle shorten show shrink shut sign simulate skip sleep slice sort
    split start stop store stream strip submit subscribe subtract suggest sum summarize suppress swap switch
    sync synchronize take tell terminate test throttle toggle trace track transfer transform translate treat
    trim truncate try turn unload unpack unwrap update upgrade use validate verify visit wait wake walk warn
    watch widen withdraw wrap write yield
    """
VERBS = frozenset(_VERBS_TEXT.split())

_VAGUE_NAMES_TEXT = """
    known found heard told asked made then given taken said late each there wanted seen gone left shown met others
    before away done has which whose what who whom when where why here those these such anew again meanwhile
    """
VAGUE_NAMES = frozenset(_VAGUE_NAMES_TEXT.split())

DIALECT = re.compile(
    r"""\b(?:
    hears? | heard | tells? | told | says | asks | (?:is|are|was|were|be)\s+asked
    | whoever | whomever | someone | somebody | anybody | everybody | nobody | no\s+one | (?:those|one|all|any|he)\s+who
    | (?:is|are|was|were)\s+no\s+[a-z]+ | (?:is|are)\s+none | there\s+is\s+none | there\s+are\s+none
    | go(?:es)?\s+on | going\s+on | went\s+on | comes?\s+again | is\s+over(?=\W*$|[.,;:)]) | anew | once\s+more
    | lets?\s+(?:\w+\s+|`\w+`\s+)?wait | (?:is|are)\s+waited\s+for | beside | so\s+many
    | stands?\s+(?:in|before|for|there|here) | gives?\s+up | lets?\s+go | kinds?\s+of\s+(?:a\s+)?groups?
    | likewise | all\s+of\s+them | see\s+above
    )\b""",
    re.VERBOSE | re.IGNORECASE,
)

_TOKEN = re.compile(
    r"""
    (?P<string>  [rbfuRBFU]{0,2} (?:
        "{3} (?: \\[\s\S] | [^\\] )*? "{3} | '{3} (?: \\[\s\S] | [^\\] )*? '{3}
        | " (?: \\[\s\S] | [^"\\\n] )* " | ' (?: \\[\s\S] | [^'\\\n] )* '
    ))
    | (?P<comment>  \#[^\n]* )
    | [^\W\d]\w* | \d[\w.]*
    """,
    re.VERBOSE,
)

_PLACEHOLDER = re.compile(r"\{[^{}]*\}")


class Offender(NamedTuple):
    """A place that breaks a check."""

    check: str
    path: str
    line: int
    text: str

    @property
    def folder(self) -> str:
        """The folder under which it is counted."""
        parts = self.path.split("/")[:-1]
        return "/".join(parts[: 2 if parts[:1] and parts[0] in DEEPER else 1]) or "."

    def __str__(self) -> str:
        return f"{self.path}:{self.line}: {self.check}: {self.text}"


def _files(*patterns: str) -> list[Path]:
    """Return the files that git tracks, and new ones; without git, every file outside of hidden folders."""
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard", *patterns]
    try:
        listed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    except (OSError, subprocess.CalledProcessError):
        paths = [path for pattern in patterns for path in ROOT.rglob(pattern) if path.is_file()]
        parts = {path: path.relative_to(ROOT).parts for path in paths}
        return sorted(
            path for path in paths if parts[path][0] not in ("build", "dist", "typings") and not _is_hidden(parts[path])
        )
    return sorted(path for name in listed.split("\0") if name and (path := ROOT / name).is_file())


def _is_hidden(parts: tuple[str, ...]) -> bool:
    return any(part.startswith(".") or part == "node_modules" for part in parts)


@cache
def offenders() -> tuple[Offender, ...]:
    """Return everything in the project that breaks a check."""
    quotations = quoted(stored_quotations())
    in_code = [offender for path in _files("*.py") for offender in check_file(path, quotations)]
    in_documents = [
        item for path in _files("*.md", "*.talk", "*.html", "*.js") for item in check_document(path, quotations)
    ]
    return (*in_code, *in_documents)


def check_file(path: Path, quotations: re.Pattern[str] | None = None) -> Iterator[Offender]:
    """Yield what breaks a check in a Python file."""
    text = path.read_text()
    name = path.relative_to(ROOT).as_posix() if path.is_relative_to(ROOT) else path.name
    yield from _check_words(name, text, quotations)
    for node in _nodes(ast.parse(text)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield from _check_function(name, node)
        elif isinstance(node, ast.Name):
            if isinstance(node.ctx, ast.Store) and _is_vague(node.id):
                yield Offender("name", name, node.lineno, node.id)
        elif isinstance(node, ast.arg):
            if _is_vague(node.arg):
                yield Offender("name", name, node.lineno, node.arg)
        elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store) and _is_vague(node.attr):
            yield Offender("name", name, node.lineno, node.attr)


def check_document(path: Path, quotations: re.Pattern[str] | None = None) -> Iterator[Offender]:
    """Yield dialect words in a document; of a conversation only in its comments."""
    name = path.relative_to(ROOT).as_posix() if path.is_relative_to(ROOT) else path.name
    text = quotations.sub(_masked, path.read_text()) if quotations else path.read_text()
    for number, line in enumerate(text.splitlines(), 1):
        if path.suffix != ".talk" or line.lstrip().startswith("#"):
            for match in DIALECT.finditer(line):
                yield Offender("dialect", name, number, match[0])


def _nodes(tree: ast.Module) -> Iterator[ast.AST]:
    """Yield the nodes that can break a check; like ast.walk, but faster."""
    todo: list[object] = [*tree.body]
    while todo:
        node = todo.pop()
        if isinstance(node, ast.AST):
            yield node
            for field in node._fields:
                value = getattr(node, field)
                if isinstance(value, list):
                    todo += value
                elif isinstance(value, ast.AST) and not isinstance(value, ast.Constant | ast.expr_context):
                    todo.append(value)


def _is_vague(name: str) -> bool:
    return name.strip("_").lower() in VAGUE_NAMES


def _check_function(path: str, node: ast.FunctionDef | ast.AsyncFunctionDef) -> Iterator[Offender]:
    if path.startswith("tests/") and node.name.startswith("test_"):
        if problem := test_name_problem(node.name):
            yield Offender("test", path, node.lineno, f"{node.name} ({problem})")
        return
    if _is_vague(node.name):
        yield Offender("name", path, node.lineno, node.name)
    docstring = ast.get_docstring(node, clean=False)
    if docstring and not starts_with_verb(docstring) and not _is_value(node):
        yield Offender("verb", path, node.lineno, f"{node.name}: {docstring.strip().splitlines()[0]}")


def _is_value(node: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    """Return whether a function is used like a value: a property or a fixture."""
    for decorator in node.decorator_list:
        called = decorator.func if isinstance(decorator, ast.Call) else decorator
        last = called.attr if isinstance(called, ast.Attribute) else getattr(called, "id", "")
        if last.endswith(("property", "fixture")) or last in ("setter", "getter"):
            return True
    return False


def starts_with_verb(docstring: str) -> bool:
    """Return whether the first word is a verb in base form."""
    match = re.match(r"([A-Za-z]+)(?!\w| of\b| which\b| whose\b)", docstring.strip())  # "Group of …" is a noun
    return match is not None and match[1].lower() in VERBS


def test_name_problem(name: str) -> str:
    """Return what is wrong with the name of a test, or nothing."""
    words = name.removeprefix("test_").split("_")
    if words[0] in ("a", "an", "the"):
        return "leading article"
    if banned := {"what", "who", "whom", "which", "whose", "whoever"} & {*words}:
        return min(banned)
    return f"{len(words)} words" if len(words) > MAX_TEST_WORDS else ""


test_name_problem.__test__ = False  # type: ignore[attr-defined]  # not a test, although pytest would collect it


def _check_words(path: str, text: str, quotations: re.Pattern[str] | None) -> Iterator[Offender]:
    if path.startswith("tests/") and path.endswith(("support/wording.py", "test_wording.py")):
        return  # they contain the patterns
    for token in _TOKEN.finditer(text):
        kind = token.lastgroup
        if kind is None or not DIALECT.search(token[0]):
            continue
        content = token[0]
        if "f" in content.partition('"')[0].lower():
            content = _PLACEHOLDER.sub(_masked, content)
        if quotations:
            content = quotations.sub(_masked, content)
        for match in DIALECT.finditer(content):
            yield Offender("dialect", path, text.count("\n", 0, token.start() + match.start()) + 1, match[0])


def _masked(match: re.Match[str]) -> str:
    return re.sub(r"[^\n]", "-", match[0])


def quoted(phrases: list[str]) -> re.Pattern[str] | None:
    """Return a pattern that matches the given phrases."""
    return re.compile("|".join(re.escape(phrase) for phrase in phrases)) if phrases else None


def stored_quotations() -> list[str]:
    """Return the phrases that tests/wording.toml accepts."""
    phrases = stored().get("quotations", [])
    return phrases if isinstance(phrases, list) else []


def stored() -> dict[str, dict[str, int] | list[str]]:
    """Return the contents of tests/wording.toml."""
    return tomllib.loads(TABLE.read_text()) if TABLE.exists() else {}


def stored_counts() -> dict[tuple[str, str], int]:
    """Return how many offenders each folder may have, by folder and check."""
    return {
        (folder, check): count
        for folder, counts in stored().items()
        if isinstance(counts, dict)
        for check, count in counts.items()
    }


def counts() -> dict[tuple[str, str], int]:
    """Return how many offenders each folder has, by folder and check."""
    return dict(Counter((offender.folder, offender.check) for offender in offenders()))


def lowered(allowed: dict[tuple[str, str], int], now: dict[tuple[str, str], int]) -> dict[tuple[str, str], int]:
    """Return the allowed counts with those replaced that have fallen."""
    return {key: min(count, now.get(key, 0)) for key, count in allowed.items()}


def render(table: dict[tuple[str, str], int], quotations: list[str]) -> str:
    """Return the text of tests/wording.toml."""
    lines = ["# Places whose wording is still to be corrected, by folder: python -m tests.support.wording --update"]
    for check, meaning in CHECKS.items():
        lines.append(f"# {check}: {meaning}")
    lines.append("")
    lines.append("# Words of Kafka or of a protocol that the word table would reject.")
    lines += ["quotations = [", *(f"    {_quoted(phrase)}," for phrase in quotations), "]", "", "# Counts only fall."]
    for folder in sorted({folder for folder, _ in table}):
        row = ", ".join(f"{check} = {table[folder, check]}" for check in CHECKS if table.get((folder, check)))
        if row:
            lines.append(f'"{folder}" = {{ {row} }}')
    return "\n".join(lines) + "\n"


def _quoted(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def subject_problem(subject: str) -> str:
    """Return what is wrong with the subject of a commit, or nothing."""
    if len(subject) > MAX_SUBJECT_LENGTH:
        return f"{len(subject)} characters"
    text = re.sub(r"^[\w./-]+(?:, [\w./-]+)*: ", "", subject)  # a folder or file as prefix
    first = (re.match(r"[A-Za-z]+", text) or [""])[0].lower()
    if first in VERBS or first in ("merge", "revert", "bump", "fixup", "squash"):
        return ""
    if re.search(r"(?:^|(?<![ecb])ed|ing|[^s]s)$", first) or first in _NOT_VERBS:
        return "does not start with a verb in base form"
    return ""


_NOT_VERBS_TEXT = "a an the it what who which how where when that this no of in on at for from all one two more new"
_NOT_VERBS = frozenset(_NOT_VERBS_TEXT.split())


def branch_subjects() -> list[str]:
    """Return the subjects of the commits on this branch, or an empty list without a history to compare with."""
    ranges = []
    for main in ("origin/main", "main"):
        base = _git("merge-base", "HEAD", main).strip()
        if base:
            ranges.append(_git("log", "--no-merges", "--format=%s", f"{base}..HEAD").splitlines())
    return min(ranges, key=len, default=[])


def _git(*arguments: str) -> str:
    try:
        return subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    except (OSError, subprocess.CalledProcessError):
        return ""


def main(arguments: list[str] | None = None) -> int:
    """Print offenders, or update the stored counts. Return the exit code."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.support.wording", description=(__doc__ or "").partition("\n")[0]
    )
    parser.add_argument("paths", nargs="*", help="folders or files whose offenders are printed")
    parser.add_argument("--check", choices=CHECKS, help="print offenders of this check only")
    parser.add_argument("--update", action="store_true", help="write counts that have fallen to tests/wording.toml")
    parser.add_argument("--init", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    now = counts()
    if options.update or options.init:
        table = now if options.init else lowered(stored_counts(), now)
        TABLE.write_text(render(table, stored_quotations()))
        return 0
    if options.paths:
        for offender in offenders():
            inside = any(
                offender.path == path or offender.path.startswith(f"{path}/") for path in _normalized(options.paths)
            )
            if inside and options.check in (None, offender.check):
                print(offender)
        return 0
    for folder in sorted({folder for folder, _ in now}):
        print(f"{folder:28} " + "  ".join(f"{check} {now.get((folder, check), 0):4}" for check in CHECKS))
    return 0


def _normalized(paths: list[str]) -> list[str]:
    return [path.removeprefix("./").rstrip("/") for path in paths]


if __name__ == "__main__":
    sys.exit(main())
