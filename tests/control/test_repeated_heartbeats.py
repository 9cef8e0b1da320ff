"""Rules apply to heartbeats that the broker recognizes by their bytes."""

import pytest

from tests.control.talking import Lab


@pytest.mark.parametrize(
    ("profile", "api", "group", "heartbeat"),
    [
        ("consumer", "ConsumerGroupHeartbeat", "a consumer group {topics: [$topic]}", "beats"),
        ("streams", "StreamsGroupHeartbeat", "a streams group {topology: {0: {reads: [$topic]}}}", "streams-beats"),
    ],
)
def test_rule_applies_to_repeated_heartbeats(profile: str, api: str, group: str, heartbeat: str) -> None:
    lab = Lab(profile)
    lab.talk(f"given topic $topic with 2 partitions\ngiven ada shares {group}")
    accepted = f"ada {heartbeat}\n  <- NONE\n"
    lab.talk(4 * accepted)
    with lab.faults.on(api).error("COORDINATOR_NOT_AVAILABLE") as rule:
        lab.talk(f"ada {heartbeat}\n  <- COORDINATOR_NOT_AVAILABLE\n")
    lab.talk(accepted)
    assert rule.acted == 1
    lab.stage.close()
