"""Problems with the settings of a share group (KIP-932), as far as the brokers know them and its events show them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from kohort.control.history.share_fates import EXPIRED, fates

if TYPE_CHECKING:
    from kohort.control.explain.settings_advice import Names
    from kohort.coordinator.events.group_event import GroupEvent
    from kohort.coordinator.share.share_config import ShareConfig

HABIT = 2  # number of expired locks of a member from which advice is given


def shares_badly_set(config: ShareConfig, names: Names, events: Iterable[GroupEvent] = ()) -> tuple[str, ...]:
    return (*_short_session(config), *_short_locks(config, names, events))


def _short_session(config: ShareConfig) -> Iterator[str]:
    session_ms, interval_ms = config.session_timeout_ms, config.heartbeat_interval_ms
    if interval_ms * 3 > session_ms:
        yield (
            f"the group's session timeout (share.session.timeout.ms, {session_ms / 1_000:g} s) is shorter than three "
            f"heartbeat intervals (share.heartbeat.interval.ms, {interval_ms / 1_000:g} s): two lost heartbeats end a "
            "membership"
        )


def _short_locks(config: ShareConfig, names: Names, events: Iterable[GroupEvent]) -> Iterator[str]:
    expired = Counter(fate.member_id for fate in fates(events, (EXPIRED,)))
    for member_id, times in expired.items():
        if member_id in names and times >= HABIT:
            yield (
                f"{names[member_id]} has let its locks expire {times} times, and its records were delivered to other "
                f"members: locks last {config.record_lock_duration_ms / 1_000:g} s (share.record.lock.duration.ms); "
                "acquire fewer records at a time, renew the locks, or increase their duration"
            )
