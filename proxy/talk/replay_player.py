"""Plays a recorded conversation on a cluster, and compares what it answers.

Each recorded connection is a connection. Requests go out in recorded order, at recorded times, and none before the
answers that its client, or another one, had heard by then: who joins second in the recording joins second here. Members
that joined at once do so in the order that the answers show.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Final, NamedTuple, Protocol

from kohort.protocol.errors import DecodeError
from kohort.protocol.messages import message_of
from kohort.proxy.talk.answer_comparing import differences, learn
from kohort.proxy.talk.bindings import Bindings, Whose
from kohort.proxy.talk.concurrent_joins import CONCURRENT_MS, JoinPhase, in_join_order, join_phase
from kohort.proxy.talk.elected_leaders import ElectedLeaders, Joined
from kohort.proxy.talk.leaving_out import Judge, first
from kohort.proxy.talk.recorded_apis import recorded_answer
from kohort.proxy.talk.replay_line import ReplayLine
from kohort.proxy.talk.replay_needs import GROUP, Needs, needs_of
from kohort.proxy.talk.replay_stage import ReplayStage
from kohort.proxy.talk.short_forms import shortened
from kohort.proxy.talk.talk_fields import from_values, to_values
from kohort.proxy.talk.talk_file import Step, Talk
from kohort.proxy.talk.talk_lines import ANSWER, CONNECTS, REQUEST, shown_answer
from kohort.proxy.talk.talk_values import Value

PATIENCE_S: Final = 5.0
"""How much longer than in the recording an answer may take."""
SETTLE_S: Final = 0.01
"""How long a request has to be handled before that of another client follows, where both went out at once."""

KEPT_DIFFERENCES: Final = 1_000

_EITHER_SIDE_OF_A_JOIN: Final = {"NONE", "REBALANCE_IN_PROGRESS"}
"""Errors that a member gets before and after another one joins."""


class Pace(Protocol):
    """When a request is sent."""

    async def until(self, at_ms: int) -> None:
        """Returns when the moment of the recording has come."""
        ...

    def behind(self, late_ms: int) -> None:
        """An answer has come so much later than in the recording: what follows comes later, too."""
        ...


class RealTime:
    """By the machine's clock."""

    def __init__(self, speed: float = 1.0) -> None:
        """`speed`: how many seconds of the recording go by in one."""
        self._speed = speed
        self._start_s: float | None = None

    async def until(self, at_ms: int) -> None:
        """See `Pace`."""
        now_s = asyncio.get_running_loop().time()
        if self._start_s is None:
            self._start_s = now_s - at_ms / 1000 / self._speed
        await asyncio.sleep(max(self._start_s + at_ms / 1000 / self._speed - now_s, 0))

    def behind(self, late_ms: int) -> None:
        """See `Pace`."""
        if self._start_s is not None:
            self._start_s += late_ms / 1000


@dataclass
class Difference:
    """An answer that is not as it was recorded."""

    where: str
    """`x.talk:17`."""
    asked: str
    """Who asked what."""
    expected: str
    heard: str
    lines: list[str]

    def __str__(self) -> str:
        rows = [f"{self.where}: {self.asked}", f"  expected {self.expected}", f"  heard    {self.heard}"]
        return "\n".join(rows + [f"    {line}" for line in self.lines])


@dataclass
class Played:
    """What has come of a replay."""

    asked: int = 0
    as_recorded: int = 0
    different: int = 0
    unanswered: int = 0
    """Requests that were not answered in the recording either."""
    left_out: int = 0
    """Requests that were not sent, as the cluster can't answer them as the recorded one did."""
    connections: int = 0
    differences: list[Difference] = field(default_factory=list)
    """The first that there were."""
    ambiguous_answers: int = 0
    """Answers that depended on which of two concurrent requests was handled first."""
    ambiguous: list[str] = field(default_factory=list)
    """Where the recording does not determine what follows, a sentence each."""
    cut_off: str = ""
    """Why the recording ends where it does, if it was cut off."""

    def __str__(self) -> str:
        requests, connections = _counted(self.asked, "request"), _counted(self.connections, "connection")
        text = f"{requests} of {connections}: {self.as_recorded} answered as recorded"
        text += f", {self.different} not" if self.different else ""
        text += f", {self.ambiguous_answers} ambiguous" if self.ambiguous_answers else ""
        text += f", {self.unanswered} unanswered in the recording" if self.unanswered else ""
        return text + (f"; {self.left_out} not sent" if self.left_out else "")


def _counted(number: int, what: str) -> str:
    return f"{number} {what}" + ("s" if number != 1 else "")


class Sent(NamedTuple):
    """A request on its way."""

    step: Step
    answer: asyncio.Future[bytes]
    until_s: float
    """When its answer is late, by the event loop's time."""
    whose: Whose


