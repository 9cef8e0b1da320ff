"""Rendering of snapshots as pure functions."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Table

from kohort.base.visible import visible
from kohort.cli.watch.changes import Change
from kohort.cli.watch.snapshot import SeenGroup, SeenRebalance, Snapshot
from kohort.cli.watch.text import Text
from kohort.groups.explanation import Wait
from kohort.groups.group_members import GroupMember, pairs
from kohort.groups.type_words import CLASSIC
from kohort.protocol.topic_partition import TopicPartition

STATE_STYLES = {
    "Stable": "green",
    "Empty": "dim",
    "PreparingRebalance": "bold red",
    "CompletingRebalance": "bold yellow",
    "Assigning": "bold yellow",
    "Reconciling": "bold yellow",
    "Dead": "dim",
}
MAX_CHANGES = 8  # lines of changes
UNKNOWN = "–"


def picture(
    snapshot: Snapshot,
    changes: Sequence[Change],
    *,
    title: str,
    last: Mapping[str, float] | None = None,
    height: int | None = None,
    pattern: str = "*",
) -> RenderableType:
    """Return the rendered snapshot.

    Args:
        changes: All changes so far, oldest first.
        last: Time of each group's last change.
        height: Lines available; groups that do not fit are counted instead.
        pattern: Filter for groups, for the text without groups.
    """
    parts: list[RenderableType] = [_heading(snapshot, title)]
    if snapshot.laboratory:
        parts.append(Text(" · ".join(snapshot.laboratory), "cyan", no_wrap=True, overflow="ellipsis"))
    parts += [Text(f"! {problem}", "bold red") for problem in snapshot.problems]
    visible = list(changes[-MAX_CHANGES:])
    below: list[RenderableType] = []
    if visible:
        below = [Text(""), Text("recent changes", "bold"), *(_change(change) for change in reversed(visible))]
    room = None if height is None else height - len(parts) - len(below) - 1  # one line for the count of the rest
    remaining = 0
    for number, group in enumerate(snapshot.groups):
        lines = _lines(group)
        if room is not None and lines > room:
            remaining = len(snapshot.groups) - number
            break
        room = None if room is None else room - lines
        changed = (last or {}).get(group.group_id)
        parts.append(_group(group, snapshot.at, changed, bool(snapshot.laboratory)))
    if remaining:
        parts.append(
            Text(f"and {remaining} more group{'s' if remaining > 1 else ''}; --group PATTERN shows fewer", "italic")
        )
    if not snapshot.groups:
        none = "no group yet" if pattern == "*" else f"no group matches {pattern!r}"
        parts.append(Text("no such group" if snapshot.problems else none, "italic"))
    return Group(*parts, *below)


def line(change: Change) -> str:
    """Return a change as one line of plain text."""
    return visible(f"{_clock(change.at)}  {change.group_id}: {change.text}")


def ranges(topic_partitions: Iterable[TopicPartition]) -> str:
    """Return partitions in the form `orders 0-3 7, payments 1`."""
    by_topic: dict[str, list[int]] = {}
    for topic, partition in sorted(topic_partitions):
        by_topic.setdefault(topic, []).append(partition)
    return ", ".join(f"{topic} {' '.join(_runs(numbers))}" for topic, numbers in by_topic.items())


def _runs(numbers: list[int]) -> list[str]:
    runs: list[list[int]] = []
    for number in numbers:
        if runs and number == runs[-1][-1] + 1:
            runs[-1].append(number)
        else:
            runs.append([number])
    return [str(run[0]) if len(run) == 1 else f"{run[0]}-{run[-1]}" for run in runs]


def _heading(snapshot: Snapshot, title: str) -> Text:
    brokers, groups = snapshot.brokers, len(snapshot.groups)
    counts = f"{brokers} broker{'s' if brokers != 1 else ''}, {groups} group{'s' if groups != 1 else ''}"
    return Text.assemble((title, "bold"), f"  {counts}  {_clock(snapshot.at)}")


def _lines(group: SeenGroup) -> int:
    members = len(group.members)
    table = (members + 1 if members else 0) + bool(group.unowned)
    shares = len(group.shares) + bool(group.shares)
    return 2 + len(group.waits) + table + shares + len(group.rebalances)


def _group(group: SeenGroup, at: float, changed: float | None, has_session: bool) -> Group:
    """Return the rendered group; `has_session` adds session timers from a control address."""
    heading = Text.assemble(
        (group.group_id, "bold"),
        "  ",
        (group.state, STATE_STYLES.get(group.state, "")),
        f"  {_about(group)}  lag {_number(group.lag)}",
        ("" if changed is None else f"  changed {_age(at - changed)} ago", "dim"),
        no_wrap=True,
        overflow="ellipsis",
    )
    parts: list[RenderableType] = [Text(""), heading, *(_wait(wait) for wait in group.waits)]
    if group.members or group.unowned:
        parts.append(Padding(_members(group, has_session), (0, 0, 0, 2), expand=False))
    if group.shares:
        parts.append(Padding(_shares(group), (0, 0, 0, 2), expand=False))
    parts += [_rebalance(rebalance) for rebalance in reversed(group.rebalances)]
    return Group(*parts)


def _members(group: SeenGroup, has_session: bool) -> Table:
    table = Table(box=None, show_header=bool(group.members), header_style="dim", pad_edge=False)
    for name in ("member", "host", "owns"):
        table.add_column(name, no_wrap=True, overflow="ellipsis")
    table.add_column("lag", justify="right", no_wrap=True)
    has_epoch = group.epoch is not None
    reconciles = has_epoch and bool(group.about_type.revokes)
    if has_epoch:
        table.add_column("epoch", justify="right", no_wrap=True)
    if reconciles:
        table.add_column("reconciles", no_wrap=True, overflow="ellipsis")
    if has_session:
        table.add_column("session ends", no_wrap=True, overflow="ellipsis")
    for member in sorted(group.members, key=lambda item: (str(item), item.member_id)):
        lags = [group.lags[topic_partition] for topic_partition in member.owned if topic_partition in group.lags]
        cells = [Text(_called(group, member)), Text(member.client_host), Text(ranges(member.owned) or UNKNOWN)]
        more = [_epoch(member)] if has_epoch else []
        more += [_reconciles(member)] if reconciles else []
        more += [_session(member)] if has_session else []
        table.add_row(*cells, _number(sum(lags) if lags else None), *more)
    if group.unowned:
        lag = sum(group.lags[topic_partition] for topic_partition in group.unowned)
        table.add_row(Text("no member", "bold red"), "", Text(ranges(group.unowned)), _number(lag))
    return table


def _shares(group: SeenGroup) -> Table:
    """Return the table of a share group's partitions, with start offsets and lags."""
    table = Table(box=None, show_header=True, header_style="dim", pad_edge=False)
    table.add_column("partition", no_wrap=True, overflow="ellipsis")
    shows_held = any(share.held is not None for share in group.shares)
    for name in ("start offset", *(("held",) if shows_held else ()), "lag"):
        table.add_column(name, justify="right", no_wrap=True)
    for share in sorted(group.shares, key=lambda item: item.topic_partition):
        held = [_number(share.held)] if shows_held else []
        table.add_row(Text(ranges([share.topic_partition])), _number(share.start), *held, _number(share.lag))
    return table


