"""Checker for commits that reword code: only docstrings, comments, texts and names may differ.

    python -m tests.support.same_words OLD NEW                 # two files
    python -m tests.support.same_words --against main [PATHS]  # working tree against a revision
    python -m tests.support.same_words --against main --revision HEAD

Exit code 1 means that code differs. Changed texts are printed for review, because a text may also be a key or a
protocol string. `--docstrings` prints changed docstrings, too. `--allow old=new` accepts a renaming that was reviewed.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from collections import defaultdict
from collections.abc import Hashable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from tests.support.code_shape import BUILTIN, GLOBAL, PUBLIC, Shape, shape_of


@dataclass
class Comparison:
    """Differences found so far; public names are compared over all files together."""

    allowed: frozenset[tuple[str, str]] = frozenset()
    errors: list[str] = field(default_factory=list)
    changed_texts: list[str] = field(default_factory=list)
    changed_docstrings: list[str] = field(default_factory=list)
    renamed: dict[tuple[str, str], int] = field(default_factory=lambda: defaultdict(int))
    _new_names: dict[str, dict[str, str]] = field(default_factory=lambda: defaultdict(dict))  # public: old, new, place
    _old_names: dict[str, dict[str, str]] = field(default_factory=lambda: defaultdict(dict))
    _keywords: list[tuple[str, str, str, str]] = field(default_factory=list)
    _defined: set[str] = field(default_factory=set)
    _uses: dict[tuple[str, str], str] = field(default_factory=dict)  # renamed public names, and a place of each
    _parameters: dict[str, set[tuple[str, str]]] = field(default_factory=lambda: defaultdict(set))

    def add(self, path: str, old_text: str, new_text: str) -> None:
        """Compare two versions of a file."""
        try:
            old, new = shape_of(old_text), shape_of(new_text)
        except SyntaxError as error:
            self.errors.append(f"{path}: cannot be parsed: {error}")
            return
        if old.structure != new.structure:
            self.errors.append(f"{path}:{self._first_difference(old, new)}: code differs")
            return
        renamed = self._compare_names(path, old, new)
        self._compare_texts(path, old, new, renamed)
        for name in sorted({*old.docstrings, *new.docstrings}):
            if old.docstrings.get(name) != new.docstrings.get(name):
                self.changed_docstrings.append(f"{path}: {name}: {_shortened(new.docstrings.get(name, '(removed)'))}")

    def finish(self) -> None:
        """Compare public names and keywords over all files that were added."""
        for old, places in self._new_names.items():
            if len(places) > 1:
                self.errors.append(f"{old} becomes {_places(places)}")
        for new, places in self._old_names.items():
            if len(places) > 1:
                self.errors.append(f"{new} replaces {_places(places)}")
        for (old, new), place in self._uses.items():
            if old not in self._defined and (old, new) not in self.allowed:
                self.errors.append(f"{place}: {old} becomes {new}, but none of these files defines it")
        everywhere = {pair for pairs in self._parameters.values() for pair in pairs} | {*self._uses}
        for callee, old, new, place in self._keywords:
            pairs = {pair for pair in self._parameters.get(callee, ()) if pair[0] == old}
            if (old, new) not in (pairs or everywhere | {(old, old)}):
                names = ", ".join(sorted(name for _, name in pairs)) or old
                self.errors.append(f"{place}: {callee}({old}=) becomes {new}, but the parameter is {names}")

    @staticmethod
    def _first_difference(old: Shape, new: Shape) -> str:
        """Return the line in the new file near which the structures differ, judged by the names before it."""
        names = 0
        for one, other in zip(old.structure, new.structure, strict=False):
            if one != other:
                break
            names += isinstance(one, tuple) or one == "keyword"
        nearby = new.names[max(names - 1, 0) : names + 1]
        return str(nearby[0].line) if nearby else "1"

    def _compare_names(self, path: str, old: Shape, new: Shape) -> dict[str, str]:
        """Compare the names of a file. Return those that were renamed and are not local."""
        self._defined |= old.defined
        there: dict[tuple[Hashable, str], set[str]] = defaultdict(set)
        back: dict[tuple[Hashable, str], set[str]] = defaultdict(set)
        lines: dict[tuple[Hashable, str], int] = {}
        for one, other in zip(old.names, new.names, strict=True):
            scope = one.scope
            if isinstance(scope, tuple):  # a keyword; the name of the function may have changed, too
                self._keywords.append((other.callee, one.text, other.text, f"{path}:{other.line}"))
            elif one.text != other.text:
                self.renamed[one.text, other.text] += 1
            there[scope, one.text].add(other.text)
            back[scope, other.text].add(one.text)
            lines.setdefault((scope, one.text), other.line)
        for (scope, name), targets in there.items():
            if len(targets) > 1:
                self.errors.append(f"{path}:{lines[scope, name]}: {name} becomes {', '.join(sorted(targets))}")
        for (scope, name), sources in back.items():
            if len(sources) > 1 and not all((source, name) in self.allowed for source in sources if source != name):
                line = lines[scope, min(sources)]
                self.errors.append(f"{path}:{line}: {name} replaces {', '.join(sorted(sources))}")
            elif name not in sources and (scope, name) in there and (min(sources), name) not in self.allowed:
                line = lines[scope, min(sources)]
                self.errors.append(f"{path}:{line}: {name} replaces {min(sources)}, and meant something else before")
        renamed = {}
        for (scope, name), targets in there.items():
            target = min(targets)
            if scope == BUILTIN and target != name:
                self.errors.append(f"{path}:{lines[scope, name]}: {name} becomes {target}, and is not of this file")
            elif scope in (PUBLIC, GLOBAL):
                self._add_public(path, name, target, in_all_files=scope == PUBLIC)
                if name != target:
                    renamed[name] = target
                    if scope == PUBLIC:
                        self._uses.setdefault((name, target), f"{path}:{lines[scope, name]}")
        for (_, parameters), (owner, new_parameters) in zip(old.parameters, new.parameters, strict=True):
            pairs = zip(parameters, new_parameters, strict=True)
            self._parameters[owner] |= {(one.text, other.text) for one, other in pairs}
        return renamed

    def _add_public(self, path: str, old: str, new: str, *, in_all_files: bool) -> None:
        if old.startswith("_") or (old, new) in self.allowed:
            return
        self._new_names[old].setdefault(new, path)
        if in_all_files:
            self._old_names[new].setdefault(old, path)

    def _compare_texts(self, path: str, old: Shape, new: Shape, renamed: dict[str, str]) -> None:
        for one, other in zip(old.texts, new.texts, strict=True):
            if other.is_name:
                if renamed.get(one.text, one.text) != other.text:
                    wanted = renamed.get(one.text, one.text)
                    self.errors.append(f"{path}:{other.line}: {other.text!r} names an attribute: expected {wanted!r}")
            elif one.text != other.text:
                self.changed_texts.append(f"{path}:{other.line}: {_shortened(one.text)} -> {_shortened(other.text)}")


def _places(places: dict[str, str]) -> str:
    return " and ".join(f"{name} ({path})" for name, path in sorted(places.items()))


def _shortened(text: str) -> str:
    text = " ".join(text.split())
    return repr(text if len(text) <= 160 else text[:157] + "...")


def _git(*arguments: str) -> str:
    return subprocess.run(["git", *arguments], capture_output=True, text=True, check=True).stdout


def _changed_files(revision: str, other: str | None, paths: list[str]) -> Iterator[tuple[str, str | None, str | None]]:
    """Yield the path and both texts of each Python file that has changed; None means that it does not exist."""
    revisions = [revision, *([other] if other else [])]
    status = _git("diff", "--name-status", "-M", "-z", *revisions, "--", *(paths or ["*.py"])).split("\0")
    untracked = "" if other else _git("ls-files", "-z", "--others", "--exclude-standard", "--", *(paths or ["*.py"]))
    entries = iter(status)
    changes: list[tuple[str | None, str | None]] = []
    for letter in entries:
        if letter.startswith("R"):
            changes.append((next(entries), next(entries)))
        elif letter:
            path = next(entries)
            changes.append((None if letter == "A" else path, None if letter == "D" else path))
    changes += [(None, path) for path in untracked.split("\0") if path]
    changes = [(old, new) for old, new in changes if (new or old or "").endswith(".py")]
    root = Path(_git("rev-parse", "--show-toplevel").strip())
    old_texts = _read_blobs([f"{revision}:{old}" for old, _ in changes if old])
    new_texts = _read_blobs([f"{other}:{new}" for _, new in changes if new]) if other else {}
    for old, new in changes:
        new_text = None
        if new:
            new_text = new_texts[f"{other}:{new}"] if other else (root / new).read_text()
        yield new or old or "", old_texts[f"{revision}:{old}"] if old else None, new_text


def _read_blobs(names: list[str]) -> dict[str, str]:
    """Read files of a revision with a single git process."""
    if not names:
        return {}
    command = ["git", "cat-file", "--batch"]
    output = subprocess.run(command, input="\n".join(names).encode() + b"\n", capture_output=True, check=True).stdout
    texts, start = {}, 0
    for name in names:
        end = output.index(b"\n", start)
        size = int(output[start:end].split()[2])
        texts[name] = output[end + 1 : end + 1 + size].decode()
        start = end + size + 2
    return texts


def compare(files: Iterable[tuple[str, str | None, str | None]], allowed: Iterable[tuple[str, str]] = ()) -> Comparison:
    """Compare the old and the new texts of files, each given with its path."""
    comparison = Comparison(frozenset(allowed))
    for path, old, new in files:
        if old is None or new is None:
            comparison.errors.append(f"{path}: file was {'added' if old is None else 'removed'}")
        else:
            comparison.add(path, old, new)
    comparison.finish()
    return comparison


def main(arguments: list[str] | None = None) -> int:
    """Compare the files that the command line names. Return the exit code."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.support.same_words", description=(__doc__ or "").partition("\n")[0]
    )
    parser.add_argument("paths", nargs="*", help="OLD NEW, or with --against the files and folders to compare")
    parser.add_argument("--against", metavar="REV", help="compare the working tree with this revision")
    parser.add_argument("--revision", metavar="REV", help="compare this revision instead of the working tree")
    parser.add_argument("--allow", metavar="OLD=NEW", action="append", default=[], help="accept this renaming")
    parser.add_argument("--docstrings", action="store_true", help="print changed docstrings, too")
    options = parser.parse_args(arguments)
    allowed = [(old, new) for old, _, new in (item.partition("=") for item in options.allow)]
    if options.against:
        files = list(_changed_files(options.against, options.revision, options.paths))
    elif len(options.paths) == 2:
        old, new = (Path(path) for path in options.paths)
        files = [(str(new), old.read_text(), new.read_text())]
    else:
        parser.error("give two files, or --against REV")
    comparison = compare(files, allowed)
    for (before, after), count in sorted(comparison.renamed.items()):
        print(f"renamed {before} -> {after} ({count})")
    for line in comparison.changed_texts + (comparison.changed_docstrings if options.docstrings else []):
        print(f"text {line}")
    for line in comparison.errors:
        print(f"ERROR {line}")
    print(f"{len(files)} files: {'code differs' if comparison.errors else 'words only'}")
    return bool(comparison.errors)


if __name__ == "__main__":
    sys.exit(main())
