"""Sending of records with librdkafka, and their delivery reports."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator
from select import select
from typing import Any

from kohort.cli.librdkafka import Troubles, fail, in_words
from kohort.cli.output import say
from kohort.cli.produce.record_lines import LineError, LineReader, NewRecord, lines

PAUSE_S = 0.2  # pause of stdin after which librdkafka is polled


def chunks(descriptor: int) -> Iterator[bytes]:
    """Yield the bytes of stdin as they arrive, and an empty chunk whenever it is idle."""
    while True:
        if not select([descriptor], [], [], PAUSE_S)[0]:
            yield b""
        elif chunk := os.read(descriptor, 1 << 16):
            yield chunk
        else:
            return


class Sending:
    """Delivery of records to one topic."""

    def __init__(self, producer: Any, topic: str, troubles: Troubles) -> None:
        self._producer, self._topic, self._troubles = producer, topic, troubles
        self.written = 0
        self.failures: Counter[str] = Counter()  # error message: number of records

    def send_all(self, descriptor: int, reader: LineReader, delimiter: bytes) -> None:
        number = 1
        try:
            for line in lines(chunks(descriptor), delimiter):
                if line is None:
                    self._producer.poll(0)
                else:
                    self.send(reader.record(line))
                    number += 1
        except LineError as error:
            raise LineError(f"line {number} {error}") from None

    def send(self, record: NewRecord) -> None:
        """Send a record; wait while librdkafka's queue is full.

        Raises:
            LineError: librdkafka rejects the record.
        """
        from confluent_kafka import KafkaException

        options: dict[str, Any] = {} if record.partition is None else {"partition": record.partition}
        if record.timestamp_ms is not None:
            options["timestamp"] = record.timestamp_ms
        if record.headers:
            options["headers"] = list(record.headers)
        while True:
            try:
                self._producer.produce(self._topic, record.value, record.key, on_delivery=self._on_delivery, **options)
                self._producer.poll(0)
                return
            except BufferError:
                self._producer.poll(PAUSE_S)
            except KafkaException as error:
                raise LineError(f"was rejected: {in_words(error.args[0])}") from None

    def finish(self) -> None:
        while self._producer.flush(PAUSE_S):
            pass

    def tell(self, quiet: bool) -> None:
        """Print how many records were written; exit with code 1 if some may not have been."""
        for message, count in self.failures.items():
            say(f"kohort: {_records(count)} not written: {message}", err=True)
        if not quiet:
            say(f"{_records(self.written)} written to {self._topic}", err=True)
        if pending := len(self._producer):
            fail(f"{_records(pending)} may not have been written: interrupted before the broker responded")

    def _on_delivery(self, error: Any, _: Any) -> None:
        if error is None:
            self.written += 1
            self._troubles.forget()
        else:
            self.failures[in_words(error)] += 1


def _records(count: int) -> str:
    return f"{count} record{'s'[count == 1 :]}"
