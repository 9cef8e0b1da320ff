"""An incident is replayed: the leader dies between join and sync, and the group waits for its session to expire.

`kohort proxy --record` wrote it, in front of the cluster where it happened. Read the file next to this one: bob is the
leader, and is gone before it sends the assignments. Ada syncs, and waits six seconds for a response: until then the
coordinator cannot know that bob is dead.
"""

from __future__ import annotations

from pathlib import Path

from kohort.testing import replay

INCIDENT = Path(__file__).with_suffix(".talk")


def test_replay_matches_recording() -> None:
    played = replay(INCIDENT)
    assert played.differences == []
    assert played.as_recorded > 20


def test_replay_with_another_setting() -> None:
    played = replay(INCIDENT, settings={"group.max.session.timeout.ms": 5_000})
    assert played.differences[0].lines[0] == "error_code: expected MEMBER_ID_REQUIRED, received INVALID_SESSION_TIMEOUT"
