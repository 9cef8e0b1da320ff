"""R57: records of a share group left it as dead letters (KIP-1191).

The share coordinator writes a state of its own for records whose dead letter is due. It does not contain whether the
letter was written or could not be, nor the member and the reason; kohort's event log contains all of these.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator

from kohort.pipeline.history.group_analysis import GroupAnalysis
from kohort.pipeline.history.inputs import TopicPartition
from kohort.pipeline.history.range_map import RangeMap
from kohort.pipeline.history.share_deliveries import REJECTED
from kohort.pipeline.history.share_history import ShareHistory
from kohort.pipeline.history.written_states import DeadLetters
from kohort.pipeline.rules.finding import CERTAIN, WARNING, Finding, listed, seconds, several

ID = "R57"
PENDING_MS = 10_000  # a dead letter that is written takes milliseconds
_LIMIT = "after the delivery limit"
_Reasons = dict[tuple[str, str], int]  # records by reason and member


def find(analysis: GroupAnalysis) -> Iterator[Finding]:
    if (share := analysis.share) is None:
        return
    letters = sorted(
        (letter for states in share.states.values() for letter in states.dead_letters), key=lambda letter: letter.ms
    )
    if letters:
        yield _finding(share, letters)


def _finding(share: ShareHistory, letters: list[DeadLetters]) -> Finding:
    records, first = sum(letter.records for letter in letters), letters[0]
    reasons = _reasons(share, letters)
    pending = [letter for letter in letters if letter.end_ms is None and share.until_ms - letter.ms >= PENDING_MS]
    pending_text = ""
    if pending:
        lasted = seconds(share.until_ms - pending[0].ms)
        pending_text = (
            f"; {several(sum(letter.records for letter in pending), 'dead letter')} still not written after {lasted}"
        )
    return Finding(
        ID,
        "Records left the group as dead letters",
        WARNING,
        CERTAIN,
        f"{several(records, 'record')} ({listed([_name(letter) for letter in letters], 3)}) "
        f"{'was' if records == 1 else 'were'} given up, and passed on to the dead-letter topic of the group{_describe_reasons(reasons)}{pending_text}; "
        f"{_describe_outcomes(share)}",
        "Read the dead-letter topic (errors.deadletterqueue.topic.name of the group): the headers __dlq.errors of each record name "
        "its topic, partition, offset, delivery count and reason. If one is missing there, check that the topic exists and has "
        "errors.deadletterqueue.group.enable=true. Then fix the handler, or the producer of these records.",
        first.ms,
        max(letter.end_ms or share.until_ms for letter in letters),
        sorted({client for _, client in reasons if client}),
        {
            "topic": first.topic_partition[0],
            "part": first.topic_partition[1],
            "offset": first.first,
            "records": records,
            "deliveries": sorted({letter.count for letter in letters}),
            "open": bool(pending),
        },
    )


def _name(letter: DeadLetters) -> str:
    topic, part = letter.topic_partition
    return f"{topic}-{part}@{letter.first}" + (f"-{letter.last}" if letter.last > letter.first else "")


def _describe_outcomes(share: ShareHistory) -> str:
    """Return how many dead letters were written, as far as an event log contains that."""
    written: dict[str, int] = defaultdict(int)
    failed: dict[str, int] = defaultdict(int)
    for outcome in share.deliveries.dead_letters:
        if outcome.reason:
            failed[outcome.reason] += outcome.records
        else:
            written[outcome.topic_name] += outcome.records
    if not written and not failed:
        return "only that topic shows which of them were written"
    texts = [f"{count} written to {topic}" for topic, count in written.items()]
    return listed([*texts, *(f"{count} not written: {reason}" for reason, count in failed.items())])


def _describe_reasons(reasons: _Reasons) -> str:
    if not reasons:
        return "; only an event log shows which members rejected them or held them last"
    return ": " + listed([f"{count} {reason} {client}".rstrip() for (reason, client), count in reasons.items()])


def _reasons(share: ShareHistory, letters: list[DeadLetters]) -> _Reasons:
    """Count the records whose reason an event log contains."""
    deliveries = share.deliveries
    rejected = _by_partition(
        (entry.topic_partition, entry.first, entry.last, ("rejected by", share.name(entry.member_id)))
        for entry in deliveries.ended
        if entry.how == REJECTED
    )
    at_limit = _by_partition(
        (entry.topic_partition, entry.first, entry.last, (_LIMIT + " by", share.name(entry.trail[-1].member_id)))
        for entry in deliveries.archived
        if entry.trail
    )
    counts: _Reasons = defaultdict(int)
    for letter in letters:
        for by_partition in (rejected, at_limit):
            for piece in by_partition[letter.topic_partition].pieces(letter.first, letter.last):
                if piece.value is not None:
                    counts[piece.value] += piece.records
    return counts


def _by_partition(
    entries: Iterable[tuple[TopicPartition, int, int, tuple[str, str]]],
) -> dict[TopicPartition, RangeMap[tuple[str, str]]]:
    ranges: dict[TopicPartition, RangeMap[tuple[str, str]]] = defaultdict(RangeMap)
    for topic_partition, first, last, reason in entries:
        ranges[topic_partition].take(first, last)
        ranges[topic_partition].put(first, last, reason)
    return ranges
