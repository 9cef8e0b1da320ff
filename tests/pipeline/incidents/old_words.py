"""What a broker of an older release would have written in the place of a line of Kafka 4.3's coordinator."""

from __future__ import annotations

import re
from collections.abc import Callable

_COORDINATOR = re.compile(
    r"\[GroupCoordinator id=(?P<node>\d+) topic=__consumer_offsets partition=(?P<part>\d+)\] (?P<said>.*) \(\S+\)$"
)
_LOGGER = "(kafka.coordinator.group.GroupCoordinator)"
_LEFT = re.compile(r"\[Group (?P<group>.*?)\] Member (?P<id>(?P<client>\S+?)-[0-9a-f-]{36}) has left group through")
_OF_GENERATION = re.compile(r"((?:old )?generation \d+)")
_LEAVES = re.compile(r"\(reason: explicit `LeaveGroup` request for \((\S+)\) members\.\)")
_PENDING = ("Pending dynamic member", "Dynamic member with unknown")
_LOADED = ("Loaded classic group", "Unloading group metadata")

Words = Callable[[str], str | None]
"""Converter of a line of 4.3; returns None if that release does not log it."""


def of_4_3(line: str) -> str | None:
    return line


def of_3_6(line: str) -> str | None:
    """Convert a line to the Scala coordinator's form, which knows members only by their leaves."""
    return _older(line, _said_by_3_6)


def of_2_8(line: str) -> str | None:
    """Convert a line to the form of 2.8, without reasons; a new member appears only with its rebalance."""
    return _older(line, _said_by_2_8)


def of_1_1(line: str) -> str | None:
    """Convert a line to the form of 1.1, without reasons, sizes and leader."""
    return _older(line, _said_by_1_1)


RELEASES: dict[str, Words] = {"4.3": of_4_3, "3.6": of_3_6, "2.8": of_2_8, "1.1": of_1_1}


def _older(line: str, words: Callable[[str, str], str | None]) -> str | None:
    match = _COORDINATOR.search(line)
    if match is None:
        return line
    said = words(match["said"], f"(__consumer_offsets-{match['part']})")
    return None if said is None else f"{line[: match.start()]}[GroupCoordinator {match['node']}]: {said} {_LOGGER}"


def _said_by_3_6(said: str, partition: str) -> str | None:
    if any(words in said for words in _LOADED):
        return None
    if match := _LEFT.match(said):
        knows = f"memberId={match['id']}, groupInstanceId=None, clientId={match['client']}, clientHost=/10.0.0.9, "
        knows += "sessionTimeoutMs=10000, rebalanceTimeoutMs=30000, supportedProtocols=List(range)"
        return f"[Group {match['group']}] Member MemberMetadata({knows}) has left group through{said[match.end() :]}"
    return _OF_GENERATION.sub(rf"\1 {partition}", said, count=1) if " generation " in said else said


def _said_by_2_8(said: str, partition: str) -> str | None:
    if any(words in said for words in _PENDING):
        return None
    known = _said_by_3_6(said, partition)
    return known and _LEAVES.sub(r"(reason: Removing member \1 on LeaveGroup)", known).replace(
        "; client reason: not provided", ""
    )


def _said_by_1_1(said: str, partition: str) -> str | None:
    known = _said_by_2_8(said, partition)
    if known is None or "has left group" in known:
        return None
    known = re.sub(r" \(reason: .*\)\.?$| in state \w+(?= with)| with \d+ members\.$", "", known)
    return re.sub(r"received from leader \S+ (for .*? generation \d+).*", r"received from leader \1", known)
