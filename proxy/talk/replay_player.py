"""Replay of a recorded conversation on a cluster, and comparison of the responses.

Each recorded connection becomes a connection. Requests are sent in recorded order, at recorded times, and not before
the responses that any client had received by then: the second join in the recording is the second join here. Members
that joined concurrently do so in the order that the responses show.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final, NamedTuple, Protocol

from kohort.client.client_connection import BrokerError
from kohort.protocol.errors import DecodeError
from kohort.protocol.messages import message_of
from kohort.proxy.talk.answer_comparing import differences
from kohort.proxy.talk.bindings import Bindings, Owner, RecordedExpectations
from kohort.proxy.talk.concurrent_joins import CONCURRENT_MS, JoinPhase, in_join_order, join_phase
from kohort.proxy.talk.elected_leaders import ElectedLeaders, Joined
from kohort.proxy.talk.leaving_out import Judge, first
from kohort.proxy.talk.player import Player
from kohort.proxy.talk.recorded_apis import recorded_answer
from kohort.proxy.talk.replay_needs import GROUP, Needs, needs_of
from kohort.proxy.talk.replay_stage import ReplayStage
from kohort.proxy.talk.short_forms import shortened
from kohort.proxy.talk.talk_connection import SentRequest, TalkConnection
from kohort.proxy.talk.talk_fields import RECORDED_TEXTS, to_values
from kohort.proxy.talk.talk_file import Talk
from kohort.proxy.talk.talk_lines import ANSWER, Step, shown_answer
from kohort.proxy.talk.talk_values import Value

PATIENCE_MS: Final = 5_000  # how much later than in the recording a response may come
SETTLE_MS: Final = 10  # time for handling a request before another client's recorded at the same time

KEPT_DIFFERENCES: Final = 1_000

# errors that a member gets before and after another one joins
_EITHER_SIDE_OF_A_JOIN: Final = {"NONE", "REBALANCE_IN_PROGRESS"}


class Pace(Protocol):
    """Timing of requests."""

    async def until(self, at_ms: int) -> None:
        """Wait until the time of the recording."""
        ...

    def behind(self, late_ms: int) -> None:
        """Delay what follows, because a response came this much later than in the recording."""
        ...


class RealTime:
    """Timing by the machine's clock."""

    def __init__(self, speed: float = 1.0) -> None:
        """Set the number of recorded seconds per second."""
        self._speed = speed
        self._start_s: float | None = None

    async def until(self, at_ms: int) -> None:
        now_s = asyncio.get_running_loop().time()
        if self._start_s is None:
            self._start_s = now_s - at_ms / 1000 / self._speed
        await asyncio.sleep(max(self._start_s + at_ms / 1000 / self._speed - now_s, 0))

    def behind(self, late_ms: int) -> None:
        if self._start_s is not None:
            self._start_s += late_ms / 1000


@dataclass
class Difference:
    """Response that differs from the recording."""

    path: str  # with the line, as in `x.talk:17`
    request: str  # with its speaker
    expected: str
    received: str
    lines: list[str]

    def __str__(self) -> str:
        rows = [f"{self.path}: {self.request}", f"  expected {self.expected}", f"  received {self.received}"]
        return "\n".join(rows + [f"    {line}" for line in self.lines])


@dataclass
class Played:
    """Result of a replay."""

    requests: int = 0
    as_recorded: int = 0
    different: int = 0
    unanswered: int = 0  # requests without a response in the recording
    left_out: int = 0
    """Requests that were not sent, because the cluster can't respond as the recorded one did."""
    connections: int = 0
    differences: list[Difference] = field(default_factory=list)  # the first ones
    ambiguous_answers: int = 0  # responses that depended on the order of two concurrent requests
    ambiguous: list[str] = field(default_factory=list)  # sentences about ambiguous places in the recording
    cut_off: str = ""  # why the recording is incomplete, if it is

    def __str__(self) -> str:
        requests, connections = _counted(self.requests, "request"), _counted(self.connections, "connection")
        text = f"{requests} of {connections}: {self.as_recorded} answered as recorded"
        text += f", {self.different} not" if self.different else ""
        text += f", {self.ambiguous_answers} ambiguous" if self.ambiguous_answers else ""
        text += f", {self.unanswered} unanswered in the recording" if self.unanswered else ""
        return text + (f"; {self.left_out} not sent" if self.left_out else "")


def _counted(number: int, noun: str) -> str:
    return f"{number} {noun}" + ("s" if number != 1 else "")


class Sent(NamedTuple):
    """Request with a response in the recording."""

    step: Step
    connection: TalkConnection
    request: SentRequest
    until_ms: int  # when its response is late, in the stage's time


