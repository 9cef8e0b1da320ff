"""Makes what documents show of conversations, rules and states: `python -m tests.docs.tables`."""

import ast
import re
from collections import defaultdict
from pathlib import Path

from kohort.coordinator.classic.states import ALLOWED_FROM, State
from kohort.protocol.api_keys import API_BY_NAME
from kohort.security.acls import ResourceType
from kohort.security.needs import FOR_EVERYBODY, NEEDS, Need
from tests.docs.analysis_tables import TABLES, schemas
from tests.docs.citations import citations, titles
from tests.docs.incidents import INCIDENTS, incidents
from tests.docs.reference import REFERENCE, reference
from tests.docs.rule_reasons import REASONS
from tests.docs.sources import BEHAVIOUR, CONVERSATIONS, ROOT, conversations
from tests.talk.script import read_conversation

INDEX = BEHAVIOUR / "conversations.md"
ANALYSIS = BEHAVIOUR / "analysis.md"
ACLS = BEHAVIOUR / "acls.md"
LIVES = ROOT / "docs" / "lives.md"
_MARK = "<!-- made by `python -m tests.docs.tables`; a test compares it with the code -->\n"
_DIAGRAM = re.compile(r"(?<=```mermaid\nstateDiagram-v2\n).*?(?=```)", re.DOTALL)

WHY = {
    (State.EMPTY, State.PREPARING_REBALANCE): "the first member is added",
    (State.PREPARING_REBALANCE, State.COMPLETING_REBALANCE): "everybody has joined, or the rebalance timeout is over",
    (State.PREPARING_REBALANCE, State.EMPTY): "no member is left",
    (State.COMPLETING_REBALANCE, State.STABLE): "the leader's assignment is written",
    (State.COMPLETING_REBALANCE, State.PREPARING_REBALANCE): "a member joined, changed, left, expired or did not sync",
    (State.STABLE, State.PREPARING_REBALANCE): "a member joined, changed, left, expired or did not sync",
    (State.EMPTY, State.DEAD): "the group is deleted, or the coordinator moves",
    (State.PREPARING_REBALANCE, State.DEAD): "the coordinator moves",
    (State.COMPLETING_REBALANCE, State.DEAD): "the coordinator moves",
    (State.STABLE, State.DEAD): "the coordinator moves",
}
"""What leads from one state to another. The pairs are those of `ALLOWED_FROM`."""


def made_pages() -> dict[Path, str]:
    """Each page that is made, whole or behind its mark, as it should be."""
    kept, _, _ = ANALYSIS.read_text().partition(_MARK)
    lives = _DIAGRAM.sub(_states(), LIVES.read_text(), count=1)
    acls, _, _ = ACLS.read_text().partition(_MARK)
    questions, _, _ = TABLES.read_text().partition(_MARK)
    return {
        INDEX: _index(),
        INCIDENTS: incidents(_MARK),
        ANALYSIS: kept + _MARK + _rules(),
        ACLS: acls + _MARK + _needs(),
        LIVES: lives,
        REFERENCE: reference(),
        TABLES: questions + _MARK + "\n" + schemas(),
    }


def _states() -> str:
    """The states of a classic group as a diagram, one line a move."""
    moves = [(before, after) for after, allowed in ALLOWED_FROM.items() for before in State if before in allowed]
    lines = ["[*] --> Empty"]
    lines += [f"{before.value} --> {after.value} : {WHY[before, after]}" for before, after in moves if before != after]
    return "".join(f"    {line}\n" for line in lines)


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
    """Each rule of the analysis: what it is about, how sure it is and why, and the numbers that its file names."""
    head = "| rule | reports | what excludes other explanations | confidence | numbers |"
    lines = ["", head, "|---|---|---|---|---|"]
    for path in sorted((ROOT / "pipeline" / "rules").glob("r[0-9]*.py")):
        tree = ast.parse(path.read_text())
        doc = ast.get_docstring(tree) or ""
        rule, _, about = doc.split("\n\n")[0].replace("\n", " ").partition(": ")
        numbers = [
            f"{name} = {ast.unparse(node.value).strip('()')}"
            for node in tree.body
            if isinstance(node, ast.Assign)
            if (name := ast.unparse(node.targets[0]).strip("()")) != "ID"
            if name.isupper() and not name.startswith("_") and not isinstance(node.value, ast.Dict)
        ]
        excludes, sure = REASONS[rule]
        lines.append(f"| {rule} | {about[:1].upper()}{about[1:]} | {excludes} | {sure} | {'; '.join(numbers)} |")
    return "\n".join(lines) + "\n"


def _needs() -> str:
    """Which right each API asks for."""
    lines = ["", "| API | asked for | needs | otherwise | where |", "|---|---|---|---|---|"]
    for name in sorted({need.api for need in NEEDS} | FOR_EVERYBODY, key=lambda name: API_BY_NAME[name].key):
        shown = f"{_camel(name)} ({API_BY_NAME[name].key})"
        rows = [need for need in NEEDS if need.api == name]
        lines += [
            f"| {shown} | {need.condition} | {_rights(need)} | {_refusal(need)} | {need.answer} |" for need in rows
        ]
        lines += [] if rows else [f"| {shown} | | nothing | | |"]
    return "\n".join(lines) + "\n"


def _rights(need: Need) -> str:
    return " or ".join(f"{_camel(right.operation.name)} on {_RESOURCES[right.resource_type]}" for right in need.rights)


_RESOURCES = {
    ResourceType.TOPIC: "the topic",
    ResourceType.GROUP: "the group",
    ResourceType.CLUSTER: "the cluster",
    ResourceType.TRANSACTIONAL_ID: "the transactional id",
}


def _refusal(need: Need) -> str:
    return "left out" if need.refused is None else f"{need.refused.name.upper()}"


def _camel(name: str) -> str:
    return "".join(word.capitalize() for word in name.split("_"))


def main() -> None:
    """Writes the pages."""
    for path, text in made_pages().items():
        path.write_text(text)


if __name__ == "__main__":
    main()
