"""The glossary of ARCHITECTURE.md is short, and its words are in use."""

import re

from tests.docs.sources import ROOT, python_files

MOST = 25


def _words() -> list[str]:
    text = (ROOT / "ARCHITECTURE.md").read_text()
    section = text.partition("\n## Words\n")[2].partition("\n## ")[0]
    return [word for word in re.findall(r"^\| ([a-z -]+) \|", section, re.MULTILINE) if word != "word"]


def test_glossary_is_short() -> None:
    words = _words()
    assert 0 < len(words) <= MOST
    assert len(set(words)) == len(words)


def test_glossary_words_occur_in_code() -> None:
    code = "\n".join(path.read_text() for path in python_files() if path.relative_to(ROOT).parts[0] != "tests")
    spelled = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", code).replace("_", " ").lower()
    unused = [word for word in _words() if not re.search(rf"\b{word}s?\b", spelled)]
    assert unused == []
