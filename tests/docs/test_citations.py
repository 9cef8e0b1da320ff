"""Citations of docs/behaviour name sections and rules that exist."""

import re
from difflib import unified_diff

import pytest
from click.testing import CliRunner

from kohort.cli.health import health
from tests.docs.citations import citations, has_rule, sections
from tests.docs.command_line import command_line
from tests.docs.sources import BEHAVIOUR, ROOT, conversations, documents, python_files
from tests.docs.tables import made_pages


def test_citations_name_existing_rules() -> None:
    bodies = sections()
    unknown = []
    for path in [*documents(), *python_files(), *conversations()]:
        if path.parent.name == "docs" and path.parent.parent.name == "tests":
            continue
        for cited in citations(path.read_text(), path.stem if path.parent == BEHAVIOUR else ""):
            body = bodies.get((cited.document, cited.section))
            if body is None or (cited.rule is not None and not has_rule(body, cited.rule)):
                unknown.append(f"{path.relative_to(ROOT)}: {' §'.join(cited[:2])} {cited.rule or ''}")
    assert unknown == []


def test_sections_name_existing_code() -> None:
    silent = []
    for (document, section), body in sections().items():
        if document in ("conversations", "README"):
            continue
        named = re.findall(r"`([\w/]+(?:\.py|/))`", body)
        subsections = any(other.startswith(f"{section}.") for name, other in sections() if name == document)
        if not named and not subsections and "](" not in body:
            silent.append(f"{document} §{section} names no file")
        silent += [f"{document} §{section}: {name}" for name in named if not (ROOT / name).exists()]
    assert silent == []


def test_generated_pages_are_current() -> None:
    differences = [
        line
        for path, text in made_pages().items()
        for line in unified_diff(path.read_text().splitlines(), text.splitlines(), path.name, n=0, lineterm="")
    ]
    assert differences == [], "regenerate them: .venv/bin/python -m tests.docs.tables"


def test_help_is_same_after_direct_call(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(health, "_help_option", None)
    assert "\n  --help" in CliRunner().invoke(health, ["--help"]).output
    assert "\n  --help" not in command_line("")


def test_documented_events_and_causes_exist() -> None:
    from kohort.broker.cluster.effect_execution import CAUSES
    from kohort.coordinator.events.group_event import KINDS

    bodies = sections()
    kinds = {name for row in _first_cells(bodies["offsets-topic", "9.2"]) for name in row}
    causes = {name for row in _first_cells(bodies["offsets-topic", "9.3"]) for name in row}
    assert kinds == KINDS
    assert causes == CAUSES.keys()


def _first_cells(body: str) -> list[list[str]]:
    cells = re.findall(r"^\| (`[^|]+) \|", body, re.MULTILINE)
    return [re.findall(r"`(\w+)`", cell) for cell in cells]
