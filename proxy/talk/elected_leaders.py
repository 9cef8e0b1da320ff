"""The leaders of a classic group's generations, where the replay elects another one than the recording.

Then the two members exchange their roles: the elected one gets the list of members, and assigns the partitions.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from kohort.proxy.talk.bindings import Bindings
from kohort.proxy.talk.concurrent_joins import JoinPhase
from kohort.proxy.talk.talk_file import Step
from kohort.proxy.talk.talk_values import Value


class Joined:
    """The answer to a JoinGroup request: as recorded, and as received. Both are changed in place."""

    def __init__(self, expected: dict[str, Value], received: dict[str, Value]) -> None:
        self.expected = dict(expected)
        self.received = received


@dataclass
class _Exchange:
    """Two members that have exchanged their roles in one generation, by name."""

    recorded: str
    elected: str
    syncs: dict[str, Step] = field(default_factory=dict)
    """SyncGroup requests of the two, until both are there."""


class ElectedLeaders:
    """What the replay knows of leaders, by phase."""

    def __init__(self, bindings: Bindings) -> None:
        self._bindings = bindings
        self._exchanges: dict[tuple[str, int], _Exchange] = {}

    def follow(self, phase: JoinPhase, answers: list[Joined]) -> str:
        """Adapt the expected answers of a generation to the elected leader.

        Returns:
            One sentence if the recording is ambiguous there, or an empty string.
        """
        generations = {str(each.received.get("generation_id")) for each in answers}
        sizes = {(len(each.expected.get("members", ())), len(each.received.get("members", ()))) for each in answers}
        if len(generations) > 1 or (len(answers) > 1 and any(ours > 0 and theirs > ours for theirs, ours in sizes)):
            return f"{len(answers)} members joined group {phase.group} at once, and not all in the same generation here"
        recorded = answers[0].expected.get("leader")
        elected = self._bindings.name_of(answers[0].received.get("leader"))
        if not isinstance(recorded, str) or elected is None or elected == recorded:
            return ""
        if all(each.expected.get("member_id") != elected for each in answers):
            return ""  # not one of those that joined at once
        self._exchanges = {
            key: each for key, each in self._exchanges.items() if key[0] != phase.group or key[1] >= phase.generation
        }
        self._exchanges[phase.group, phase.generation] = _Exchange(recorded, elected)
        members = next((each.expected.pop("members", None) for each in answers if _is_of(each, recorded)), None)
        for each in answers:
            each.expected["leader"] = elected
            if _is_of(each, elected):
                if members is None:
                    each.received.pop("members", None)
                else:
                    each.expected["members"] = members
        return f"group {phase.group} elected {elected} instead of {recorded}, which joined at the same time"

    def exchanged(self, step: Step) -> list[Step]:
        """Return the SyncGroup requests to send now: none while that of the other member has not come."""
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