def _called(group: SeenGroup, member: GroupMember) -> str:
    kinds = ["static"] if member.instance_id else []
    kinds += ["classic"] if member.speaks == CLASSIC != group.type else []
    return str(member) + (f" ({', '.join(kinds)})" if kinds else "")


def _epoch(member: GroupMember) -> Text:
    return Text("away", "yellow") if member.is_away else Text(f"{member.epoch}")


def _reconciles(member: GroupMember) -> Text:
    steps = [f"revokes {ranges(pairs(member.revoking))}"] if member.revoking else []
    steps += [f"waits for {ranges(member.missing)}"] if member.missing else []
    return Text("; ".join(steps), "yellow")


def _session(member: GroupMember) -> Text:
    if member.waits_for:
        return Text(f"waits for its {member.waits_for}", "yellow")
    ends = UNKNOWN if member.session_ends_in_ms is None else f"in {_seconds(member.session_ends_in_ms)}"
    return Text(ends) if member.is_alive else Text(f"{ends}, silent", "bold red")


def _wait(wait: Wait) -> Text:
    ends = "without a known timer" if wait.ends_in_ms is None else f"in {_seconds(wait.ends_in_ms)}"
    return Text.assemble(
        "  waits for ",
        (f"{', '.join(wait.for_whom)} " if wait.for_whom else "", "bold"),
        f"{wait.what}; ",
        (ends, "yellow"),
        f": {wait.then}",
        no_wrap=True,
        overflow="ellipsis",
    )


def _rebalance(rebalance: SeenRebalance) -> Text:
    ago = (f"  {_age(rebalance.began_s_ago)} ago", "dim")
    return Text.assemble(
        ("  " + str(rebalance), "" if rebalance.is_over else "bold"), ago, no_wrap=True, overflow="ellipsis"
    )


def _seconds(length_ms: int) -> str:
    return f"{max(length_ms, 0) / 1000:.1f} s"


def _about(group: SeenGroup) -> str:
    if not group.is_complete:
        return f"{group.type} protocol, members not available"
    count = len(group.members)
    parts = [f"{count} member{'s' if count != 1 else ''}", group.protocol, _epochs(group), f"node {group.coordinator}"]
    return "  ".join(part for part in parts if part)


def _epochs(group: SeenGroup) -> str:
    if group.epoch is None:
        return ""
    behind = f", assigned for {group.target_epoch}" if group.target_epoch != group.epoch else ""
    return f"epoch {group.epoch}{behind}"


def _change(change: Change) -> Text:
    return Text.assemble(
        (f"{_clock(change.at)}  ", "dim"),
        (change.group_id, "bold"),
        f"  {change.text}",
        no_wrap=True,
        overflow="ellipsis",
    )


def _number(number: int | None) -> str:
    return UNKNOWN if number is None else f"{number:,}"


def _clock(at: float) -> str:
    return time.strftime("%H:%M:%S", time.localtime(at))


def _age(seconds: float) -> str:
    if seconds < 100:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 6_000 else f"{seconds / 3_600:.0f} h"
