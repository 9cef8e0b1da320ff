"""Printing of records that librdkafka consumes, up to a count or the end of the partitions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, BinaryIO

from kohort.cli.consume.record_text import Printer
from kohort.cli.consume.starting import BEGINNING, END, Span
from kohort.cli.librdkafka import ANSWER_S, Troubles, fail, in_words, partitions_of
from kohort.cli.output import say
from kohort.protocol.topic_partition import TopicPartition

WAIT_S = 0.2
AT_ONCE = 500


@dataclass
class Reading:
    """Progress of a `kohort consume`."""

    consumer: Any
    output: BinaryIO
    printer: Printer
    troubles: Troubles
    group: str | None = None
    most: int | None = None  # records, or None for no limit
    exit_at_end: bool = False
    quiet: bool = False
    printed: int = 0
    _ours: set[TopicPartition] = field(default_factory=set)
    # partitions of _ours that have been read to their requested end
    _ended: set[TopicPartition] = field(default_factory=set)
    # first offset that is not printed, if an end was requested
    _stops: dict[TopicPartition, int] = field(default_factory=dict)

    @property
    def is_over(self) -> bool:
        enough = self.most is not None and self.printed >= self.most
        return enough or (bool(self._ours) and self._ours <= self._ended)

    def assign(self, topics: Sequence[str], partitions: Sequence[int], span: Span) -> None:
        """Read these partitions, or all, without joining a group; exit with code 1 if one does not exist."""
        from confluent_kafka import TopicPartition as Assigned

        assigned = []
        for topic in topics:
            existing = partitions_of(self.consumer, topic)
            if missing := sorted(set(partitions) - set(existing)):
                fail(f"{topic} has no partition {missing[0]}; it has {len(existing)}, from 0 on")
            assigned += [Assigned(topic, number) for number in partitions or existing]
        for partition in assigned:
            self._begin(partition, span)
            topic_partition = partition.topic, partition.partition
            self._ours.add(topic_partition)
            if 0 <= self._stops.get(topic_partition, -1) <= partition.offset:
                self._ended.add(topic_partition)
        self.consumer.assign(
            [partition for partition in assigned if (partition.topic, partition.partition) not in self._ended]
        )

    def subscribe(self, topics: Sequence[str]) -> None:
        """Read the partitions that the group assigns. A topic that begins with ^ is a pattern."""
        for topic in topics:
            if not topic.startswith("^"):
                partitions_of(self.consumer, topic)
        self.consumer.subscribe(
            list(topics), on_assign=self._on_assign, on_revoke=self._on_revoke, on_lost=self._on_revoke
        )

    def read_on(self) -> None:
        max_records = AT_ONCE if self.most is None else min(self.most - self.printed, AT_ONCE)
        for message in self.consumer.consume(max_records, WAIT_S):
            if message.error() is None:
                self._take(message)
            else:
                self._handle_error(message)
        self.output.flush()

    def _begin(self, partition: Any, span: Span) -> None:
        from confluent_kafka import OFFSET_BEGINNING, OFFSET_END

        topic_partition = partition.topic, partition.partition
        low, high = 0, 0
        if span.offset is not None or span.until_ms is not None:
            low, high = self.consumer.get_watermark_offsets(partition, ANSWER_S)
        if span.since_ms is not None:
            partition.offset = self._offset_at(partition, span.since_ms)
            if partition.offset < 0:
                partition.offset = OFFSET_END
        elif span.offset is not None:
            partition.offset = span.start(low, high)
        else:
            partition.offset = {BEGINNING: OFFSET_BEGINNING, END: OFFSET_END}[span.position]
        if span.until_ms is not None:
            stop = self._offset_at(partition, span.until_ms)
            self._stops[topic_partition] = stop if stop >= 0 else high
            if partition.offset == OFFSET_BEGINNING:
                partition.offset = low
            elif partition.offset == OFFSET_END:
                partition.offset = high

    def _offset_at(self, partition: Any, moment_ms: int) -> int:
        """Return the first offset at or after a time, or a negative number if every record is older."""
        from confluent_kafka import TopicPartition as Query

        (result,) = self.consumer.offsets_for_times(
            [Query(partition.topic, partition.partition, moment_ms)], timeout=ANSWER_S
        )
        if result.error is not None:
            fail(f"{partition.topic}: {in_words(result.error)}")
        return int(result.offset)

    def _take(self, message: Any) -> None:
        topic_partition = message.topic(), message.partition()
        stop = self._stops.get(topic_partition)
        if stop is None or message.offset() < stop:
            self.output.write(self.printer(message))
            self.printed += 1
            self.troubles.forget()
            if self.group is not None:
                self.consumer.store_offsets(message)
        if stop is not None and message.offset() + 1 >= stop:
            self._end(topic_partition)

    def _handle_error(self, message: Any) -> None:
        from confluent_kafka import KafkaError

        error = message.error()
        topic_partition = message.topic(), message.partition()
        if error.code() == KafkaError._PARTITION_EOF:
            if not self.quiet:
                self.output.flush()
                say(
                    f"{topic_partition[0]} [{topic_partition[1]}]: end of partition, offset {message.offset()}",
                    err=True,
                )
            if self.exit_at_end or topic_partition in self._stops:
                self._end(topic_partition)
        elif error.code() == KafkaError.GROUP_AUTHORIZATION_FAILED and self.group is None:
            pass  # librdkafka looks for a coordinator even without a member
        elif error.code() == KafkaError._MAX_POLL_EXCEEDED or error.retriable():
            self.troubles.report(error)
        else:
            fail(f"{topic_partition[0]}: {in_words(error)}" if topic_partition[0] else in_words(error))

    def _end(self, topic_partition: TopicPartition) -> None:
        self._ended.add(topic_partition)
        if topic_partition in self._stops:
            from confluent_kafka import TopicPartition as Ended

            self.consumer.pause([Ended(*topic_partition)])

    def _on_assign(self, _: Any, partitions: Sequence[Any]) -> None:
        self._ours |= {(partition.topic, partition.partition) for partition in partitions}
        self._print_change("is assigned", partitions)

    def _on_revoke(self, _: Any, partitions: Sequence[Any]) -> None:
        revoked = {(partition.topic, partition.partition) for partition in partitions}
        self._ours -= revoked
        self._ended -= revoked
        self._print_change("releases", partitions)

    def _print_change(self, verb: str, partitions: Sequence[Any]) -> None:
        if not self.quiet:
            self.output.flush()
            names = ", ".join(f"{partition.topic} [{partition.partition}]" for partition in partitions) or "nothing"
            say(f"{self.group}: this member {verb} {names}", err=True)
