"""Truth by construction: the analysis equals the real coordinator's responses to scripted consumers."""

from __future__ import annotations

import functools
from collections.abc import Callable
from pathlib import Path

import pytest

from kohort.pipeline.gold.group_tables import analyse_group
from kohort.pipeline.history.group_analysis import analyse
from kohort.pipeline.history.inputs import GroupInput
from kohort.pipeline.rules.diagnose import diagnose
from tests.pipeline.local_groups import group_from
from tests.pipeline.play import Play
from tests.pipeline.scenarios import SCENARIOS

NAMES = {scenario.__name__: scenario for scenario in SCENARIOS}


@pytest.fixture(scope="module")
def played(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], tuple[Play, Path]]:
    """Each scenario is played once."""
    known: dict[str, tuple[Play, Path]] = {}

    def play(name: str) -> tuple[Play, Path]:
        if name not in known:
            made = NAMES[name]()
            folder = tmp_path_factory.mktemp(name)
            made.world.save(folder)
            known[name] = made, folder
        return known[name]

    return play


@pytest.fixture(scope="module")
def read(
    played: Callable[[str], tuple[Play, Path]], tmp_path_factory: pytest.TempPathFactory
) -> Callable[[str, str], GroupInput]:
    """The group of a scenario from both its logs, or from the offsets topic alone. Each is read once."""

    @functools.cache
    def group(name: str, source: str) -> GroupInput:
        _, logs = played(name)
        return group_from(tmp_path_factory.mktemp(name), logs if source == "both" else logs / "__consumer_offsets-0")

    return group


@pytest.mark.parametrize("name", NAMES)
def test_generations_match_member_responses(
    name: str, played: Callable[[str], tuple[Play, Path]], read: Callable[[str, str], GroupInput]
) -> None:
    play, _ = played(name)
    rows = analyse_group(read(name, "both"))
    told = {each.generation: each for each in play.truth.values() if each.members}
    found = {row["generation"]: row for row in rows["generations"] if row["members"]}
    assert found.keys() == told.keys()
    for generation, row in found.items():
        truth = told[generation]
        assert row["members"] == len(truth.members)
        assert abs(row["start_ms"] - truth.barrier_ms) <= 1
        assert row["partitions"] == sum(map(len, truth.members.values()))


@pytest.mark.parametrize("name", NAMES)
def test_movement_counts_assigned_and_revoked(
    name: str, played: Callable[[str], tuple[Play, Path]], read: Callable[[str, str], GroupInput]
) -> None:
    play, _ = played(name)
    rows = analyse_group(read(name, "both"))
    owners: dict[int, dict[int, str]] = {}
    for truth in play.truth.values():
        owners[truth.generation] = {p: member for member, parts in truth.members.items() for p in parts}
    for row in rows["rebalances"]:
        before, after = owners.get(row["gen_from"]), owners.get(row["gen_to"])
        if not before or not after or row["outcome"] != "completed":
            continue
        common = before.keys() & after.keys()
        stayed = sum(before[p] == after[p] for p in common)
        assert row["moved"] == len(common) - stayed, row["gen_to"]
        assert set(row["joined"]) == set(members_of(play, row["gen_to"])) - set(members_of(play, row["gen_from"]))


def members_of(play: Play, generation: int) -> set[str]:
    return set(play.truth[generation].members)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("source", ["both", "topic"])
def test_rule_matches_only_its_scenario(name: str, source: str, read: Callable[[str, str], GroupInput]) -> None:
    must, may = SCENARIOS[NAMES[name]]
    group = read(name, source)
    found = {finding.rule: finding for finding in diagnose(analyse(group))}
    told = {rule: finding.text for rule, finding in found.items()}
    assert found.keys() <= must | may, told
    if source == "both":
        assert must <= found.keys(), told


def test_slow_member_times(read: Callable[[str, str], GroupInput]) -> None:
    rows = analyse_group(read("slow_member", "both"))
    (slow,) = [row for row in rows["rebalances"] if (row["prepare_us"] or 0) > 10_000_000]
    assert slow["laggard_client"] == "bob"
    assert abs(slow["prepare_us"] - 25_000_000) <= 200_000
    assert slow["laggard_delay_us"] == slow["prepare_us"]


@pytest.mark.parametrize("source", ["both", "topic"])
def test_expired_group_continued_elsewhere(source: str, read: Callable[[str, str], GroupInput]) -> None:
    group = read("offsets_expired", source)
    (finding,) = (finding for finding in diagnose(analyse(group)) if finding.rule == "R27")
    assert finding.title == "Offsets expired and the group continued elsewhere"
    assert finding.severity == "warning"
    assert "6 partitions continued at another position" in finding.text
    assert finding.evidence == {"tombstones": 6, "topics": ["orders"], "went_on_elsewhere": 6}
