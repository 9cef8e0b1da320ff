"""Player of a sequence on both brokers in step: each step ends when both have responded or are silent."""

from __future__ import annotations

import asyncio
import struct
from dataclasses import dataclass, field
from typing import NamedTuple

from tests.differential.comparing import Difference, Mapping, compare
from tests.differential.known import reason_for
from tests.differential.learning import learn
from tests.differential.sequence import Step, Steps
from tests.differential.sides import Side
from tests.differential.stage import Brokers, Scene, Stage
from tests.differential.tidying import own_part
from tests.talk.values import Value

SILENCE_S = 0.12
"""How long both are silent before they are taken to wait."""

PATIENCE_S = 6.0
"""How long one may be silent while the other has answered; the machine may be busy."""

WAITS = "(waits)"
"""Placeholder of a response that has not arrived."""

SPEAKERS = ("ada", "bob", "cleo")
"""Who joins groups."""

BROKERS = (4, 8)
"""Resource types with shared settings, which only dry runs change."""

CHANGES_METADATA = {"AlterConfigs", "CreatePartitions", "CreateTopics", "DeleteTopics", "IncrementalAlterConfigs"}
"""Requests whose answer Kafka's coordinators know of a little later; `Stage.known_everywhere` waits for that."""

PATTERN_S = 0.3
"""How long the topics of a pattern may be looked for, which no heartbeat waits for."""

READY_S = 0.3
"""How long a share group makes partitions ready, which no heartbeat waits for."""

TOPICS_S = 0.5
"""Time within which both brokers create the internal topics that a heartbeat has reported as missing."""

INTERNAL_TOPICS_MISSING = 3
"""Status code of a streams group."""

TAKES_A_MOMENT = {
    "AlterPartitionReassignments",
    "CreateTopics",
    "DeleteTopics",
    "ElectLeaders",
    "EndTxn",
    "InitProducerId",
    "Metadata",
    "WriteTxnMarkers",
}
"""Requests after which partitions and transactions change a little after the response."""


class Said(NamedTuple):
    """A step by its number, and which answers came then: of Kafka, by the number of the step asked."""

    number: int
    step: Step
    heard: dict[int, Value]
    waiting: frozenset[int]


@dataclass
class Outcome:
    """How a sequence went. It ends with the first step that differs without a reason."""

    said: list[Said] = field(default_factory=list)
    differences: list[Difference] = field(default_factory=list)
    known: list[str] = field(default_factory=list)
    names: dict[str, Value] = field(default_factory=dict)
    """Kafka's, in the end."""


async def play(
    steps: Steps, brokers: Brokers, stage: Stage, pause_s: float = 0.03, patience_s: float = PATIENCE_S
) -> Outcome:
    """Play a sequence, with a pause of `pause_s` after steps that take Kafka a moment."""
    play = _Play(brokers, stage, await stage.set_up(steps), pause_s, patience_s)
    try:
        for number, step in enumerate(steps):
            if not await play.take(number, step):
                break
    finally:
        await play.close()
        await stage.take_away(play.topics())
    return play.outcome


