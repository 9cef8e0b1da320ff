"""A streams application starts before its topic, and no member has tasks; then a process dies, the other takes over.

The coordinator of a streams group (KIP-1071) knows the topics that the application reads and stores. While a source
topic is missing the group is NotReady, and creates no internal topic. A killed process is removed when its session
expires.
"""

from __future__ import annotations

from typing import Any

from examples.threads import counting, threads

CHANGELOG = "wordcount-counts-changelog"


def test_tasks_need_topic_and_survive_crash(kafka: Any) -> None:
    group = kafka.streams_group("wordcount")
    with threads(kafka, "wordcount", counting("words", CHANGELOG), "ada", "bob") as (ada, bob):
        assert (ada.beats(), bob.beats()) == ([], [])
        assert group.state == "NotReady"
        assert group.status == {"MISSING_SOURCE_TOPICS": "Source topics words are missing."}
        assert "words" in str(group.explain())

        kafka.topics.create("words", partitions=2)
        while not group.is_settled or not group.owners:
            ada.beats()
            bob.beats()
        assert kafka.topics.end(CHANGELOG, 1) == 0, "the broker has created it, with the topic's number of partitions"
        assert group.owners.keys() == {"0_0", "0_1"}
        assert len(set(group.owners.values())) == 2, "one each"

        ada.dies()
        kafka.clock.advance(seconds=45)  # streams.session.timeout.ms
        while bob.beats() != ["0_0", "0_1"]:
            pass
    removed = [event for event in group.events if event.kind == "member_removed"]
    assert [(event.client_id, event.cause) for event in removed] == [("ada", "session_expired")]
