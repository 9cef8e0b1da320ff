"""Effects of the coordinators are applied in order and logged."""

from collections.abc import Callable
from io import StringIO
from typing import Any

import pytest

from kohort.broker.cluster.effect_execution import describe, perform
from kohort.broker.scheduling.cooperative import Task
from kohort.broker.ticket import Ticket
from kohort.coordinator.effects import Append, Cause, GroupWarning, Reply, Transition
from kohort.protocol.batches import EncodedRecords, encode_record
from kohort.protocol.errors import ErrorCode
from kohort.security.principal import ANONYMOUS
from kohort.security.sasl.login import Login
from tests.support.broker import Broker

PARTITION, NO_PARTITION = 7, 99
ONE_RECORD = EncodedRecords(encode_record(b"k", b"v", 0), 1)


class Listener:
    """Recipient of responses."""

    client_host = "/10.0.0.7"
    client_software: str | None = None
    listener = ("10.0.0.1", 9092)
    listener_name = "PLAINTEXT"
    principal = ANONYMOUS
    login: Login | None = None
    node_id = 0

    def __init__(self) -> None:
        self.heard: list[object] = []

    def answer(self, ticket: Ticket, response: object) -> None:
        self.heard.append(response)

    def answer_and_close(self, ticket: Ticket, response: object | None, reason: str) -> None:
        pass

    def close(self, reason: str) -> None:
        pass

    def unpark(self) -> None:
        pass

    def take_up(self, ticket: Ticket, steps: Task[Any]) -> None:
        pass

    def when_gone(self, action: Callable[[], object]) -> None:
        pass

    def ticket(self) -> Ticket:
        return Ticket(self, None, None, 0, 0, "c-3", 0)


def ready() -> Broker:
    broker = Broker()
    broker.cluster.offsets_topic.create(0)
    broker.clock.advance(50)
    return broker


def test_write_precedes_response() -> None:
    broker, listener = ready(), Listener()
    coordinator = broker.cluster.coordinators[0]
    log = broker.cluster.topics.by_name("__consumer_offsets").partitions[PARTITION].log  # type: ignore[union-attr]
    ticket = listener.ticket()

    def written(error: ErrorCode, now_ms: int) -> None:
        assert (error, now_ms, log.log_end_offset) == (ErrorCode.none, 50, 2)
        coordinator.effects.append(Reply(ticket, "done"))

    coordinator.append(
        PARTITION, EncodedRecords(encode_record(b"k", b"v", 0) + encode_record(b"l", None, 1), 2), 50, written
    )
    perform(broker.cluster, 50)
    assert listener.heard == ["done"]
    assert coordinator.effects == []


def test_missing_offsets_topic_rejects_writes() -> None:
    offsets_topic = Broker().cluster.offsets_topic
    assert offsets_topic.append(PARTITION, ONE_RECORD, 0, 0) == (ErrorCode.unknown_topic_or_partition, None)


def test_failing_effect_affects_no_other(lines: StringIO) -> None:
    broker, listener = ready(), Listener()
    answered = listener.ticket()
    answered.reply("first")
    broker.cluster.coordinators[0].effects += [Reply(answered, "again"), Reply(listener.ticket(), "second")]
    perform(broker.cluster, 50)
    assert listener.heard == ["first", "second"]
    assert "an effect failed: Reply(" in lines.getvalue()


@pytest.mark.plain("it replaces a method of an object whose class may be compiled")
def test_failed_write_is_logged_and_reported(lines: StringIO, monkeypatch: pytest.MonkeyPatch) -> None:
    broker = ready()
    heard: list[ErrorCode] = []
    coordinator = broker.cluster.coordinators[0]
    monkeypatch.setattr(coordinator, "appended", lambda token, error, now_ms, last_offset: heard.append(error))
    coordinator.effects.append(Append(1, NO_PARTITION, ONE_RECORD, 0))
    perform(broker.cluster, 50)
    assert heard == [ErrorCode.unknown_server_error]
    assert "writing to __consumer_offsets-99 failed" in lines.getvalue()
    assert "IndexError" in lines.getvalue(), "it must fail because the partition does not exist"


def transition(cause: Cause) -> Transition:
    return Transition("orders", PARTITION, "Stable", "PreparingRebalance", 7, 3, cause)


def test_transition_is_one_line(lines: StringIO) -> None:
    joined = transition(Cause("join_new", "c-3-uuid", "c-3", "/10.0.0.7"))
    assert describe(joined) == "orders: Stable -> PreparingRebalance, generation 7, c-3@10.0.0.7 joined"
    left = transition(Cause("leave_explicit", "c-3-uuid", reason="the consumer is being closed"))
    assert describe(left).endswith("generation 7, c-3-uuid left (the consumer is being closed)")
    assert describe(transition(Cause("all_joined"))).endswith("generation 7, all members joined")
    assert describe(transition(Cause("moon_phase"))).endswith("generation 7, moon phase")

    broker = ready()
    broker.cluster.coordinators[0].effects += [joined, GroupWarning("orders", "this will hurt")]
    perform(broker.cluster, 50)
    first, second = lines.getvalue().splitlines()
    assert first.endswith("orders: Stable -> PreparingRebalance, generation 7, c-3@10.0.0.7 joined")
    assert second.endswith("orders: this will hurt")