class Player:
    """Everybody who speaks in one conversation."""

    def __init__(
        self, talk: Talk, stage: ReplayStage, pace: Pace, told: Callable[[Difference], None] | None = None
    ) -> None:
        """`told` gets what differs as soon as it is heard."""
        self._talk = talk
        self._stage = stage
        self._pace = pace
        self._told = told
        self._bindings = Bindings()
        self._judge = Judge(self._bindings)
        self._lines: dict[str, ReplayLine] = {}
        self._client_ids: dict[str, str | None] = {}
        self._sent: dict[int, Sent] = {}
        """By line: what waits for an answer that was recorded."""
        self._due: list[Sent] = []
        """What was answered in the recording by now."""
        self._late: set[str] = set()
        """On whose connections an answer is late: those behind it can't be there either."""
        self._last: Sent | None = None
        self._where: dict[str, tuple[int, str]] = {}
        self._leaders = ElectedLeaders(self._bindings)
        self._joined: dict[JoinPhase, list[tuple[Sent, Joined]]] = {}
        """Answers of a generation, until the last of those that wait has come."""
        self._now_ms = 0  # time of the recording
        self._joined_at_ms: dict[str, int] = {}  # last JoinGroup request, by group
        self._undecided: dict[int, tuple[Step, str, list[str]]] = {}
        """By line: answers that a concurrent JoinGroup request may explain, until the recording is past them."""
        self.played = Played(cut_off=talk.cut_off)

    async def play(self, needs: Needs) -> Played:
        """Raises BrokerError, ReplayError where the cluster goes away."""
        self._where = needs.coordinators
        for name, topic in needs.topic_ids.items():
            if topic in self._stage.topic_ids:
                self._bindings.bind(name, self._stage.topic_ids[topic])
        try:
            for steps in in_join_order(self._talk.steps):
                await self._take(steps)
            await self._until_heard()
            for phase in list(self._joined):
                self._compare_joined(phase)
            for number in list(self._undecided):
                self._decide(number)
        finally:
            for line in self._lines.values():
                line.close()
        return self.played

    async def _take(self, steps: list[Step]) -> None:
        """Play the steps; several are requests that are sent at once."""
        step = steps[-1]
        self._now_ms = step.line.at_ms
        if step.line.kind == ANSWER:
            assert step.request is not None, "an answer belongs to a request"
            self._decide(step.request.number)
            if (sent := self._sent.get(step.request.number)) is not None:
                self._due.append(sent)
            return
        await self._settled()
        await self._pace.until(step.line.at_ms)
        await self._until_heard()
        if step.line.kind == CONNECTS:
            self._client_ids[step.line.speaker] = step.line.client_id
        elif step.line.kind == REQUEST:
            if len(steps) > 1:
                for each in steps:  # so that nothing has to be awaited between two requests
                    await self._line(each.line.speaker)
            for each in steps:
                await self._ask(each)
        elif (line := self._lines.pop(step.line.speaker, None)) is not None:
            line.close()

    async def _ask(self, step: Step) -> None:
        if self._judge.leaves_out(step):
            self.played.left_out += 1
        elif step.api == "sync_group":
            await self._until_joined(step)
            for each in self._leaders.exchanged(step):
                await self._send(each)
        else:
            await self._send(step)

    async def _send(self, step: Step) -> None:
        if step.api == "join_group":
            self._joined_at_ms[_whose(step).group] = step.line.at_ms
        line = await self._line(step.line.speaker)
        whose = _whose(step)
        request = from_values(message_of(step.api).request, self._bindings.filled(step.values), step.line.api)
        answer = line.ask(step.api, step.line.version, self._client_ids[step.line.speaker], request)
        self.played.asked += 1
        if step.answer is None:
            self.played.unanswered += 1
            answer.add_done_callback(_ignored)
            return
        took_s = (step.answer.line.at_ms - step.line.at_ms) / 1000
        sent = Sent(step, answer, asyncio.get_running_loop().time() + took_s + PATIENCE_S, whose)
        self._sent[step.number] = self._last = sent
        answer.add_done_callback(partial(self._heard, sent))

    async def _until_joined(self, sync: Step) -> None:
        """Wait for the other members of the generation: their answers show who leads it."""
        phase = JoinPhase("join_group", str(sync.values.get("group_id", "")), sync.values.get("generation_id", 0))
        waiting = [sent.answer for sent in self._sent.values() if join_phase(sent.step) == phase]
        if waiting:
            await asyncio.wait(waiting, timeout=PATIENCE_S)
            await asyncio.sleep(0)

    async def _settled(self) -> None:
        """The last request has been handled, in all likelihood, be it that it waits for somebody else."""
        if self._last is not None and not self._last.answer.done():
            await asyncio.wait([self._last.answer], timeout=SETTLE_S)

    async def _line(self, speaker: str) -> ReplayLine:
        line = self._lines.get(speaker)
        if line is None or line.gone:
            line = self._lines[speaker] = await self._connected(speaker)
        return line

    async def _connected(self, speaker: str) -> ReplayLine:
        self.played.connections += 1
        kind, name = self._where.get(speaker, (GROUP, ""))
        if not name:
            return await self._stage.cluster.open_any()
        return await self._stage.cluster.open(await self._stage.coordinator(kind, name))

    # What is heard

    async def _until_heard(self) -> None:
        """What had been answered by now in the recording is answered here, or is too late."""
        due, self._due = self._due, []
        loop = asyncio.get_running_loop()
        began_s = loop.time()
        for sent in due:
            if not sent.answer.done():
                patience_s = 0 if sent.step.line.speaker in self._late else sent.until_s - loop.time()
                await asyncio.wait([sent.answer], timeout=max(patience_s, SETTLE_S))
            if not sent.answer.done():
                self._late.add(sent.step.line.speaker)
                self._differs(sent.step, f"nothing within {PATIENCE_S:g} s more than recorded", [])
                self._forget(sent)
        self._pace.behind(int((loop.time() - began_s) * 1000))
        await asyncio.sleep(0)  # what has come is compared before anything is asked that follows from it

    def _heard(self, sent: Sent, answer: asyncio.Future[bytes]) -> None:
        self._late.discard(sent.step.line.speaker)
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
        if phase in self._joined and all(join_phase(each.step) != phase for each in self._sent.values()):
            self._compare_joined(phase)

    def _receive(self, sent: Sent, answer: asyncio.Future[bytes]) -> None:
        problem = answer.exception()
        if problem is not None:
            self._differs(sent.step, str(problem), [])
            return
        try:
            response = message_of(sent.step.api).read_answer(sent.step.line.version, answer.result())[1]
        except DecodeError as unreadable:
            self._differs(sent.step, f"what can't be read: {unreadable}", [])
            return
        shape, reduced = recorded_answer(sent.step.api)
        self._compare(sent, to_values(shape, reduced(response)))

    def _compare(self, sent: Sent, heard: Value) -> None:
        assert sent.step.answer is not None, "it was recorded"
        expected, heard = self._judge.comparable(sent.step, heard)
        phase = join_phase(sent.step)
        if phase is None or phase.api != "join_group" or "member_id" not in heard:
            self._compare_values(sent, expected, heard)
            return
        self._bindings.is_same_id(expected.get("member_id"), heard["member_id"])
        self._joined.setdefault(phase, []).append((sent, Joined(expected, heard, sent.step.line.at_ms)))

    def _compare_joined(self, phase: JoinPhase) -> None:
        answers = self._joined.pop(phase)
        sentence = self._leaders.follow(phase, [joined for _, joined in answers])
        if sentence:
            self._note_ambiguous(min(sent.step.number for sent, _ in answers), sentence)
        for sent, joined in answers:
            self._compare_values(sent, joined.expected, joined.received)

    def _compare_values(self, sent: Sent, expected: Value, received: Value) -> None:
        lines = differences(expected, received, self._bindings, sent.whose)
        if not lines:
            self.played.as_recorded += 1
            return
        learn(expected, received, self._bindings, sent.whose)
        text = shown_answer(shortened(self._bindings.named(received)))
        if {values.get("error_code", "NONE") for values in (expected, received)} != _EITHER_SIDE_OF_A_JOIN:
            self._differs(sent.step, text, lines)
            return
        self._undecided[sent.step.number] = (sent.step, text, lines)
        assert sent.step.answer is not None, "it was recorded"
        if self._now_ms >= sent.step.answer.line.at_ms:
            self._decide(sent.step.number)

    def _decide(self, number: int) -> None:
        """Report an undecided answer, as ambiguous if a member joined the group at the same time."""
        if number not in self._undecided:
            return
        step, received, lines = self._undecided.pop(number)
        group = _whose(step).group
        if self._joined_at_ms.get(group, -CONCURRENT_MS - 1) < step.line.at_ms - CONCURRENT_MS:
            self._differs(step, received, lines)
            return
        self.played.ambiguous_answers += 1
        self._note_ambiguous(number, f"a member joined group {group} at the same time as this {step.line.api}")

    def _note_ambiguous(self, number: int, sentence: str) -> None:
        if len(self.played.ambiguous) < KEPT_DIFFERENCES:
            self.played.ambiguous.append(f"{self._talk.name}:{number}: the recording is ambiguous: {sentence}")

    def _differs(self, step: Step, heard: str, lines: list[str]) -> None:
        assert step.answer is not None, "it was recorded"
        self.played.different += 1
        where, asked = f"{self._talk.name}:{step.number}", f"{step.line.speaker} {step.line.said}"
        difference = Difference(where, asked, shown_answer(step.answer.line.values), heard, lines)
        if len(self.played.differences) < KEPT_DIFFERENCES:
            self.played.differences.append(difference)
        if self._told is not None:
            self._told(difference)


def _ignored(answer: asyncio.Future[bytes]) -> None:
    """Nobody heard it in the recording."""
    if not answer.cancelled():
        answer.exception()


def _whose(step: Step) -> Whose:
    return Whose(first(step.values, "group_id"), first(step.values, "producer_id"))


async def play(
    talk: Talk, stage: ReplayStage, pace: Pace, told: Callable[[Difference], None] | None = None, rename: str = ""
) -> Played:
    """Plays a conversation. Raises BrokerError, ReplayError.

    `told` gets what differs as soon as it is heard. `rename`: a suffix for groups and transactions.
    """
    talk.rename = rename
    needs = needs_of(talk)
    try:
        await stage.set_up(talk, needs)
        return await Player(talk, stage, pace, told).play(needs)
    finally:
        stage.close()
