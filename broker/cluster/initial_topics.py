"""Topics that a broker creates when it starts."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import NamedTuple

from kohort.base.logs import log
from kohort.storage.refusal import Refusal
from kohort.storage.topics import Topics

_FORM = r"(?P<name>[^:]+)(:(?P<partitions>\d+))?(?P<configs>(:[a-z][a-z.]*=.*)?)"


class TopicError(Exception):
    """A topic that cannot be created. The text is one sentence."""


class NewTopic(NamedTuple):
    """Topic that is to be created."""

    name: str
    partitions: int  # -1: the setting num.partitions
    configs: dict[str, str]


def parse_topics(texts: Iterable[str]) -> list[NewTopic]:
    """Parse topics such as `orders:6` or `audit:1:cleanup.policy=compact:retention.ms=-1`.

    Raises:
        TopicError: A text has another form, or two of them name the same topic differently.
    """
    topics: dict[str, NewTopic] = {}
    for text in texts:
        match = re.fullmatch(_FORM, text, re.ASCII)
        if match is None:
            raise TopicError(
                f"--topic {text}: expected NAME:PARTITIONS or NAME:PARTITIONS:SETTING=VALUE, as in "
                "audit:1:cleanup.policy=compact"
            )
        # A value may contain colons: only one before NAME= separates settings.
        pairs = re.split(r":(?=[a-z][a-z.]*=)", match["configs"])[1:]
        topic = NewTopic(match["name"], int(match["partitions"] or -1), dict(pair.split("=", 1) for pair in pairs))
        previous = topics.setdefault(topic.name, topic)
        if previous.partitions != topic.partitions:
            raise TopicError(
                f"--topic {topic.name} is given with {previous.partitions} and with {topic.partitions} partitions; "
                "give it once"
            )
        if previous != topic:
            raise TopicError(f"--topic {topic.name} is given twice with different settings; give it once")
    return list(topics.values())


def create_topics(topics: Topics, new_topics: Iterable[NewTopic]) -> None:
    """Create topics, and leave existing ones as they are, with a log line if their partitions differ.

    Raises:
        TopicError: Kafka would reject such a topic, or it cannot be stored.
    """
    for new in new_topics:
        existing = topics.by_name(new.name)
        if existing is None:
            try:
                created = topics.create(new.name, new.partitions, -1, new.configs)
            except OSError as error:
                raise TopicError(f"--topic {new.name} cannot be stored: {error.strerror}") from None
            if isinstance(created, Refusal):
                raise TopicError(f"--topic {new.name}: {created.message}")
        elif new.partitions not in (-1, len(existing.partitions)):
            log.warning(
                f"topic {new.name} exists with {len(existing.partitions)} partitions, not {new.partitions}; "
                "--topic leaves existing topics unchanged"
            )
