"""A share group in the laboratory, to which a test talks: topic `$topic`, group `$group`, members ada and bob."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from kohort.control.groups.lab_share_group import ShareGroup
from tests.control.talking import Lab

SHARED = """
given topic $topic
zoe IncrementalAlterConfigs v1 {configs: {share.auto.offset.reset: earliest}}
  <- {responses: [{error_code: NONE}]}
given ada shares a share group {topics: [$topic]}
"""


class SharingLab(Lab):
    """One broker, whose share group begins at the start of the log. Locks last 2 s, and 3 deliveries are the limit."""

    def __init__(self) -> None:
        super().__init__("share")
        self.laboratory.record()
        self.talk(SHARED)

    @property
    def queue(self) -> ShareGroup:
        """The group."""
        return ShareGroup(self.laboratory, self.name("group"))

    @property
    def topic(self) -> str:
        """The name of its topic."""
        return self.name("topic")

    def produce(self, values: str) -> None:
        """Append one batch, such as `a b c`."""
        self.laboratory.topics.append(self.topic, *values.split())

    @property
    def held(self) -> list[str]:
        """Return the acquired records with their members' names, such as `0-1 ada, once`."""
        return [
            f"{entry.first_offset}-{entry.last_offset} {self.person(entry.member_id)}" for entry in self.queue.held()
        ]

    def person(self, member_id: str) -> str:
        return next((name for name in ("ada", "bob") if self.name(name) == member_id), member_id)


@pytest.fixture
def shared() -> Iterator[SharingLab]:
    """A share group with one member, ada."""
    made = SharingLab()
    yield made
    made.stage.close()
