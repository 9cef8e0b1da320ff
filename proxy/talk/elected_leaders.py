"""The leaders of a classic group's generations, where the replay elects another one than the recording.

Then the two members exchange their roles: the elected one gets the list of members, and assigns the partitions.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from kohort.proxy.talk.bindings import Bindings
from kohort.proxy.talk.concurrent_joins import CONCURRENT_MS, JoinPhase
from kohort.proxy.talk.talk_lines import Step
from kohort.proxy.talk.talk_values import Value


class Joined:
    """Response to a JoinGroup request, as recorded and as received. Both are changed in place."""

    def __init__(self, expected: dict[str, Value], received: dict[str, Value], asked_at_ms: int) -> None:
        self.expected = dict(expected)
        self.received = received
        self.asked_at_ms = asked_at_ms  # time of the request in the recording


@dataclass
class _Exchange:
    """Two members that have exchanged their roles in one generation, by name."""

    recorded: str
    elected: str
    syncs: dict[str, Step] = field(default_factory=dict)  # SyncGroup requests of the two, until both have come


class ElectedLeaders:
    """Leaders of the replay by phase."""

    def __init__(self, bindings: Bindings) -> None:
        self._bindings = bindings
        self._exchanges: dict[tuple[str, int], _Exchange] = {}
        self._last_leaders: dict[str, str] = {}  # recorded leaders, by group

    def follow(self, phase: JoinPhase, answers: list[Joined]) -> str:
        """Update the expected responses of a generation to the elected leader.

        Returns:
            One sentence if the recording is ambiguous there, or an empty string.
        """
        generations = {str(answer.received.get("generation_id")) for answer in answers}
        sizes = {
            (len(answer.expected.get("members", ())), len(answer.received.get("members", ()))) for answer in answers
        }
        if len(generations) > 1 or (len(answers) > 1 and any(ours > 0 and theirs > ours for theirs, ours in sizes)):
            return f"{len(answers)} members joined group {phase.group} at once, and not all in the same generation here"
        recorded = answers[0].expected.get("leader")
        last_leader = self._last_leaders.get(phase.group)
        if isinstance(recorded, str):
            self._last_leaders[phase.group] = recorded
        elected = self._bindings.name_of(answers[0].received.get("leader"))
        if not isinstance(recorded, str) or elected is None or elected == recorded:
            return ""
        asked_at_ms = {answer.expected.get("member_id"): answer.asked_at_ms for answer in answers}
        if recorded not in asked_at_ms or elected not in asked_at_ms:
            return ""
        if abs(asked_at_ms[recorded] - asked_at_ms[elected]) <= CONCURRENT_MS:
            reason = "which joined at the same time"
        elif last_leader not in (None, recorded, elected):
            reason = "because any member may follow a leader that has left"  # Kafka takes the first of a hash map
        else:
            return ""  # the order of the joins determines the leader, so this is a difference
        self._exchanges = {
            key: answer
            for key, answer in self._exchanges.items()
            if key[0] != phase.group or key[1] >= phase.generation
        }
        self._exchanges[phase.group, phase.generation] = _Exchange(recorded, elected)
        members = next((answer.expected.pop("members", None) for answer in answers if _is_of(answer, recorded)), None)
        for answer in answers:
            answer.expected["leader"] = elected
            if _is_of(answer, elected):
                if members is None:
                    answer.received.pop("members", None)
                else:
                    answer.expected["members"] = members
        return f"group {phase.group} elected {elected} instead of {recorded}, {reason}"

    def exchanged(self, step: Step) -> list[Step]:
        """Return the SyncGroup requests to send now, none before the other member's has come."""
        key = str(step.values.get("group_id", "")), step.values.get("generation_id", 0)
        exchange = self._exchanges.get(key)
        member = step.values.get("member_id")
        if exchange is None or member not in (exchange.recorded, exchange.elected):
            return [step]
        exchange.syncs[member] = step
        if len(exchange.syncs) < 2:
            return []
        del self._exchanges[key]
        leader, follower = exchange.syncs[exchange.elected], exchange.syncs[exchange.recorded]
        assignments = follower.values.get("assignments", [])
        leader.values = leader.values | {"assignments": assignments}
        follower.values = follower.values | {"assignments": []}
        return [follower, leader]


def _is_of(answer: Joined, member: str) -> bool:
    return bool(answer.expected.get("member_id") == member)
