"""Generates the parts of documents that show conversations, rules and states: `python -m tests.docs.tables`."""

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
from tests.docs.command_line import COMMANDS, EXIT_CODES, command_line, exit_codes
from tests.docs.http_api import HTTP, http_api
from tests.docs.incidents import INCIDENTS, incidents
from tests.docs.lists import FINDINGS, METRICS, SETTINGS, findings, metrics, settings
from tests.docs.pictures import pictures
from tests.docs.python_api import python_api
from tests.docs.reference import reference
from tests.docs.rule_reasons import REASONS
from tests.docs.sources import BEHAVIOUR, CONVERSATIONS, MARK, ROOT, conversations
from tests.talk.script import read_conversation

INDEX = BEHAVIOUR / "conversations.md"
ANALYSIS = BEHAVIOUR / "analysis.md"
ACLS = BEHAVIOUR / "acls.md"
LIVES = ROOT / "docs" / "explanation" / "lives.md"
_TRANSITIONS = re.compile(r"(?<=<!-- transitions -->\n).*?(?=<!-- end -->)", re.DOTALL)

REASONS_OF_TRANSITIONS = {
    (State.EMPTY, State.PREPARING_REBALANCE): "the first member is added",
    (
        State.PREPARING_REBALANCE,
        State.COMPLETING_REBALANCE,
    ): "all members have joined, or the rebalance timeout has expired",
    (State.PREPARING_REBALANCE, State.EMPTY): "no member is left",
    (State.COMPLETING_REBALANCE, State.STABLE): "the leader's assignment is written",
    (State.COMPLETING_REBALANCE, State.PREPARING_REBALANCE): "a member joined, changed, left, expired or did not sync",
    (State.STABLE, State.PREPARING_REBALANCE): "a member joined, changed, left, expired or did not sync",
    (State.EMPTY, State.DEAD): "the group is deleted, or the coordinator moves",
    (State.PREPARING_REBALANCE, State.DEAD): "the coordinator moves",
    (State.COMPLETING_REBALANCE, State.DEAD): "the coordinator moves",
    (State.STABLE, State.DEAD): "the coordinator moves",
}  # reasons for the transitions in ALLOWED_FROM


def made_pages() -> dict[Path, str]:
    """Return the expected text of each generated page by path."""
    kept, _, _ = ANALYSIS.read_text().partition(MARK)
    lives = _TRANSITIONS.sub(_transitions(), LIVES.read_text(), count=1)
    acls, _, _ = ACLS.read_text().partition(MARK)
    rules_of_settings, _, _ = SETTINGS.read_text().partition(MARK)
    questions, _, _ = TABLES.read_text().partition(MARK)
    return {
        INDEX: _index(),
        INCIDENTS: incidents(MARK),
        ANALYSIS: kept + MARK + _rules(),
        ACLS: acls + MARK + _needs(),
        LIVES: lives,
        **reference(MARK),
        HTTP: http_api(MARK),
        COMMANDS: command_line(MARK),
        EXIT_CODES: exit_codes(MARK),
        METRICS: metrics(MARK),
        FINDINGS: findings(MARK),
        SETTINGS: rules_of_settings + MARK + settings(),
        **python_api(),
        **pictures(),
        TABLES: questions + MARK + "\n" + schemas(),
    }


def _transitions() -> str:
    """Return the transitions of a classic group with their reasons as a list."""
    moves = [(previous, after) for after, allowed in ALLOWED_FROM.items() for previous in State if previous in allowed]
    lines = [
        f"- {previous.value} → {after.value}: {REASONS_OF_TRANSITIONS[previous, after]}"
        for previous, after in moves
        if previous != after
    ]
    return "".join(f"{line}\n" for line in lines)


def _index() -> str:
    """Return the page with the conversations of each section."""
    names: dict[tuple[str, str], list[str]] = defaultdict(list)
    for path in conversations():
        name = str(path.relative_to(CONVERSATIONS).with_suffix(""))
        for cited in citations(read_conversation(path).source):
            if name not in names[cited[:2]]:
                names[cited[:2]].append(name)
    lines = [
        "# Conversations by rule",
        "",
        "Conversations under `tests/conversations/`, by the section that each shows. Those in `kafka-4.4` were recorded",
        "from Apache Kafka 4.4.0, those in `rules` are our own, and all others were recorded from 4.3.0. Tests play",
        "each of them as both releases, unless a file in `kafka-4.4` replaces one of the same name.",
        "",
        MARK.rstrip(),
        "",
    ]
    section_titles = titles()
    lines += [
        f"- {document} §{section} {section_titles[document, section]}: {', '.join(names[document, section])}"
        for document, section in sorted(names, key=_in_order)
    ]
    return "\n".join(lines) + "\n"


def _in_order(section: tuple[str, str]) -> tuple[str, list[int]]:
    return section[0], [int(part) for part in section[1].split(".")]


def _rules() -> str:
    """Return the table of the rules of the analysis."""
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
    """Return the table of the permissions that each API requires."""
    lines = ["", "| API | requested for | requires | otherwise | field |", "|---|---|---|---|---|"]
    for name in sorted({need.api for need in NEEDS} | FOR_EVERYBODY, key=lambda name: API_BY_NAME[name].key):
        api = f"{_camel(name)} ({API_BY_NAME[name].key})"
        rows = [need for need in NEEDS if need.api == name]
        lines += [f"| {api} | {need.condition} | {_rights(need)} | {_refusal(need)} | {need.answer} |" for need in rows]
        lines += [] if rows else [f"| {api} | | nothing | | |"]
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
    for path, text in made_pages().items():
        path.write_text(text)


if __name__ == "__main__":
    main()
