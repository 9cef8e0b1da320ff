"""An incident, played again: the leader dies between its join and its sync, and the group waits for its session to end.

`kohort proxy --record` has written it, in front of the cluster where it happened. Read the file beside this one: bob
leads, and is gone before he says who gets what. Ada syncs, and hears nothing for six seconds: nobody can know yet that
he is dead.
"""

from __future__ import annotations

from pathlib import Path

from kohort.testing import replay

INCIDENT = Path(__file__).with_suffix(".talk")


def test_it_goes_as_it_went() -> None:
    played = replay(INCIDENT)
    assert played.differences == []
    assert played.as_recorded > 20


def test_what_another_setting_would_have_changed() -> None:
    played = replay(INCIDENT, settings={"group.max.session.timeout.ms": 5_000})
    assert played.differences[0].lines[0] == "error_code: expected MEMBER_ID_REQUIRED, heard INVALID_SESSION_TIMEOUT"
