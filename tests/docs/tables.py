"""Makes the pages of docs/behaviour that follow from conversations and rules: `python -m tests.docs.tables`."""

import ast
from collections import defaultdict
from pathlib import Path

from tests.docs.citations import citations, titles
from tests.docs.sources import BEHAVIOUR, CONVERSATIONS, ROOT, conversations
from tests.talk.script import read_conversation

INDEX = BEHAVIOUR / "conversations.md"
ANALYSIS = BEHAVIOUR / "analysis.md"
_MARK = "<!-- made by `python -m tests.docs.tables`; a test compares it with the code -->\n"


def made_pages() -> dict[Path, str]:
    """Each page that is made, whole or behind its mark, as it should be."""
    kept, _, _ = ANALYSIS.read_text().partition(_MARK)
    return {INDEX: _index(), ANALYSIS: kept + _MARK + _rules()}


def _index() -> str:
    """The conversations of each section."""
    told: dict[tuple[str, str], list[str]] = defaultdict(list)
    for path in conversations():
        name = str(path.relative_to(CONVERSATIONS).with_suffix(""))
        for cited in citations(read_conversation(path).source):
            if name not in told[cited[:2]]:
                told[cited[:2]].append(name)
    lines = [
        "# Conversations by rule",
        "",
        "Conversations under `tests/conversations/`, by the section that each shows. Those in `classic` and `cluster`",
        "were recorded from Apache Kafka 4.3.0. Those in `rules` are our own.",
        "",
        _MARK.rstrip(),
        "",
        "| section | conversations |",
        "|---|---|",
    ]
    called = titles()
    lines += [
        f"| {document} §{section} {called[document, section]} | {', '.join(told[document, section])} |"
        for document, section in sorted(told, key=_in_order)
    ]
    return "\n".join(lines) + "\n"


def _in_order(section: tuple[str, str]) -> tuple[str, list[int]]:
    return section[0], [int(part) for part in section[1].split(".")]


def _rules() -> str:
    """Each rule of the analysis: what it is about, and the numbers that its file names."""
    lines = ["", "| rule | reports | numbers |", "|---|---|---|"]
    for path in sorted((ROOT / "pipeline" / "rules").glob("r[0-9]*.py")):
        tree = ast.parse(path.read_text())
        doc = ast.get_docstring(tree) or ""
        rule, _, about = doc.split("\n\n")[0].replace("\n", " ").partition(": ")
        numbers = [
            f"{target.id} = {ast.unparse(node.value)}"
            for node in tree.body
            if isinstance(node, ast.Assign) and isinstance(target := node.targets[0], ast.Name)
            if target.id.isupper() and target.id != "ID" and not target.id.startswith("_")
        ]
        lines.append(f"| {rule} | {about[:1].upper()}{about[1:]} | {'; '.join(numbers)} |")
    return "\n".join(lines) + "\n"


def main() -> None:
    """Writes the pages."""
    for path, text in made_pages().items():
        path.write_text(text)


if __name__ == "__main__":
    main()
