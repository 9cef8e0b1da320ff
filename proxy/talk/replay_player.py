"""Replay of a recorded conversation on a cluster, and comparison of the responses.

Each recorded connection becomes a connection. Requests are sent in recorded order, at recorded times, and not before
the responses that any client had received by then: the second join in the recording is the second join here. Members
that joined concurrently do so in the order that the responses show.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Final, NamedTuple, Protocol

from kohort.protocol.errors import DecodeError
from kohort.protocol.messages import message_of
from kohort.proxy.talk.answer_comparing import differences
from kohort.proxy.talk.bindings import Bindings, Owner, RecordedExpectations
from kohort.proxy.talk.concurrent_joins import CONCURRENT_MS, JoinPhase, in_join_order, join_phase
from kohort.proxy.talk.elected_leaders import ElectedLeaders, Joined
from kohort.proxy.talk.leaving_out import Judge, first
from kohort.proxy.talk.recorded_apis import recorded_answer
from kohort.proxy.talk.replay_line import ReplayLine
from kohort.proxy.talk.replay_needs import GROUP, Needs, needs_of
from kohort.proxy.talk.replay_stage import ReplayStage
from kohort.proxy.talk.short_forms import shortened
from kohort.proxy.talk.talk_fields import from_values, to_values
from kohort.proxy.talk.talk_file import Talk
from kohort.proxy.talk.talk_lines import ANSWER, CONNECTS, REQUEST, Step, shown_answer
from kohort.proxy.talk.talk_values import Value

PATIENCE_S: Final = 5.0  # how much later than in the recording a response may come
SETTLE_S: Final = 0.01  # time for handling a request before another client's recorded at the same time

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

    where: str  # as in `x.talk:17`
    asked: str  # speaker and request
    expected: str
    heard: str
    lines: list[str]

    def __str__(self) -> str:
        rows = [f"{self.where}: {self.asked}", f"  expected {self.expected}", f"  received {self.heard}"]
        return "\n".join(rows + [f"    {line}" for line in self.lines])


@dataclass
class Played:
    """Result of a replay."""

    asked: int = 0
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
        requests, connections = _counted(self.asked, "request"), _counted(self.connections, "connection")
        text = f"{requests} of {connections}: {self.as_recorded} answered as recorded"
        text += f", {self.different} not" if self.different else ""
        text += f", {self.ambiguous_answers} ambiguous" if self.ambiguous_answers else ""
        text += f", {self.unanswered} unanswered in the recording" if self.unanswered else ""
        return text + (f"; {self.left_out} not sent" if self.left_out else "")


def _counted(number: int, noun: str) -> str:
    return f"{number} {noun}" + ("s" if number != 1 else "")


class Sent(NamedTuple):
    """Pending request."""

    step: Step
    answer: asyncio.Future[bytes]
    until_s: float  # when its response is late, in the event loop's time
    owner: Owner


class Player:
    """All clients of one conversation."""

    def __init__(
        self, talk: Talk, stage: ReplayStage, pace: Pace, on_difference: Callable[[Difference], None] | None = None
    ) -> None:
        """Set up a replay; `on_difference` is called with each difference at once."""
        self._talk = talk
        self._stage = stage
        self._pace = pace
        self._on_difference = on_difference
        self._bindings = Bindings()
        self._judge = Judge(self._bindings)
        self._lines: dict[str, ReplayLine] = {}
        self._client_ids: dict[str, str | None] = {}
        self._sent: dict[int, Sent] = {}  # requests with recorded responses, by line
        self._due: list[Sent] = []  # requests with responses in the recording by now
        self._late_speakers: set[str] = set()  # speakers with a late response, which delays those after it
        self._last: Sent | None = None
        self._coordinators: dict[str, tuple[int, str]] = {}
        self._leaders = ElectedLeaders(self._bindings)
        # responses of a generation, until the last one has come
        self._joined: dict[JoinPhase, list[tuple[Sent, Joined]]] = {}
        self._now_ms = 0  # time of the recording
        self._joined_at_ms: dict[str, int] = {}  # last JoinGroup request, by group
        # by line: responses that a concurrent join may explain, until the recording is past them
        self._undecided: dict[int, tuple[Step, str, list[str]]] = {}
        self.played = Played(cut_off=talk.cut_off)

    async def play(self, needs: Needs) -> Played:
        """Replay the conversation. Raise BrokerError or ReplayError if the cluster fails."""
        self._coordinators = needs.coordinators
        for name, topic in needs.topic_ids.items():
            if topic in self._stage.topic_ids:
                self._bindings.bind(name, self._stage.topic_ids[topic])
        try:
            for steps in in_join_order(self._talk.steps):
                await self._take(steps)
            await self._until_received()
            for phase in list(self._joined):
                self._compare_joined(phase)
            for number in list(self._undecided):
                self._decide(number)
        finally:
            for line in self._lines.values():
                line.close()
        return self.played

    async def _take(self, steps: list[Step]) -> None:
        """Replay the steps; several are requests that are sent at once."""
        step = steps[-1]
        self._now_ms = step.at_ms
        if step.kind == ANSWER:
            assert step.request is not None, "an answer belongs to a request"
            self._decide(step.request.number)
            if (sent := self._sent.get(step.request.number)) is not None:
                self._due.append(sent)
            return
        await self._settled()
        await self._pace.until(step.at_ms)
        await self._until_received()
        if step.kind == CONNECTS:
            self._client_ids[step.speaker] = step.client_id
        elif step.kind == REQUEST:
            if len(steps) > 1:
                for joined_step in steps:  # so that nothing has to be awaited between two requests
                    await self._line(joined_step.speaker)
            for joined_step in steps:
                await self._ask(joined_step)
        elif (line := self._lines.pop(step.speaker, None)) is not None:
            line.close()

    async def _ask(self, step: Step) -> None:
        if self._judge.leaves_out(step):
            self.played.left_out += 1
        elif step.api == "sync_group":
            await self._until_joined(step)
            for exchanged in self._leaders.exchanged(step):
                await self._send(exchanged)
        else:
            await self._send(step)

    async def _send(self, step: Step) -> None:
        if step.api == "join_group":
            self._joined_at_ms[_owner_of(step).group] = step.at_ms
        line = await self._line(step.speaker)
        owner = _owner_of(step)
        request = from_values(message_of(step.api).request, self._bindings.filled(step.values), step.kafka_name)
        answer = line.ask(step.api, step.version, self._client_ids[step.speaker], request)
        self.played.asked += 1
        if step.answer is None:
            self.played.unanswered += 1
            answer.add_done_callback(_ignored)
            return
        took_s = (step.answer.at_ms - step.at_ms) / 1000
        sent = Sent(step, answer, asyncio.get_running_loop().time() + took_s + PATIENCE_S, owner)
        self._sent[step.number] = self._last = sent
        answer.add_done_callback(partial(self._on_response, sent))

    async def _until_joined(self, sync: Step) -> None:
        """Wait for the other members of the generation, whose responses show its leader."""
        phase = JoinPhase("join_group", str(sync.values.get("group_id", "")), sync.values.get("generation_id", 0))
        waiting = [sent.answer for sent in self._sent.values() if join_phase(sent.step) == phase]
        if waiting:
            await asyncio.wait(waiting, timeout=PATIENCE_S)
            await asyncio.sleep(0)

    async def _settled(self) -> None:
        """Wait until the last request has most likely been handled or is waiting in the coordinator."""
        if self._last is not None and not self._last.answer.done():
            await asyncio.wait([self._last.answer], timeout=SETTLE_S)

    async def _line(self, speaker: str) -> ReplayLine:
        line = self._lines.get(speaker)
        if line is None or line.is_closed:
            line = self._lines[speaker] = await self._connected(speaker)
        return line

    async def _connected(self, speaker: str) -> ReplayLine:
        self.played.connections += 1
        kind, name = self._coordinators.get(speaker, (GROUP, ""))
        if not name:
            return await self._stage.cluster.open_any()
        return await self._stage.cluster.open(await self._stage.coordinator(kind, name))

    # Responses

    async def _until_received(self) -> None:
        """Wait until all responses in the recording by now have come or are late."""
        due, self._due = self._due, []
        loop = asyncio.get_running_loop()
        began_s = loop.time()
        for sent in due:
            if not sent.answer.done():
                patience_s = 0 if sent.step.speaker in self._late_speakers else sent.until_s - loop.time()
                await asyncio.wait([sent.answer], timeout=max(patience_s, SETTLE_S))
            if not sent.answer.done():
                self._late_speakers.add(sent.step.speaker)
                self._differs(sent.step, f"nothing within {PATIENCE_S:g} s more than recorded", [])
                self._forget(sent)
        self._pace.behind(int((loop.time() - began_s) * 1000))
        await asyncio.sleep(0)  # compare received responses before the requests that depend on them

    def _on_response(self, sent: Sent, answer: asyncio.Future[bytes]) -> None:
        self._late_speakers.discard(sent.step.speaker)
        if sent.step.number not in self._sent or answer.cancelled():
            self._forget(sent)
            return
        try:
            self._receive(sent, answer)
        finally:
            self._forget(sent)

    def _forget(self, sent: Sent) -> None:
        self._sent.pop(sent.step.number, None)
        phase = join_phase(sent.step)
        if phase in self._joined and all(join_phase(other.step) != phase for other in self._sent.values()):
            self._compare_joined(phase)

    def _receive(self, sent: Sent, answer: asyncio.Future[bytes]) -> None:
        error = answer.exception()
        if error is not None:
            self._differs(sent.step, str(error), [])
            return
        try:
            response = message_of(sent.step.api).read_answer(sent.step.version, answer.result())[1]
        except DecodeError as unreadable:
            self._differs(sent.step, f"unreadable: {unreadable}", [])
            return
        shape, reduced = recorded_answer(sent.step.api)
        self._compare(sent, to_values(shape, reduced(response)))

    def _compare(self, sent: Sent, received: Value) -> None:
        assert sent.step.answer is not None, "it was recorded"
        expected, received = self._judge.comparable(sent.step, received)
        phase = join_phase(sent.step)
        if phase is None or phase.api != "join_group" or "member_id" not in received:
            self._compare_values(sent, expected, received)
            return
        self._bindings.is_same_id(expected.get("member_id"), received["member_id"])
        self._joined.setdefault(phase, []).append((sent, Joined(expected, received, sent.step.at_ms)))

    def _compare_joined(self, phase: JoinPhase) -> None:
        answers = self._joined.pop(phase)
        sentence = self._leaders.follow(phase, [joined for _, joined in answers])
        if sentence:
            self._note_ambiguous(min(sent.step.number for sent, _ in answers), sentence)
        for sent, joined in answers:
            self._compare_values(sent, joined.expected, joined.received)

    def _compare_values(self, sent: Sent, expected: Value, received: Value) -> None:
        expectations = RecordedExpectations(self._bindings, sent.owner)
        lines = differences(sent.step.kafka_name, expected, received, expectations)
        if not lines:
            self.played.as_recorded += 1
            return
        self._bindings.learn(expected, received, sent.owner)
        text = shown_answer(shortened(self._bindings.named(received)))
        if {values.get("error_code", "NONE") for values in (expected, received)} != _EITHER_SIDE_OF_A_JOIN:
            self._differs(sent.step, text, lines)
            return
        self._undecided[sent.step.number] = (sent.step, text, lines)
        assert sent.step.answer is not None, "it was recorded"
        if self._now_ms >= sent.step.answer.at_ms:
            self._decide(sent.step.number)

    def _decide(self, number: int) -> None:
        """Report an undecided answer, as ambiguous if a member joined the group at the same time."""
        if number not in self._undecided:
            return
        step, received, lines = self._undecided.pop(number)
        group = _owner_of(step).group
        if self._joined_at_ms.get(group, -CONCURRENT_MS - 1) < step.at_ms - CONCURRENT_MS:
            self._differs(step, received, lines)
            return
        self.played.ambiguous_answers += 1
        self._note_ambiguous(number, f"a member joined group {group} at the same time as this {step.kafka_name}")

    def _note_ambiguous(self, number: int, sentence: str) -> None:
        if len(self.played.ambiguous) < KEPT_DIFFERENCES:
            self.played.ambiguous.append(f"{self._talk.name}:{number}: the recording is ambiguous: {sentence}")

    def _differs(self, step: Step, text: str, lines: list[str]) -> None:
        assert step.answer is not None, "it was recorded"
        self.played.different += 1
        position, request = f"{self._talk.name}:{step.number}", step.text
        difference = Difference(position, request, step.answer.response_text, text, lines)
        if len(self.played.differences) < KEPT_DIFFERENCES:
            self.played.differences.append(difference)
        if self._on_difference is not None:
            self._on_difference(difference)


def _ignored(answer: asyncio.Future[bytes]) -> None:
    """Ignore the response, which has no counterpart in the recording."""
    if not answer.cancelled():
        answer.exception()


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
        return await Player(talk, stage, pace, on_difference).play(needs)
    finally:
        stage.close()
