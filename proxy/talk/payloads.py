"""Text in place of clients' payloads in a conversation: the group protocol's fields, or a length.

User data is left out of subscriptions and assignments. Other payloads are reduced to their size, as `left_out(12)`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
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

MAX_LEFT_OUT_BYTES: Final = 16 << 20  # limit for the bytes of `left_out`

_BUILT: Final = re.compile(r"(subscription|assignment|left_out)\((.*)\)")
_WORD: Final = re.compile(r"[A-Za-z0-9._-]+")
_SIZE: Final = re.compile(r"[0-9]{1,9}")
_OPTIONS: Final = ("generation:", "rack:")  # prefixes of words in a subscription that are not topics


def in_words(field: str, data: bytes) -> str:
    """Return the text for the bytes of a field, such as `metadata` of a JoinGroup or `assignment` of a SyncGroup."""
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
    """Yield the topic names in the text of a subscription or an assignment; none for other texts."""
    built = _BUILT.fullmatch(text)
    if built is not None and built[1] != "left_out":
        rest = _OPTIONS if built[1] == "subscription" else ()
        yield from (word.partition(":")[0] for word in built[2].split() if not word.startswith(rest))


def rename_topics(text: str, rename_topic: Callable[[str], str], rename_rack: Callable[[str], str]) -> str:
    """Return the text of a subscription or an assignment with other names of topics and racks."""
    built = _BUILT.fullmatch(text)
    if built is None or built[1] == "left_out":
        return text
    words = []
    for word in built[2].split():
        name, colon, rest = word.partition(":")
        if f"{name}:" == "rack:" and built[1] == "subscription":
            rest = rename_rack(rest)
        elif not (word.startswith(_OPTIONS if built[1] == "subscription" else "version:")):
            name = rename_topic(name)
        words.append(f"{name}{colon}{rest}")
    return f"{built[1]}({' '.join(words)})"


def as_length(size: int) -> str:
    """Return the text for a payload of `size` bytes."""
    return f"left_out({size})" if size else ""


def to_bytes(text: str) -> bytes:
    """Return the bytes for a text. Raise ValueError if it is malformed."""
    built = _BUILT.fullmatch(text)
    if built is None:
        if text:
            raise ValueError(f"expected subscription(…), assignment(…) or left_out(12); got {text!r}")
        return b""
    kind, words = built[1], built[2]
    if kind in ENCODERS:
        return ENCODERS[kind](words.split())
    return bytes(_length(words))  # read as a subscription, or an assignment, it names nothing


def to_text(text: str) -> str:
    """Return the string for the text of a payload. Raise ValueError if it is malformed."""
    return "x" * _length(text.removeprefix("left_out(").removesuffix(")")) if text else text


def _length(size: str) -> int:
    if _SIZE.fullmatch(size) is None or int(size) > MAX_LEFT_OUT_BYTES:
        raise ValueError(f"left_out({size}): expected a size as in left_out(12), of at most {MAX_LEFT_OUT_BYTES} bytes")
    return int(size)


def _subscription_in(data: bytes) -> Subscription | None:
    """Return a subscription, read in the newest version that fits: librdkafka's version lacks some fields."""
    for version in range(min(int.from_bytes(data[:2]), NEWEST), -1, -1):
        subscription = read_subscription(SHORT.pack(version) + data[2:])
        if subscription is not None:
            return subscription
    return None


def _show_subscription(subscription: Subscription) -> str:
    owned = _show_partitions(subscription.owned_partitions)
    if any(word.startswith(_OPTIONS) for word in owned):
        raise ValueError("the name of a topic is equal to an option")
    words = [_word(topic) for topic in subscription.topics] + owned
    if subscription.generation_id != -1:
        words.append(f"generation:{subscription.generation_id}")
    if subscription.rack_id:  # librdkafka has an empty one
        words.append(f"rack:{_word(subscription.rack_id)}")
    return f"subscription({' '.join(words)})"


def _show_partitions(partitions: Mapping[str, tuple[int, ...]]) -> list[str]:
    return [f"{_word(topic)}:{'+'.join(map(str, numbers))}" for topic, numbers in partitions.items()]


def _word(text: str) -> str:
    """Return a topic name. Raise ValueError if it would be read as something else."""
    if _WORD.fullmatch(text) is None:
        raise ValueError(f"{text!r} is not a name")
    return text


def encode_subscription(words: Sequence[str]) -> bytes:
    """Encode topics without user data.

    The version is 0, unless there are words of a later one: `topic:0+1` are owned partitions (version 1),
    `generation:3` (2), `rack:r1` (3).
    """
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


def encode_assignment(words: Sequence[str]) -> bytes:
    """Encode partitions without user data, in version 0 or that of a word like `version:2`."""
    versions = [int(word.partition(":")[2]) for word in words if word.startswith("version:")]
    partitions = _partitions([word for word in words if not word.startswith("version:")])
    return write_assignment(Assignment(version=versions[0] if versions else 0, partitions=partitions))


def _partitions(words: list[str]) -> dict[str, tuple[int, ...]]:
    partitions = {}
    for word in words:
        topic, _, numbers = word.partition(":")
        partitions[topic] = tuple(int(number) for number in numbers.split("+") if number)
    return partitions


# functions that encode the words in parentheses, by the name before them
ENCODERS: Final[dict[str, Callable[[Sequence[str]], bytes]]] = {
    "subscription": encode_subscription,
    "assignment": encode_assignment,
}
