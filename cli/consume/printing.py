"""Takes records from librdkafka until enough have come, or the end of all partitions."""

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
    """What has been asked for, and how far it is."""

    consumer: Any
    output: BinaryIO
    printer: Printer
    troubles: Troubles
    group: str | None = None
    most: int | None = None
    """Records; None: no limit."""
    exit_at_end: bool = False
    quiet: bool = False
    printed: int = 0
    _ours: set[TopicPartition] = field(default_factory=set)
    _ended: set[TopicPartition] = field(default_factory=set)
    """Those of ours that have been read as far as was asked for."""
    _stops: dict[TopicPartition, int] = field(default_factory=dict)
    """Offsets that are not printed any more, where an end was named."""

    @property
    def is_over(self) -> bool:
        """Whether all that was asked for has been printed."""
        enough = self.most is not None and self.printed >= self.most
        return enough or (bool(self._ours) and self._ours <= self._ended)

    def assign(self, topics: Sequence[str], partitions: Sequence[int], span: Span) -> None:
        """Reads these partitions, or all, without being a member of a group. Ends the command if there are none."""
        from confluent_kafka import TopicPartition as Assigned

        wanted = []
        for topic in topics:
            there = partitions_of(self.consumer, topic)
            if missing := sorted(set(partitions) - set(there)):
                fail(f"{topic} has no partition {missing[0]}; there are {len(there)}, from 0 on")
            wanted += [Assigned(topic, each) for each in partitions or there]
        for each in wanted:
            self._begin(each, span)
            place = each.topic, each.partition
            self._ours.add(place)
            if 0 <= self._stops.get(place, -1) <= each.offset:
                self._ended.add(place)
        self.consumer.assign([each for each in wanted if (each.topic, each.partition) not in self._ended])

    def subscribe(self, topics: Sequence[str]) -> None:
        """Reads what the group gives us. A topic that begins with ^ is a pattern."""
        for topic in topics:
            if not topic.startswith("^"):
                partitions_of(self.consumer, topic)
        self.consumer.subscribe(list(topics), on_assign=self._given, on_revoke=self._taken, on_lost=self._taken)

    def read_on(self) -> None:
        """Prints what comes within a moment. What is printed may be committed."""
        left = AT_ONCE if self.most is None else min(self.most - self.printed, AT_ONCE)
        for message in self.consumer.consume(left, WAIT_S):
            if message.error() is None:
                self._take(message)
            else:
                self._hear(message)
        self.output.flush()

    def _begin(self, partition: Any, span: Span) -> None:
        """Sets the offset to begin at, and notes where to end."""
        from confluent_kafka import OFFSET_BEGINNING, OFFSET_END

        place = partition.topic, partition.partition
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
            partition.offset = {BEGINNING: OFFSET_BEGINNING, END: OFFSET_END}[span.where]
        if span.until_ms is not None:
            stop = self._offset_at(partition, span.until_ms)
            self._stops[place] = stop if stop >= 0 else high
            if partition.offset == OFFSET_BEGINNING:
                partition.offset = low
            elif partition.offset == OFFSET_END:
                partition.offset = high

    def _offset_at(self, partition: Any, moment_ms: int) -> int:
        """The first offset from a moment on; below 0 if there is none."""
        from confluent_kafka import TopicPartition as Asked

        (found,) = self.consumer.offsets_for_times(
            [Asked(partition.topic, partition.partition, moment_ms)], timeout=ANSWER_S
        )
        if found.error is not None:
            fail(f"{partition.topic}: {in_words(found.error)}")
        return int(found.offset)

    def _take(self, message: Any) -> None:
        place = message.topic(), message.partition()
        stop = self._stops.get(place)
        if stop is None or message.offset() < stop:
            self.output.write(self.printer(message))
            self.printed += 1
            self.troubles.over()
            if self.group is not None:
                self.consumer.store_offsets(message)
        if stop is not None and message.offset() + 1 >= stop:
            self._end(place)

    def _hear(self, message: Any) -> None:
        from confluent_kafka import KafkaError

        error = message.error()
        place = message.topic(), message.partition()
        if error.code() == KafkaError._PARTITION_EOF:
            if not self.quiet:
                self.output.flush()
                say(f"{place[0]} [{place[1]}]: its end, offset {message.offset()}", err=True)
            if self.exit_at_end or place in self._stops:
                self._end(place)
        elif error.code() == KafkaError.GROUP_AUTHORIZATION_FAILED and self.group is None:
            pass  # librdkafka looks for a group's coordinator even so
        elif error.code() == KafkaError._MAX_POLL_EXCEEDED or error.retriable():
            self.troubles.heard(error)
        else:
            fail(f"{place[0]}: {in_words(error)}" if place[0] else in_words(error))

    def _end(self, place: TopicPartition) -> None:
        self._ended.add(place)
        if place in self._stops:
            from confluent_kafka import TopicPartition as Ended

            self.consumer.pause([Ended(*place)])

    def _given(self, _: Any, partitions: Sequence[Any]) -> None:
        self._ours |= {(each.topic, each.partition) for each in partitions}
        self._tell("gets", partitions)

    def _taken(self, _: Any, partitions: Sequence[Any]) -> None:
        gone = {(each.topic, each.partition) for each in partitions}
        self._ours -= gone
        self._ended -= gone
        self._tell("gives up", partitions)

    def _tell(self, what: str, partitions: Sequence[Any]) -> None:
        if not self.quiet:
            self.output.flush()
            named = ", ".join(f"{each.topic} [{each.partition}]" for each in partitions) or "nothing"
            say(f"{self.group}: this member {what} {named}", err=True)
