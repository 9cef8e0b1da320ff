"""Repeated commits get the same violations as commits that the oracle checks completely."""

from __future__ import annotations

from collections.abc import Callable
from random import Random

import pytest

from kohort.control.oracle.repeated_commit import CheckedCommit
from kohort.control.oracle.safety import Budget
from kohort.coordinator.offsets import committing
from kohort.protocol.errors import ErrorCode
from tests.control.talking import Lab
from tests.support.absent import is_absent
from tests.support.batches import batch

STEPS = 60

# profile, first step, and the fields of a commit
CLASSIC = (
    "default",
    "given ada shares a stable group {protocols: {range: subscription(t)}, shares: {ada: assignment(t:0+1)}}",
    "v8 {generation_id: 1, member_id: $ada, ",
)
CONSUMER = ("consumer", "given ada shares a consumer group {topics: [t]}", "v9 {epoch: 2, member_id: $ada, ")
WITHOUT_MEMBERS = (
    "default",
    'operator OffsetCommit v8 {generation_id: -1, member_id: "", offsets: {t: {0: 0}}}\n  <- {topics: [...]}',
    'v8 {generation_id: -1, member_id: "", ',
)


class Walk:
    """Random commits of a member, and changes in between."""

    def __init__(self, seed: int, profile: str, group: str, commit: str, budget: Budget) -> None:
        self._chance, self._commit = Random(seed), commit
        self.lab = Lab(profile)
        self.lab.laboratory.watch_safety(budget)
        self._topics = self.lab.laboratory.cluster.topics
        self._topics.create("t", 2)
        self.lab.talk(group)
        self._offset = 0

    def run(self) -> list[str]:
        steps: list[Callable[[], None]] = [self.commit] * 12
        steps += [self.commit_lower, self.append, self.commit_elsewhere, self.delete_offset]
        for number in range(STEPS):
            if number == STEPS // 2:
                steps.append(self.recreate_topic)  # whose partitions the member of a consumer group then does not own
            self._chance.choice(steps)()
        return self.lab.violations()

    def commit(self) -> None:
        self._offset += self._chance.randrange(3)
        self._send("ada", self._offset, self._offset + self._chance.randrange(3))

    def commit_lower(self) -> None:
        self._send("ada", self._chance.randrange(self._offset + 1), self._offset)

    def append(self) -> None:
        topic = self._topics.by_name("t")
        assert topic is not None
        self.lab.laboratory.cluster.append(self._chance.choice(topic.partitions), batch(b"record"), 0)

    def commit_elsewhere(self) -> None:
        self._send("other", self._offset + 1, self._offset)

    def delete_offset(self) -> None:
        self.lab.talk("operator OffsetDelete v0 {offsets: {t: [0]}}\n  <- {topics: [...]}")

    def recreate_topic(self) -> None:
        topic = self._topics.by_name("t")
        assert topic is not None
        self._topics.delete(topic)
        self._topics.create("t", 2)

    def _send(self, client: str, first: int, second: int) -> None:
        offsets = f"{{t: {{0: {first}, 1: {second}}}}}"
        response = "  <- {topics: [{partitions: [{error_code: NONE}, ...]}]}"
        self.lab.talk(f"{client} OffsetCommit {self._commit}offsets: {offsets}}}\n{response}")


@pytest.mark.parametrize("group", [CLASSIC, CONSUMER, WITHOUT_MEMBERS], ids=["classic", "consumer", "none"])
@pytest.mark.parametrize("seed", range(5))
def test_repeated_commits_get_same_violations(
    seed: int, group: tuple[str, str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    outcomes: list[bool] = []
    advance = CheckedCommit.advance

    def counted(commit: CheckedCommit, offsets: tuple[int, ...]) -> bool:
        outcomes.append(advance(commit, offsets))
        return outcomes[-1]

    monkeypatch.setattr(CheckedCommit, "advance", counted)
    budget = Budget(backwards=seed == 0)
    complete, repeated = Walk(seed, *group, budget), Walk(seed, *group, budget)
    safety = complete.lab.laboratory.safety
    assert safety is not None
    monkeypatch.setattr(safety, "committed_again", safety.committed)
    violations = repeated.run()
    assert violations == complete.run()
    if not is_absent("kohort.broker.fast"):  # without it no request is recognized as a repeated one
        assert set(outcomes) == {True, False}
    assert bool(violations) == (group is not WITHOUT_MEMBERS)
    assert committed(complete) == committed(repeated)
    for walk in (complete, repeated):
        walk.lab.stage.close()


def committed(walk: Walk) -> dict[object, object]:
    safety = walk.lab.laboratory.safety
    assert safety is not None
    return {key: (last.offset, last.topic_id) for key, last in safety._committed.by_partition.items()}


@pytest.mark.plain("replaces a function of a compiled module")
def test_repeated_commit_of_old_generation(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(committing, "_check", lambda *_: ErrorCode.none)
    lab.laboratory.watch_safety(Budget())
    lab.laboratory.cluster.topics.create("t", 2)
    lab.talk(CLASSIC[1])
    commit = f"ada OffsetCommit {CLASSIC[2]}offsets: {{t: {{0: 5}}}}}}\n  <- {{topics: [...]}}"
    for _ in range(4):
        lab.talk(commit)
    assert lab.violations() == []
    lab.talk("""
        ada JoinGroup v9 {protocols: {range: new}}
          <- NONE {generation_id: 2}
        """)
    lab.talk(commit)
    (violation,) = lab.violations()
    assert "committed t-0 in generation 1, when the group was at 2" in violation
