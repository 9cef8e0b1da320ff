"""What has changed from one look to the next."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from kohort.protocol.topic_partition import TopicPartition
from kohort.watch.snapshot import SHARE, STABLE, SeenGroup, SeenMember, Snapshot


@dataclass(frozen=True)
class Change:
    """Something that was seen to be different."""

    at: float
    """When it was seen, in seconds since 1970; it happened since the look before."""
    group_id: str
    what: str


class Changes:
    """Compares every look with the one before, and remembers who owned what when a group was last stable."""

    def __init__(self) -> None:
        self._before: dict[str, SeenGroup] | None = None
        self._owners: dict[str, dict[TopicPartition, str]] = {}
        self.last: dict[str, float] = {}
        """When each group was last seen to change."""

    def take(self, snapshot: Snapshot) -> list[Change]:
        """What this look shows that the last one did not. The first one has nothing to differ from.

        A look with problems may lack groups: those are not taken for gone.
        """
        now = {group.group_id: group for group in snapshot.groups}
        before, self._before = self._before, now
        changes = []
        for group in snapshot.groups:
            known = self._owners.get(group.group_id)
            if group.state == STABLE and group.members is not None and group.group_type != SHARE:
                self._owners[group.group_id] = group.owners
            if before is not None:
                differences = _differences(before.get(group.group_id), group, known)
                if differences:
                    changes.append(Change(snapshot.at, group.group_id, "; ".join(differences)))
        for group_id, group in (before or {}).items():
            if group_id not in now:
                if snapshot.problems:
                    now[group_id] = group
                else:
                    changes.append(Change(snapshot.at, group_id, "gone"))
        self.last.update((change.group_id, change.at) for change in changes)
        return changes


def _differences(before: SeenGroup | None, now: SeenGroup, owners: dict[TopicPartition, str] | None) -> list[str]:
    if before is None:
        return [f"new, {now.state}"]
    differences = [f"{before.state} → {now.state}"] if before.state != now.state else []
    if before.group_type != now.group_type:
        differences.append(f"{before.group_type} → {now.group_type} protocol")
    if now.epoch is not None and before.epoch is not None and before.epoch != now.epoch:
        differences.append(f"epoch {before.epoch} → {now.epoch}")
    if before.coordinator != now.coordinator:
        differences.append(f"coordinator {before.coordinator} → {now.coordinator}")
    differences += [str(each) for each in now.rebalances if each.is_over and each not in before.rebalances]
    if before.members is None or now.members is None:
        return differences
    differences += _listed("joined", _new(before.members, now.members))
    differences += _listed("left", _new(now.members, before.members))
    if now.state == STABLE and owners is not None:
        moved = sum(owners[each] != owner for each, owner in now.owners.items() if each in owners)
        if moved:
            differences.append(f"{moved} partition{'s' if moved > 1 else ''} moved")
    return differences


def _new(before: tuple[SeenMember, ...], now: tuple[SeenMember, ...]) -> list[str]:
    known = {member.member_id for member in before}
    return [member.name for member in now if member.member_id not in known]


def _listed(word: str, names: Iterable[str]) -> list[str]:
    listed = ", ".join(names)
    return [f"{listed} {word}"] if listed else []
