"""Members of one group that joined at the same time: a recording has their requests in the order of the proxy.

The coordinator may have handled them in another order, which only the answers show: the leader of a classic group was
the first to join it, and the epochs of the other group types count the joins.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple

from kohort.proxy.talk.talk_lines import REQUEST, Step

CONCURRENT_MS: Final = 50
"""Joins at most this far apart, without a response in between, may have been handled in another order."""


class JoinPhase(NamedTuple):
    """What concurrent joins have in common: an answer of the same generation, or of any epoch."""

    api: str
    group: str
    generation: int


def join_phase(step: Step) -> JoinPhase | None:
    """Return the phase that a request belongs to, or None unless it was a successful join."""
    if step.answer is None or step.answer.values.get("error_code", "NONE") != "NONE":
        return None
    group = str(step.values.get("group_id", ""))
    if step.api == "join_group":
        generation = step.answer.values.get("generation_id")
        return JoinPhase(step.api, group, generation) if type(generation) is int else None
    if step.api.endswith("_group_heartbeat") and step.values.get("member_epoch", 0) == 0:
        return JoinPhase(step.api, group, 0)
    return None


class _Held:
    """Concurrent joins of one phase."""

    def __init__(self, phase: JoinPhase, step: Step) -> None:
        self.phase = phase
        self.steps = [step]
        self._speakers = {step.speaker}

    def admits(self, step: Step) -> bool:
        """Return whether the step is another join of this phase."""
        is_other = step.kind == REQUEST and step.speaker not in self._speakers
        return is_other and not self._is_late(step) and join_phase(step) == self.phase

    def add(self, step: Step) -> None:
        self.steps.append(step)
        self._speakers.add(step.speaker)

    def ends_before(self, step: Step) -> bool:
        """Return whether the joins must be sent before this step."""
        if self._is_late(step) or step.speaker in self._speakers:
            return True
        request = step.request or step
        if request.kind != REQUEST:
            return False
        # A rejected join has changed nothing in the group, and its answer depends on nothing.
        was_rejected = request.api == "join_group" and join_phase(request) is None
        return str(request.values.get("group_id", "")) == self.phase.group and not was_rejected

    def in_order(self) -> list[list[Step]]:
        """Return the joins in the coordinator's order, as batches that are sent without a pause in between.

        An empty list means that they stay where they are.
        """
        is_classic = self.phase.api == "join_group"
        ordered = sorted(self.steps, key=(lambda step: not leads(step)) if is_classic else _epoch)
        if is_classic and len(ordered) > 1 and all(map(_is_quick, ordered)):
            return [ordered]
        return [] if ordered == self.steps else [[step] for step in ordered]

    def _is_late(self, step: Step) -> bool:
        return step.at_ms - self.steps[0].at_ms > CONCURRENT_MS


def _epoch(step: Step) -> int:
    epoch = step.answer.values.get("member_epoch", 0) if step.answer is not None else 0
    return epoch if type(epoch) is int else 0


def leads(step: Step) -> bool:
    """Return whether a JoinGroup response names the member itself as the leader."""
    answer = step.answer.values if step.answer is not None else {}
    return bool(answer.get("leader")) and answer["leader"] == answer.get("member_id")


def _is_quick(step: Step) -> bool:
    """Return whether the group did not wait for more members, so that a pause would end the generation early."""
    assert step.answer is not None, "a join of a phase has an answer"
    return step.answer.at_ms - step.at_ms <= CONCURRENT_MS


def in_join_order(steps: Iterable[Step]) -> Iterator[list[Step]]:
    """Yield the steps in batches, concurrent joins in the coordinator's order. Most batches have one step.

    Joins that change places come where the last of them was recorded. Only the lines of CONCURRENT_MS are kept.
    """
    held: list[_Held] = []
    batches: list[list[Step]] = []
    for step in steps:
        for joins in [joins for joins in held if joins.ends_before(step) and not joins.admits(step)]:
            held.remove(joins)
            _reorder(batches, joins)
        joined = next((joins for joins in held if joins.admits(step)), None)
        phase = join_phase(step) if step.kind == REQUEST else None
        if joined is not None:
            joined.add(step)
        elif phase is not None:
            held.append(_Held(phase, step))
        batches.append([step])
        kept = min((batches.index([joins.steps[0]]) for joins in held), default=len(batches))
        yield from batches[:kept]
        del batches[:kept]
    for joins in held:
        _reorder(batches, joins)
    yield from batches


def _reorder(batches: list[list[Step]], joins: _Held) -> None:
    if ordered := joins.in_order():
        last = batches.index([joins.steps[-1]])
        batches[last : last + 1] = ordered
        for step in joins.steps[:-1]:
            batches.remove([step])
