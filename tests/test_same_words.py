"""A rewording may change words and nothing else; see `tests/support/same_words.py`."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tests.support import same_words

REWORDINGS = [
    ('def f():\n    """Old."""\n    return 1', "def f():\n    # New.\n    return 1"),
    ('def f():\n    """Old."""', "def f():\n    ..."),
    ('class A:\n    X = 1\n    """Old."""', "class A:\n    X = 1  # new"),
    ("def f(a, b):\n    return a - b", "def f(left, right):\n    return left - right"),
    ("def f(a): return a\nf(a=1)", "def f(b): return b\nf(b=1)"),
    ("class A:\n    def __init__(self, a): pass\nA(a=1)", "class A:\n    def __init__(self, b): pass\nA(b=1)"),
    ("a = [x for x in y]\nb = [x for x in y]", "a = [v for v in y]\nb = [w for w in y]"),
    ('raise ValueError("old")', 'raise ValueError("new " "text")'),
    ('f"{a} old {b!r:>5}"', 'f"new {a}: {b!r:>5} text"'),
    ('x = f"old"', 'x = "new"'),
    ("a = {1: b}\nprint(a)", "sizes = {1: b}\nprint(sizes)"),
    ("self._a = 1\nself._a", "self._b = 1\nself._b"),
    (
        'class A:\n    __slots__ = ("a",)\n    def f(self): self.a = 1',
        'class A:\n    __slots__ = ("b",)\n    def f(self): self.b = 1',
    ),
    ("try: f()\nexcept E as a: print(a)", "try: f()\nexcept E as error: print(error)"),
    ("def f(a):\n    def g(): return a\n    return g", "def f(b):\n    def g(): return b\n    return g"),
]
CHANGES = [
    ("def f(a, b):\n    return a - b", "def f(a, b):\n    return b - a"),
    ("def f(a, b): return a", "def f(a, b): return b"),
    ("f(a, b)", "f(b, a)"),
    ("f(a=1, b=2)", "f(b=1, a=2)"),
    ("def f(a, b): pass\nf(a=1, b=2)", "def f(b, a): pass\nf(a=1, b=2)"),
    ("def f(a): pass\nf(a=1)", "def f(b): pass\nf(a=1)"),
    ("def f(a):\n    b = 1\n    return a + b", "def f(a):\n    a = 1\n    return a + a"),
    ("def f():\n    a = 1\n    return b", "def f():\n    b = 1\n    return b"),
    ("def f(a):\n    return [b for b in a if c]", "def f(a):\n    return [c for c in a if c]"),
    ('f"{a} {b}"', 'f"{b} {a}"'),
    ('f"{a}"', 'f"{a} {b}"'),
    ('f"{a:>5}"', 'f"{a:>6}"'),
    ('f"{a}"', 'f"{a!r}"'),
    ('b"old"', 'b"new"'),
    ("min(x)", "max(x)"),
    ("x.append(y)", "x.extend(y)"),
    ("sorted(x, key=y)", "sorted(x, reverse=y)"),
    ("from os import sep", "from os import linesep"),
    ("def f(a, b): return a - b", "def f(b, a): return b - a"),
    ("x = 1", "x = 2"),
    ("x.a + y.a", "x.a + y.b"),
    ("x.a + x.b", "x.a + x.a"),
    ('__all__ = ["a"]\na = 1', '__all__ = ["a"]\nb = 1'),
    ('getattr(x, "a")\nx.a', 'getattr(x, "b")\nx.a'),
    ("def f():\n    '''Old.'''\n    return 1", "def f():\n    '''Old.'''"),
]


@pytest.mark.parametrize(("old", "new"), REWORDINGS)
def test_rewording_is_accepted(old: str, new: str) -> None:
    assert same_words.compare([("a.py", old, new)]).errors == []


@pytest.mark.parametrize(("old", "new"), CHANGES)
def test_change_of_code_is_rejected(old: str, new: str) -> None:
    assert same_words.compare([("a.py", old, new)]).errors != []


def test_public_name_changes_alike_everywhere() -> None:
    files = [("a.py", "def ask(): pass", "def call(): pass"), ("b.py", "x.ask()", "x.call()")]
    assert same_words.compare(files).errors == []
    assert same_words.compare([*files, ("c.py", "y.ask()", "y.ask()")]).errors != []
    assert same_words.compare([*files, ("c.py", "y.look()", "y.call()")]).errors != []
    assert same_words.compare([*files, ("c.py", "y.look()", "y.call()")], [("look", "call")]).errors == []


def test_keyword_follows_parameter_in_other_file() -> None:
    definition = ("a.py", "def f(a): pass", "def f(b): pass")
    assert same_words.compare([definition, ("b.py", "f(a=1)", "f(b=1)")]).errors == []
    assert same_words.compare([definition, ("b.py", "f(a=1)", "f(a=1)")]).errors != []


def test_changed_strings_are_listed() -> None:
    comparison = same_words.compare([("a.py", 'x = "GROUP"\n"""Old."""', 'x = "group"\n"""New."""')])
    assert comparison.changed_texts == ["a.py:1: 'GROUP' -> 'group'"]
    assert len(comparison.changed_docstrings) == 1


def test_revision_is_compared_with_working_tree(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    file = tmp_path / "a.py"
    file.write_text("x = 1  # old\n")
    identity = ["-c", "user.name=a", "-c", "user.email=a@example.com"]
    for arguments in (["init", "-q"], ["add", "a.py"], [*identity, "commit", "-qm", "Add a"]):
        subprocess.run(["git", *arguments], check=True)
    file.write_text("x = 1  # new\n")
    assert same_words.main(["--against", "HEAD"]) == 0
    file.write_text("x = 2\n")
    assert same_words.main(["--against", "HEAD"]) == 1
    (tmp_path / "b.py").write_text("")
    file.write_text("x = 1\n")
    assert same_words.main(["--against", "HEAD"]) == 1
    assert "b.py: file was added" in capsys.readouterr().out
