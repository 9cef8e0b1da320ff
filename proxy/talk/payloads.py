"""What stands for bytes and texts of clients' own in a conversation: what the group protocol says in them, or a length.

User data is left out of subscriptions and assignments. Of any other payload its size is kept, as `left_out(12)`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Final

from kohort.protocol.consumer_protocol import (
    NEWEST,
    Assignment,
    ImpossibleLengthError,
    Subscription,
    read_assignment,
    read_subscription,
    write_assignment,
    write_subscription,
)
from kohort.protocol.wire import SHORT

LONGEST: Final = 16 << 20
"""Bytes that a conversation may ask for with `left_out`."""

_BUILT: Final = re.compile(r"(subscription|assignment|left_out)\((.*)\)")
_WORD: Final = re.compile(r"[A-Za-z0-9._-]+")
_SIZE: Final = re.compile(r"[0-9]{1,9}")
_OPTIONS: Final = ("generation:", "rack:")
"""How words of a subscription begin that are about no topic."""


def in_words(field: str, data: bytes) -> str:
    """What stands for the bytes of a field, by its name: `metadata` of a JoinGroup, `assignment` of a SyncGroup."""
    try:
        if not any(data):
            return as_length(len(data))
        if field == "metadata" and (subscription := _subscription_in(data)) is not None:
            return _show_subscription(subscription)
        if field == "assignment" and (assignment := read_assignment(data)) is not None:
            return f"assignment({' '.join(_show_partitions(assignment.partitions))})"
    except (ImpossibleLengthError, ValueError):
        pass
    return as_length(len(data))


def topics_in(text: str) -> Iterator[str]:
    """Names of the topics in what stands for a subscription or an assignment; none in any other text."""
    built = _BUILT.fullmatch(text)
    if built is not None and built[1] != "left_out":
        others = _OPTIONS if built[1] == "subscription" else ()
        yield from (word.partition(":")[0] for word in built[2].split() if not word.startswith(others))


def as_length(size: int) -> str:
    """What stands for a payload of `size` bytes."""
    return f"left_out({size})" if size else ""


def to_bytes(text: str) -> bytes:
    """The bytes that a text stands for. Raises ValueError."""
    built = _BUILT.fullmatch(text)
    if built is None:
        if text:
            raise ValueError(f"{text!r} stands for no bytes; it is subscription(…), assignment(…) or left_out(12)")
        return b""
    kind, words = built[1], built[2]
    if kind == "subscription":
        return _subscription(words.split())
    if kind == "assignment":
        return write_assignment(Assignment(version=0, partitions=_partitions(words.split())))
    return bytes(_length(words))  # read as a subscription, or an assignment, it names nothing


def to_text(text: str) -> str:
    """The text that stands in a payload's place. Raises ValueError."""
    return "x" * _length(text.removeprefix("left_out(").removesuffix(")")) if text else text


def _length(size: str) -> int:
    if _SIZE.fullmatch(size) is None or int(size) > LONGEST:
        raise ValueError(f"left_out({size}): it is left_out(12), for at most {LONGEST} bytes")
    return int(size)


def _subscription_in(data: bytes) -> Subscription | None:
    """A subscription, read in the newest version that it holds: librdkafka names one whose fields it leaves out."""
    for version in range(min(int.from_bytes(data[:2]), NEWEST), -1, -1):
        found = read_subscription(SHORT.pack(version) + data[2:])
        if found is not None:
            return found
    return None


def _show_subscription(subscription: Subscription) -> str:
    owned = _show_partitions(subscription.owned_partitions)
    if any(word.startswith(_OPTIONS) for word in owned):
        raise ValueError("a topic is called like an option, and would be read as one")
    words = [_word(topic) for topic in subscription.topics] + owned
    if subscription.generation_id != -1:
        words.append(f"generation:{subscription.generation_id}")
    if subscription.rack_id:  # librdkafka has an empty one
        words.append(f"rack:{_word(subscription.rack_id)}")
    return f"subscription({' '.join(words)})"


def _show_partitions(partitions: Mapping[str, tuple[int, ...]]) -> list[str]:
    return [f"{_word(topic)}:{'+'.join(map(str, numbers))}" for topic, numbers in partitions.items()]


def _word(text: str) -> str:
    """Raises ValueError for what would be read as something else."""
    if _WORD.fullmatch(text) is None:
        raise ValueError(f"{text!r} is no name")
    return text


def _subscription(words: list[str]) -> bytes:
    options = dict(word.split(":", 1) for word in words if word.startswith(_OPTIONS))
    topics = tuple(word for word in words if ":" not in word)
    owned = _partitions([word for word in words if ":" in word and not word.startswith(_OPTIONS)])
    version = 3 if "rack" in options else 2 if "generation" in options else 1 if owned else 0
    generation_id, rack_id = int(options.get("generation", -1)), options.get("rack")
    return write_subscription(
        Subscription(
            version=version, topics=topics, owned_partitions=owned, generation_id=generation_id, rack_id=rack_id
        )
    )


def _partitions(words: list[str]) -> dict[str, tuple[int, ...]]:
    found = {}
    for word in words:
        topic, _, numbers = word.partition(":")
        found[topic] = tuple(int(number) for number in numbers.split("+") if number)
    return found
