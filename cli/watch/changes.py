"""Differences between successive snapshots."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from kohort.cli.watch.snapshot import STABLE, SeenGroup, Snapshot
from kohort.groups.group_members import GroupMember
from kohort.groups.type_words import SHARE
from kohort.protocol.topic_partition import TopicPartition


@dataclass(frozen=True)
class Change:
    """Observed difference."""

    at: float  # seconds since 1970 of the snapshot; it happened since the previous one
    group_id: str
    text: str


class Changes:
    """Comparison of each snapshot with the previous one and with the owners in each group's last stable state."""

    def __init__(self) -> None:
        self._old: dict[str, SeenGroup] | None = None
        self._owners: dict[str, dict[TopicPartition, str]] = {}
        self.last: dict[str, float] = {}  # time of each group's last change

    def take(self, snapshot: Snapshot) -> list[Change]:
        """Return the changes since the previous snapshot; none for the first one.

        Groups that are missing in a snapshot with problems are kept.
        """
        now = {group.group_id: group for group in snapshot.groups}
        old, self._old = self._old, now
        changes = []
        for group in snapshot.groups:
            owners = self._owners.get(group.group_id)
            if group.state == STABLE and group.is_complete and group.type != SHARE:
                self._owners[group.group_id] = group.owners
            if old is not None:
                differences = _differences(old.get(group.group_id), group, owners)
                if differences:
                    changes.append(Change(snapshot.at, group.group_id, "; ".join(differences)))
        for group_id, group in (old or {}).items():
            if group_id not in now:
                if snapshot.problems:
                    now[group_id] = group
                else:
                    changes.append(Change(snapshot.at, group_id, "gone"))
        self.last.update((change.group_id, change.at) for change in changes)
        return changes


def _differences(old: SeenGroup | None, now: SeenGroup, owners: dict[TopicPartition, str] | None) -> list[str]:
    if old is None:
        return [f"new, {now.state}"]
    differences = [f"{old.state} → {now.state}"] if old.state != now.state else []
    if old.type != now.type:
        differences.append(f"{old.type} → {now.type} protocol")
    if now.epoch is not None and old.epoch is not None and old.epoch != now.epoch:
        differences.append(f"epoch {old.epoch} → {now.epoch}")
    if old.coordinator != now.coordinator:
        differences.append(f"coordinator {old.coordinator} → {now.coordinator}")
    differences += [
        str(topic_partition)
        for topic_partition in now.rebalances
        if topic_partition.is_over and topic_partition not in old.rebalances
    ]
    if not (old.is_complete and now.is_complete):
        return differences
    differences += _listed("joined", _new(old.members, now.members))
    differences += _listed("left", _new(now.members, old.members))
    if now.state == STABLE and owners is not None:
        moved = sum(
            owners[topic_partition] != owner
            for topic_partition, owner in now.owners.items()
            if topic_partition in owners
        )
        if moved:
            differences.append(f"{moved} partition{'s' if moved > 1 else ''} moved")
    return differences


def _new(old: tuple[GroupMember, ...], now: tuple[GroupMember, ...]) -> list[str]:
    old_ids = {member.member_id for member in old}
    return [str(member) for member in now if member.member_id not in old_ids]


def _listed(word: str, names: Iterable[str]) -> list[str]:
    listed = ", ".join(names)
    return [f"{listed} {word}"] if listed else []
