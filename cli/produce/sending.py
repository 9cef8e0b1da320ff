"""Hands records to librdkafka, and hears what has become of them."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator
from select import select
from typing import Any

from kohort.cli.librdkafka import Troubles, fail, in_words
from kohort.cli.output import say
from kohort.cli.produce.record_lines import LineError, LineReader, NewRecord, lines

PAUSE_S = 0.2
"""How long nothing comes on stdin before librdkafka is asked for news."""


def chunks(descriptor: int) -> Iterator[bytes]:
    """What comes in, as it comes; nothing whenever nothing has come for a while."""
    while True:
        if not select([descriptor], [], [], PAUSE_S)[0]:
            yield b""
        elif chunk := os.read(descriptor, 1 << 16):
            yield chunk
        else:
            return


class Sending:
    """Records on their way to one topic."""

    def __init__(self, producer: Any, topic: str, troubles: Troubles) -> None:
        self._producer, self._topic, self._troubles = producer, topic, troubles
        self.written = 0
        self.failures: Counter[str] = Counter()
        """What has become of the others: a sentence, and of how many."""

    def send_all(self, descriptor: int, reader: LineReader, delimiter: bytes) -> None:
        """Everything that comes in, until its end. Raises LineError for the first line that is no record."""
        number = 1
        try:
            for line in lines(chunks(descriptor), delimiter):
                if line is None:
                    self._producer.poll(0)
                else:
                    self.send(reader.record(line))
                    number += 1
        except LineError as problem:
            raise LineError(f"line {number} {problem}") from None

    def send(self, record: NewRecord) -> None:
        """Waits where more are under way than librdkafka keeps. Raises LineError if it does not take this one."""
        from confluent_kafka import KafkaException

        options: dict[str, Any] = {} if record.partition is None else {"partition": record.partition}
        if record.timestamp_ms is not None:
            options["timestamp"] = record.timestamp_ms
        if record.headers:
            options["headers"] = list(record.headers)
        while True:
            try:
                self._producer.produce(self._topic, record.value, record.key, on_delivery=self._heard, **options)
                self._producer.poll(0)
                return
            except BufferError:
                self._producer.poll(PAUSE_S)
            except KafkaException as problem:
                raise LineError(f"is not taken: {in_words(problem.args[0])}") from None

    def finish(self) -> None:
        """Waits until it is known of each one whether it was written."""
        while self._producer.flush(PAUSE_S):
            pass

    def tell(self, quiet: bool) -> None:
        """How many were written. Ends the command with a sentence if others were not."""
        for sentence, count in self.failures.items():
            say(f"kohort: {_records(count)} not written: {sentence}", err=True)
        if not quiet:
            say(f"{_records(self.written)} written to {self._topic}", err=True)
        if left := len(self._producer):
            fail(f"{_records(left)} may not have been written: it ended before the broker had answered")

    def _heard(self, error: Any, _: Any) -> None:
        if error is None:
            self.written += 1
            self._troubles.over()
        else:
            self.failures[in_words(error)] += 1


def _records(count: int) -> str:
    return f"{count} record{'s'[count == 1 :]}"