class ReplayPlayer(Player):
    """All clients of a recording. Responses are compared in recorded order."""

    def __init__(
        self, talk: Talk, stage: ReplayStage, pace: Pace, on_difference: Callable[[Difference], None] | None = None
    ) -> None:
        """Set up a replay; `on_difference` is called with each difference at once."""
        super().__init__(RECORDED_TEXTS)
        self._talk = talk
        self._stage = stage
        self._pace = pace
        self._on_difference = on_difference
        self._bindings = Bindings()
        self._judge = Judge(self._bindings)
        self._sent: dict[int, Sent] = {}  # requests with recorded responses, by line
        self._due: list[Sent] = []  # requests with responses in the recording by now
        self._late_speakers: set[str] = set()  # speakers with a late response, which delays those after it
        self._last: TalkConnection | None = None  # connection of the last request
        self._coordinators: dict[str, tuple[int, str]] = {}
        self._leaders = ElectedLeaders(self._bindings)
        # responses of a generation, until the last one has come
        self._joined: dict[JoinPhase, list[tuple[Sent, Joined]]] = {}
        self._joined_at_ms: dict[str, int] = {}  # last JoinGroup request, by group
        self.played = Played(cut_off=talk.cut_off)

    async def play(self, needs: Needs) -> Played:
        """Replay the conversation. Raise BrokerError or ReplayError if the cluster fails."""
        self._coordinators = needs.coordinators
        for name, topic in needs.topic_ids.items():
            if topic in self._stage.topic_ids:
                self._bindings.bind(name, self._stage.topic_ids[topic])
        try:
            for steps in in_join_order(self._talk.steps):
                await self._take_together(steps)
            await self._receive_due()
        finally:
            for connection in self._connections.values():
                connection.close()
        return self.played

    async def _take_together(self, steps: list[Step]) -> None:
        """Replay the steps; several are requests that are sent at once."""
        if steps[0].kind != ANSWER:
            await self._settle()
            await self._pace.until(steps[-1].at_ms)
            await self._receive_due()
        if len(steps) > 1:
            for step in steps:  # so that nothing has to be awaited between two requests
                await self.connection(step.speaker)
        for step in steps:
            await self.take(step)

    async def _connects(self, step: Step) -> None:
        self._client_ids[step.speaker] = step.client_id

    async def _request(self, step: Step) -> None:
        if self._judge.leaves_out(step):
            self.played.left_out += 1
        elif step.api == "sync_group":
            await self._receive_joined(step)
            for exchanged in self._leaders.exchanged(step):
                await self._repeat(exchanged)
        else:
            await self._repeat(step)

    async def _answer(self, step: Step) -> None:
        assert step.request is not None, "an answer belongs to a request"
        if (sent := self._sent.get(step.request.number)) is not None:
            self._due.append(sent)

    async def _repeat(self, step: Step) -> None:
        """Send a recorded request."""
        if step.api == "join_group":
            self._joined_at_ms[_owner_of(step).group] = step.at_ms
        request = await self._send(step.speaker, step.api, step.version, self._bindings.filled(step.values))
        self._last = connection = self._connections[step.speaker]
        self.played.requests += 1
        if step.answer is None:
            self.played.unanswered += 1
            return
        until_ms = request.sent_at_ms + step.answer.at_ms - step.at_ms + PATIENCE_MS
        self._sent[step.number] = Sent(step, connection, request, until_ms)

    async def connection(self, speaker: str) -> TalkConnection:
        if speaker in self._connections and self._connections[speaker].is_closed:
            del self._connections[speaker]
        return await super().connection(speaker)

    async def _open(self, speaker: str) -> TalkConnection:
        self.played.connections += 1
        kind, name = self._coordinators.get(speaker, (GROUP, ""))
        client_id = self._client_ids[speaker]
        if not name:
            return await self._stage.open_any(client_id)
        return await self._stage.open(await self._stage.coordinator(kind, name), client_id)

    # Responses

    async def _settle(self) -> None:
        """Wait until the last request has most likely been handled or is waiting in the coordinator."""
        if (last := self._last) is not None:
            await self._stage.wait(SETTLE_MS, lambda: last.has_all_responses or last.is_closed)

    async def _receive_joined(self, sync: Step) -> None:
        """Receive the responses of the other members of the generation, which show its leader."""
        phase = JoinPhase("join_group", str(sync.values.get("group_id", "")), sync.values.get("generation_id", 0))
        until_ms = self._stage.now_ms() + PATIENCE_MS
        for sent in [sent for sent in self._sent.values() if join_phase(sent.step) == phase]:
            await self._receive(sent, until_ms)

    async def _receive_due(self) -> None:
        """Receive all responses that the recording has by now, unless they are late."""
        due, self._due = self._due, []
        began_ms = self._stage.now_ms()
        for sent in due:
            if sent.step.number not in self._sent:
                continue
            if not await self._receive(sent, sent.until_ms):
                self._late_speakers.add(sent.step.speaker)
                self._differs(sent.step, f"nothing within {PATIENCE_MS / 1000:g} s more than recorded", [])
                self._forget(sent)
        self._pace.behind(self._stage.now_ms() - began_ms)

    async def _receive(self, sent: Sent, until_ms: int) -> bool:
        """Receive a response and compare it. Return False if it does not come in time, or after another late one."""
        try:
            while sent.request.response is None:
                is_late = sent.step.speaker in self._late_speakers
                patience_ms = 0 if is_late else until_ms - self._stage.now_ms()
                if await sent.connection.receive(max(patience_ms, SETTLE_MS)) is None:
                    return False
                self._late_speakers.discard(sent.step.speaker)
            self._compare(sent, sent.request.response)
        except BrokerError as error:
            self._differs(sent.step, str(error), [])
        self._forget(sent)
        return True

    def _forget(self, sent: Sent) -> None:
        del self._sent[sent.step.number]
        phase = join_phase(sent.step)
        if phase in self._joined and all(join_phase(other.step) != phase for other in self._sent.values()):
            self._compare_joined(phase)

    def _compare(self, sent: Sent, frame: bytes) -> None:
        step = sent.step
        try:
            response = message_of(step.api).read_answer(step.version, frame)[1]
        except DecodeError as unreadable:
            self._differs(step, f"unreadable: {unreadable}", [])
            return
        shape, reduced = recorded_answer(step.api)
        expected, received = self._judge.comparable(step, to_values(shape, reduced(response)))
        phase = join_phase(step)
        if phase is None or phase.api != "join_group" or "member_id" not in received:
            self._compare_values(step, expected, received)
            return
        self._bindings.is_same_id(expected.get("member_id"), received["member_id"])
        self._joined.setdefault(phase, []).append((sent, Joined(expected, received, step.at_ms)))

    def _compare_joined(self, phase: JoinPhase) -> None:
        responses = self._joined.pop(phase)
        sentence = self._leaders.follow(phase, [joined for _, joined in responses])
        if sentence:
            self._note_ambiguous(min(sent.step.number for sent, _ in responses), sentence)
        for sent, joined in responses:
            self._compare_values(sent.step, joined.expected, joined.received)

    def _compare_values(self, step: Step, expected: Value, received: Value) -> None:
        owner = _owner_of(step)
        lines = differences(step.kafka_name, expected, received, RecordedExpectations(self._bindings, owner))
        if not lines:
            self.played.as_recorded += 1
            return
        self._bindings.learn(expected, received, owner)
        errors = {values.get("error_code", "NONE") for values in (expected, received)}
        joined_at_ms = self._joined_at_ms.get(owner.group, -CONCURRENT_MS - 1)
        if errors == _EITHER_SIDE_OF_A_JOIN and joined_at_ms >= step.at_ms - CONCURRENT_MS:
            self.played.ambiguous_answers += 1
            sentence = f"a member joined group {owner.group} at the same time as this {step.kafka_name}"
            self._note_ambiguous(step.number, sentence)
        else:
            self._differs(step, shown_answer(shortened(self._bindings.named(received))), lines)

    def _note_ambiguous(self, number: int, sentence: str) -> None:
        if len(self.played.ambiguous) < KEPT_DIFFERENCES:
            self.played.ambiguous.append(f"{self._talk.name}:{number}: the recording is ambiguous: {sentence}")

    def _differs(self, step: Step, text: str, lines: list[str]) -> None:
        assert step.answer is not None, "it was recorded"
        self.played.different += 1
        path, request = f"{self._talk.name}:{step.number}", step.text
        difference = Difference(path, request, step.answer.response_text, text, lines)
        if len(self.played.differences) < KEPT_DIFFERENCES:
            self.played.differences.append(difference)
        if self._on_difference is not None:
            self._on_difference(difference)


def _owner_of(step: Step) -> Owner:
    return Owner(first(step.values, "group_id"), first(step.values, "producer_id"))


async def play(
    talk: Talk,
    stage: ReplayStage,
    pace: Pace,
    on_difference: Callable[[Difference], None] | None = None,
    rename: str = "",
) -> Played:
    """Replay a conversation. Raise BrokerError or ReplayError on failure.

    Args:
        on_difference: Called with each difference at once.
        rename: Suffix for groups and transactional ids.
    """
    talk.rename = rename
    needs = needs_of(talk)
    try:
        await stage.set_up(talk, needs)
        return await ReplayPlayer(talk, stage, pace, on_difference).play(needs)
    finally:
        stage.close()
