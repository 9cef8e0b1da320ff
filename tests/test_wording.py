"""The wording of names, docstrings, comments, tests and commits; see `tests/support/wording.py`."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support import wording

EXAMPLES = {
    "def f():\n    'Return the group.'\n": [],
    "def f():\n    'Returns the group.'\n": ["verb"],
    "def f():\n    'Group of the member.'\n": ["verb"],
    "@property\ndef f(self):\n    'The group.'\n": [],
    "@pytest.fixture(scope='module')\ndef f():\n    'A broker.'\n": [],
    "class Group:\n    'The group.'\n": [],
    "x = 1  # nobody waits anew\n": ["dialect", "dialect"],
    "raise ValueError(f'{name} is no number')\n": ["dialect"],
    "nobody = group.anew()\n": [],
    "def f(told):\n    known = _found = 1\n    self.gone = told\n": ["name"] * 4,
    "def f(member_id, known_members):\n    pass\n": [],
}


@pytest.mark.parametrize("text", EXAMPLES, ids=range(len(EXAMPLES)))
def test_example_has_these_offenders(text: str, tmp_path: Path) -> None:
    path = tmp_path / "example.py"
    path.write_text(text)
    assert [offender.check for offender in wording.check_file(path)] == EXAMPLES[text]


@pytest.mark.parametrize(("name", "count"), [("page.md", 2), ("story.talk", 1)])
def test_document_has_dialect_words(name: str, count: int, tmp_path: Path) -> None:
    path = tmp_path / name
    path.write_text("# The leader hears it.\nada says nothing\n")
    assert len([*wording.check_document(path)]) == count


def test_quotation_is_not_dialect(tmp_path: Path) -> None:
    path = tmp_path / "example.py"
    path.write_text('"""Nobody; there is no such group."""\n')
    assert len([*wording.check_file(path)]) == 2
    assert [offender.text for offender in wording.check_file(path, wording.quoted(["is no such group"]))] == ["Nobody"]


@pytest.mark.parametrize(
    ("name", "problem"),
    [
        ("test_rejects_unreadable_key_store", ""),
        ("test_the_group_is_empty", "leading article"),
        ("test_group_of_a_member_who_left", "who"),
        ("test_one_two_three_four_five_six", ""),
        ("test_one_two_three_four_five_six_seven", "7 words"),
    ],
)
def test_name_of_test_is_judged(name: str, problem: str) -> None:
    assert wording.test_name_problem(name) == problem


@pytest.mark.parametrize(
    ("subject", "valid"),
    [
        ("proxy: Bound unanswered requests", True),
        ("Match Kafka's errors for forgotten and unnamed groups", True),
        ("CONTRIBUTING: Describe the stages", True),
        ("storage: Bounded requests", False),
        ("What one is told of a group", False),
        ("Fixes a bug", False),
        ("Address review comments", True),
        ("Fix " + "x" * 80, False),
    ],
)
def test_commit_subject_is_judged(subject: str, valid: bool) -> None:
    assert (wording.subject_problem(subject) == "") == valid


def test_commit_subjects_of_branch_are_imperative() -> None:
    problems = {subject: wording.subject_problem(subject) for subject in wording.branch_subjects()}
    assert {subject: problem for subject, problem in problems.items() if problem} == {}


def test_folders_do_not_gain_offenders() -> None:
    allowed, now = wording.stored_counts(), wording.counts()
    gained = {key for key, count in now.items() if count > allowed.get(key, 0)}
    offenders = [str(each) for each in wording.offenders() if (each.folder, each.check) in gained]
    assert offenders == [], f"{sorted(gained)}: python -m tests.support.wording FOLDER"


def test_counts_only_fall() -> None:
    allowed = {("broker", "verb"): 3, ("broker", "name"): 2, ("cli", "verb"): 1}
    now = {("broker", "verb"): 2, ("broker", "name"): 5}
    assert wording.lowered(allowed, now) == {("broker", "verb"): 2, ("broker", "name"): 2, ("cli", "verb"): 0}


def test_stored_table_is_current() -> None:
    assert wording.render(wording.stored_counts(), wording.stored_quotations()) == wording.TABLE.read_text()
