"""Samples of the log start and end offsets of partitions, used for lag, and lists of topic ids with names."""

from __future__ import annotations

import json
from collections.abc import Iterator

from kohort.pipeline.sources.checked import UNREADABLE, moment_ms, text, whole
from kohort.pipeline.sources.chunk import Issue
from kohort.pipeline.sources.lines import read_lines
from kohort.pipeline.sources.source_rows import LogEndSample, TopicName
from kohort.pipeline.sources.stored import SourceFile


def read_end_offsets(path: SourceFile) -> Iterator[LogEndSample | Issue]:
    """Yield samples from JSON Lines with one topic and time per line, and an issue for each unreadable line."""
    faults: list[Issue] = []
    for number, line in enumerate(read_lines(path, faults), 1):
        if not line.strip():
            continue
        try:
            sample = json.loads(line)
            starts, stable = sample.get("log_start") or {}, sample.get("last_stable") or {}
            for part, end in sample["log_end"].items():
                yield LogEndSample(
                    topic=text(sample["topic"]),
                    part=whole(part, 32),
                    sampled_ms=moment_ms(sample["sampled_ms"]),
                    log_start=whole(starts.get(part, 0)),
                    log_end=whole(end),
                    last_stable=whole(stable[part]) if part in stable else None,
                )
        except UNREADABLE as error:
            yield Issue("unreadable_line", f"{path.name}:{number}", f"not a sample of log ends: {error}"[:300])
    yield from faults


def read_topics(path: SourceFile) -> Iterator[TopicName | Issue]:
    faults: list[Issue] = []
    try:
        for topic in json.loads("\n".join(read_lines(path, faults))):
            yield TopicName(topic_id=text(topic["topic_id"]), topic=text(topic["name"]))
    except UNREADABLE as error:
        yield Issue("unreadable_line", path.name, f"not a list of topics: {error}"[:300])
    yield from faults