class _Play:
    def __init__(self, brokers: Brokers, stage: Stage, scene: Scene, pause_s: float, patience_s: float) -> None:
        mark = scene.mark
        made_up = ("group", "group2", "groupnone", "topic", "topic2", "topicnew", "topicnew2", "topicnone")
        self.names: dict[str, Value] = {name: f"{name}-{mark}" for name in (*made_up, "txn", "txn2", "txnnone")}
        self.names |= {name: f"{name}-{scene.topics_mark}" for name in scene.ids[0]} | {"mark": scene.topics_mark}
        self.mark = mark
        self.stage, self.scene = stage, scene
        self.kafka = Side("Kafka", brokers.kafka, self.names)
        self.kohort = Side("kohort", brokers.kohort, self.names)
        self.sides = (self.kafka, self.kohort)
        self.pause_s, self.patience_s = pause_s, patience_s
        self.outcome = Outcome(names=self.kafka.names)
        self.mapping = Mapping()
        self.steps: dict[int, Step] = {}
        self.compared: set[int] = set()

    async def take(self, number: int, step: Step) -> bool:
        """Take a step, and return whether to continue."""
        self.steps[number] = step
        if step.kind == "wait":
            await asyncio.sleep(step.values / 1000)
        elif step.kind == "disconnects":
            await asyncio.gather(*(side.hang_up(step.speaker) for side in self.sides))
        elif step.kind == "topic":
            name = step.values["topic"]
            for side, ids in zip(self.sides, self.scene.ids, strict=True):
                side.names[f"{name}_id"] = ids[name]
            self.mapping.same(*(ids[name] for ids in self.scene.ids))
            self.outcome.said.append(Said(number, step, {}, frozenset()))
            return True
        elif step.kind == "sends":
            await asyncio.gather(*(side.send(number, step.speaker, step.values) for side in self.sides))
        else:
            try:
                await asyncio.gather(*(self._ask(side, number, step) for side in self.sides))
            except (ValueError, struct.error):
                del self.steps[number]
                return True  # what a shorter sequence has to say may not be a request any more
        await self._settle()
        is_stuck = self._compare(number, step)
        await self._let_it_sink_in(number, step)
        return not is_stuck and not self.outcome.differences

    async def _let_it_sink_in(self, number: int, step: Step) -> None:
        """Wait where Kafka responds before all of its nodes know the result."""
        if step.api in CHANGES_METADATA:
            await self.stage.known_everywhere()
        if step.api == "Metadata":
            await self.stage.there_at_both([self.names[name] for name in ("topic2", "topicnew", "topicnew2")])
        if step.kind == "disconnects" or step.api in TAKES_A_MOMENT:
            await asyncio.sleep(self.pause_s)  # a broker notices the end of a connection a little later
        elif step.api == "ConsumerGroupHeartbeat" and step.values.get("subscribed_topic_regex"):
            await asyncio.sleep(max(self.pause_s, PATTERN_S))
        elif step.api == "ShareGroupHeartbeat" and step.values.get("subscribed_topic_names"):
            await asyncio.sleep(max(self.pause_s, READY_S))
        elif step.api == "StreamsGroupHeartbeat":
            if any(_creates_topics(side.answers.get(number)) for side in self.sides):
                await asyncio.sleep(max(self.pause_s, TOPICS_S))
            await self.stage.there_at_both([self.names[name] for name in ("topicnew", "topicnew2")])
            await self.stage.known_everywhere()

    async def _ask(self, side: Side, number: int, step: Step) -> None:
        await side.ask(number, step.speaker, step.api, step.version, harmless(step.api, step.values))

    async def _settle(self) -> None:
        """Wait until both sides have responded to the same requests and nothing else happens."""
        loop = asyncio.get_running_loop()
        give_up_at = loop.time() + self.patience_s
        while True:
            for side in self.sides:
                side.changed.clear()
            alike = self.kafka.waiting == self.kohort.waiting
            if (alike and not self.kafka.waiting) or loop.time() > give_up_at:
                return
            response = await self._hear(SILENCE_S if alike else give_up_at - loop.time())
            if not response and alike and self.kafka.waiting == self.kohort.waiting:
                return

    async def _hear(self, within_s: float) -> bool:
        tasks = [asyncio.ensure_future(side.changed.wait()) for side in self.sides]
        done, pending = await asyncio.wait(tasks, timeout=max(0.0, within_s), return_when=asyncio.FIRST_COMPLETED)
        for task in pending:
            task.cancel()
        return bool(done)

    def _compare(self, at: int, step: Step) -> bool:
        """Return whether the rest cannot be compared, because of a known endless wait or another member order."""
        heard: dict[int, Value] = {}
        is_stuck = False
        for number in sorted(self.kafka.answers.keys() | self.kohort.answers.keys()):
            if number in self.compared:
                continue
            self.compared.add(number)
            asked = self.steps.get(number, step)
            mine, yours = (self._answer(side, number, asked) for side in self.sides)
            heard[number] = mine
            for side, answer in zip(self.sides, (mine, yours), strict=True):
                learn(side.names, asked, answer)
            for difference in compare(asked.api or "a header made by hand", mine, yours, self.mapping):
                reason = reason_for(difference)
                if reason is None:
                    self.outcome.differences.append(difference)
                else:
                    self.outcome.known.append(reason)
                    is_stuck |= WAITS in (mine, yours)
        in_order = [_members_in_order(side) for side in self.sides]
        is_stuck |= step.api == "ConsumerGroupHeartbeat" and in_order[0] != in_order[1]
        self.outcome.said.append(Said(at, step, heard, frozenset(self.kafka.waiting)))
        return is_stuck

    def _answer(self, side: Side, number: int, asked: Step) -> Value:
        answer = side.answers.get(number, WAITS)
        return own_part(asked, answer, self.mark) if isinstance(answer, dict) else answer

    def topics(self) -> list[str]:
        """Return the names of topics that may exist now."""
        if self.scene.mark != self.scene.topics_mark:
            return []
        if any(step.kind == "topic" or "Topic" in step.api or step.api == "Metadata" for step in self.steps.values()):
            return [self.names[name] for name in ("topic", "topic2", "topicnew", "topicnew2")]
        return []

    async def close(self) -> None:
        await asyncio.gather(*(side.close() for side in self.sides))


def _creates_topics(answer: Value) -> bool:
    """Return whether a heartbeat has started the creation of internal topics."""
    statuses = answer.get("status") if isinstance(answer, dict) else None
    return any(status["status_code"] == INTERNAL_TOPICS_MISSING for status in statuses or ())


def _members_in_order(side: Side) -> list[str]:
    """Return members ordered by member id, as assignors do; generated ids sort by chance."""
    return sorted((who for who in SPEAKERS if who in side.names), key=lambda who: str(side.names[who]))


def harmless(api: str, values: Value) -> Value:
    """Return the same request without its effects on other sequences."""
    if api in ("AlterConfigs", "IncrementalAlterConfigs") and any(
        resource.get("resource_type") in BROKERS for resource in values.get("resources") or ()
    ):
        return values | {"validate_only": True}
    return values
