"""Player of a conversation: the connections of its speakers, and the requests on them.

Each kind of step has a method. `replay_player.py` plays recordings on any cluster, `tests/talk/play.py` conversations
of tests with more kinds of steps. Both wait only through their stage: one in real time, the other moves a clock.
"""

from __future__ import annotations

from kohort.control.request_facts import kafka_name
from kohort.protocol.messages import message_of
from kohort.proxy.talk.short_forms import lengthened
from kohort.proxy.talk.talk_connection import SentRequest, TalkConnection
from kohort.proxy.talk.talk_fields import Texts, from_values
from kohort.proxy.talk.talk_lines import Step
from kohort.proxy.talk.talk_values import Value


class Player:
    """All clients of one conversation."""

    def __init__(self, texts: Texts) -> None:
        self._texts = texts
        self._connections: dict[str, TalkConnection] = {}  # by speaker
        self._client_ids: dict[str, str | None] = {}

    async def take(self, step: Step) -> None:
        """Run a step."""
        await getattr(self, f"_{step.kind}")(step)

    async def connection(self, speaker: str) -> TalkConnection:
        """Return the connection of a speaker, which is opened for its first request."""
        if speaker not in self._connections:
            self._connections[speaker] = await self._open(speaker)
        return self._connections[speaker]

    async def _open(self, speaker: str) -> TalkConnection:
        raise NotImplementedError

    async def _send(self, speaker: str, api: str, version: int, values: Value) -> SentRequest:
        """Send a request with these fields. Raise ValueError if they don't fit."""
        shape = message_of(api).request
        request = from_values(shape, lengthened(shape, values), kafka_name(api), self._texts)
        return (await self.connection(speaker)).send_request(api, version, request)

    async def _disconnects(self, step: Step) -> None:
        connection = self._connections.pop(step.speaker, None)
        if connection is not None:
            connection.close()
