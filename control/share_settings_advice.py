"""What is wrong with the settings of a share group (KIP-932), as far as brokers know them and what has happened."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from kohort.control.share_fates import EXPIRED, fates

if TYPE_CHECKING:
    from kohort.control.settings_advice import Names
    from kohort.coordinator.events.group_event import GroupEvent
    from kohort.coordinator.share.share_config import ShareConfig

HABIT = 2
"""So many expired locks of one member are more than an accident."""


def shares_badly_set(config: ShareConfig, names: Names, events: Iterable[GroupEvent] = ()) -> tuple[str, ...]:
    """A sentence for each thing; `names`: what members are called; `events`: what has happened to the group."""
    return (*_short_session(config), *_short_locks(config, names, events))


def _short_session(config: ShareConfig) -> Iterator[str]:
    session_ms, interval_ms = config.session_timeout_ms, config.heartbeat_interval_ms
    if interval_ms * 3 > session_ms:
        yield (
            f"the group's session timeout (share.session.timeout.ms, {session_ms / 1_000:g} s) is shorter than three "
            f"heartbeat intervals (share.heartbeat.interval.ms, {interval_ms / 1_000:g} s): two lost ones end a "
            "membership"
        )


def _short_locks(config: ShareConfig, names: Names, events: Iterable[GroupEvent]) -> Iterator[str]:
    """Whose locks expire is slower than they last; who has gone does not come into it."""
    expired = Counter(fate.member_id for fate in fates(events, (EXPIRED,)))
    for member_id, times in expired.items():
        if member_id in names and times >= HABIT:
            yield (
                f"{names[member_id]} has been slower than its locks {times} times, and others were given its records: "
                f"they last {config.record_lock_duration_ms / 1_000:g} s (share.record.lock.duration.ms); it should "
                "take fewer records at a time or renew the locks, or they should last longer"
            )
