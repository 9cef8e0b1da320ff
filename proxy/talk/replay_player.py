"""Plays a recorded conversation on a cluster, and compares what it answers.

Each recorded connection is a connection. Requests go out in recorded order, at recorded times, and none before the
answers that its client, or another one, had heard by then: who joins second in the recording joins second here.
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
from kohort.proxy.talk.leaving_out import Judge, first
from kohort.proxy.talk.recorded_apis import recorded_answer
from kohort.proxy.talk.replay_line import ReplayLine
from kohort.proxy.talk.replay_needs import Needs, needs_of, renamed
from kohort.proxy.talk.replay_stage import GROUP, TRANSACTION, ReplayStage
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
    cut_off: str = ""
    """Why the recording ends where it does, if it was cut off."""

    def __str__(self) -> str:
        requests, connections = _counted(self.asked, "request"), _counted(self.connections, "connection")
        text = f"{requests} of {connections}: {self.as_recorded} answered as recorded"
        text += f", {self.different} not" if self.different else ""
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
        self._where = _addressed(talk)
        self.played = Played(cut_off=talk.cut_off)

    async def play(self, needs: Needs) -> Played:
        """Raises BrokerError, ReplayError where the cluster goes away."""
        for name, topic in needs.topic_ids.items():
            if topic in self._stage.topic_ids:
                self._bindings.bind(name, self._stage.topic_ids[topic])
        try:
            for step in self._talk.steps:
                await self._take(step)
            await self._until_heard()
        finally:
            for line in self._lines.values():
                line.close()
        return self.played

    async def _take(self, step: Step) -> None:
        if step.line.kind == ANSWER:
            assert step.request is not None, "an answer belongs to a request"
            if (sent := self._sent.get(step.request.number)) is not None:
                self._due.append(sent)
            return
        await self._settled()
        await self._pace.until(step.line.at_ms)
        await self._until_heard()
        if step.line.kind == CONNECTS:
            self._client_ids[step.line.speaker] = step.line.client_id
        elif step.line.kind == REQUEST:
            await self._ask(step)
        elif (line := self._lines.pop(step.line.speaker, None)) is not None:
            line.close()

    async def _ask(self, step: Step) -> None:
        if self._judge.leaves_out(step):
            self.played.left_out += 1
            return
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
                self._sent.pop(sent.step.number, None)
        self._pace.behind(int((loop.time() - began_s) * 1000))
        await asyncio.sleep(0)  # what has come is compared before anything is asked that follows from it

    def _heard(self, sent: Sent, answer: asyncio.Future[bytes]) -> None:
        self._late.discard(sent.step.line.speaker)
        if self._sent.pop(sent.step.number, None) is None or answer.cancelled():
            return
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
        found = differences(expected, heard, self._bindings, sent.whose)
        if not found:
            self.played.as_recorded += 1
            return
        learn(expected, heard, self._bindings, sent.whose)
        self._differs(sent.step, shown_answer(shortened(self._bindings.named(heard))), found)

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


def _addressed(talk: Talk) -> dict[str, tuple[int, str]]:
    """Who speaks to a coordinator: to that of the first group, or transaction, that the connection speaks of."""
    found: dict[str, tuple[int, str]] = {}
    for step in talk.requests:
        if step.line.speaker not in found and step.api not in ("metadata", "find_coordinator"):
            group, transaction = first(step.values, "group_id"), first(step.values, "transactional_id")
            if transaction and step.api != "txn_offset_commit":
                found[step.line.speaker] = (TRANSACTION, transaction)
            elif group:
                found[step.line.speaker] = (GROUP, group)
    return found


async def play(
    talk: Talk, stage: ReplayStage, pace: Pace, told: Callable[[Difference], None] | None = None, rename: str = ""
) -> Played:
    """Plays a conversation. Raises BrokerError, ReplayError.

    `told` gets what differs as soon as it is heard. `rename`: a suffix for groups and transactions.
    """
    if rename:
        for step in talk.steps:
            step.values = renamed(step.values, rename)
    needs = needs_of(talk)
    try:
        await stage.set_up(talk, needs)
        return await Player(talk, stage, pace, told).play(needs)
    finally:
        stage.close()
