"""Group events from a broker's log at INFO.

Lines are recognized by text in their middle, which is the same since the classic coordinator; the prefix differs
between the two generations of coordinators. Columns without a value in the line stay None.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from kohort.pipeline.sources.authorizer_lines import denial
from kohort.pipeline.sources.broker_lines import BrokerLine, broker_line, puts_month_first
from kohort.pipeline.sources.checked import UNREADABLE, whole
from kohort.pipeline.sources.chunk import Issue
from kohort.pipeline.sources.event_lines import COLUMNS
from kohort.pipeline.sources.lines import read_lines
from kohort.pipeline.sources.reasons import cause_of, client_of, client_reason_in, instance_in, member_in
from kohort.pipeline.sources.source_rows import GroupEvent
from kohort.pipeline.sources.stored import SourceFile
from kohort.pipeline.sources.unwrapping import DENIED, MARK, TIME, Joining

LONGEST_LINE = 1 << 20  # characters; the longest line, with the ids of all removed members, is far shorter
_TOO_LONG, _OTHERWISE, _NO_LINE = (
    "[GroupCoordinator and too many characters",
    "[GroupCoordinator and a time or number that can't be",
    "[GroupCoordinator and no time, or in another form",
)
_CLOCK = re.compile(r"\d\d:\d\d:\d\d")
_NO_DATE = "have a time without a date; write the day before each time, as sed 's/^/2026-05-31 /' does"
_OF_0_10 = "Preparing to restabilize group"  # the word of Kafka 0.9 and 0.10
_EXAMPLE = 200  # characters of an example line in the issue for a file without any event
_OLD_PARTITION = re.compile(r"__consumer_offsets-(\d+)")
# A group's name may have brackets: those in pairs belong to it, else it ends at the first one.
_IN_BRACKETS = re.compile(
    r"^\[Group(?:Id)?[ =](?P<group>(?:[^\[\]]|\[[^\[\]]*\])*|.*?)\](?:\[MemberId (?P<member_id>[^\]]*)\])? (?P<text>.*)$"
)
_WITHIN = re.compile(r" within (\d+)ms")
_FENCED_FOR = (("session expired", "session_expired"), ("failed to sync", "sync_timeout"))
_WITH_INSTANCE = r"(?: with instance id (?P<instance_id>(?:(?! with instance id ).)*?))?"
_STATIC = rf"(?:Static )?[Mm]ember (?P<member_id>\S+){_WITH_INSTANCE} "


Columns = dict[str, Any]  # values of an event by column
Fill = Callable[[re.Match[str]], Columns]


def _rebalance_started(match: re.Match[str]) -> Columns:
    reason = match["reason"]
    if reason is None:  # releases before 2.0 log no reason
        return {"kind": "rebalance_started", "generation": whole(match["generation"], 32), "cause": "unknown"}
    return {
        "kind": "rebalance_started",
        "generation": whole(match["generation"], 32),
        "cause": cause_of(reason),
        "client_reason": client_reason_in(reason),
        "member_id": member_in(reason),
        "instance_id": instance_in(reason),
        "detail": {"reason": reason},
    }


def _member_left(match: re.Match[str]) -> Columns:
    reason = client_reason_in(match["rest"])
    return {
        "kind": "member_removed",
        "member_id": match["member"],
        "instance_id": match["instance_id"],
        "cause": "leave_poll_timeout" if reason and "poll timeout" in reason else "leave_explicit",
        "client_reason": reason,
    }


def _fenced_out(match: re.Match[str]) -> Columns:
    reason = match["why"]
    timeout_ms = _WITHIN.search(reason)
    return {
        "kind": "member_removed",
        "rebalance_timeout_ms": None if timeout_ms is None else whole(timeout_ms[1], 32),
        "member_id": match["member"],
        "group_type": "streams" if match["type"] else None,
        "cause": next((cause for words, cause in _FENCED_FOR if words in reason), "epoch_timeout"),
        "detail": {"reason": reason},
    }


def _evicted(match: re.Match[str]) -> Columns:
    members = [member.strip() for member in match["members"].split(",") if member.strip()]
    return {"kind": "barrier_evicted", "evicted": members, "cause": "barrier_timeout"}


def _never_synced(match: re.Match[str]) -> Columns:
    return {"kind": "sync_timeout", "waited_for": _evicted(match)["evicted"], "cause": "sync_timeout"}


def _deleted(match: re.Match[str]) -> Columns:
    return {"kind": "group_deleted", "cause": "group_deleted", "detail": {"groups": match["groups"]}}


def _elected(match: re.Match[str]) -> Columns:
    return {
        "kind": "coordinator_elected",
        "co_partition": whole(match["of"], 32),
        "co_epoch": whole(match["epoch"], 32),
        "duration_us": 1000 * whole(match["ms"], 48),
        "detail": {"records": match["records"]},
    }


def _leader_absent(match: re.Match[str]) -> Columns:
    """Return the event of a static leader, which stays a member although it did not rejoin in time."""
    instance_id = None if match["instance_id"] == "null" else match["instance_id"]
    return {"kind": "leader_absent", "member_id": match["member_id"], "instance_id": instance_id}


def _joined(match: re.Match[str]) -> Columns:
    return {
        "kind": "member_added",
        "group_type": match["group_type"],
        "member_id": match["member_id"],
        "instance_id": match["instance_id"],
        "cause": "join_static" if match["instance_id"] else "join_new",
        "detail": {"speaks": match["speaks"] or match["group_type"]},
    }


def _plain(kind: str, **fixed: object) -> Fill:
    """Return a function that copies groups of the expression to the columns of the same name."""

    def fill(match: re.Match[str]) -> Columns:
        columns: Columns = {"kind": kind, **fixed}
        for name, value in match.groupdict().items():
            if value is None and name == "members":
                continue
            if name in ("generation", "members", "duration_ms", "member_epoch"):
                number = whole(value, 48 if name == "duration_ms" else 32)
                columns["duration_us" if name == "duration_ms" else name] = (
                    1000 * number if name == "duration_ms" else number
                )
            elif name in COLUMNS:
                columns[name] = value
            elif name != "group":
                columns["detail"] = {**columns.get("detail", {}), name: value}
        return columns

    return fill


_TOKENS = re.compile(r"\\.|\[[^\]]*\]|(?P<lazy>\(\?P<\w+>\.\*\?\)|\.\*\?)|(?P<named>\(\?P<)|[()]")


def _linear(pattern: str) -> re.Pattern[str]:
    """Compile an expression so that matching takes time linear in the length of the line, for any text.

    Each part between two lazy groups (`.*?`) becomes an atomic group, matched where it first fits. Backtracking over
    three lazy groups takes cubic time: 18 s for 8 KB.
    """
    cuts, depth = [0], 0
    for token in _TOKENS.finditer(pattern):
        if not depth and (token["lazy"] or (token["named"] and len(cuts) == 1)):
            cuts.append(token.start())
        depth += (token[0][0] == "(" and not token["lazy"]) - (token[0] == ")")
    parts = [pattern[start:end] for start, end in zip(cuts, [*cuts[1:], None], strict=True)]
    parts[0] = f".*?{parts[0]}"
    return re.compile(r"\A" + "".join(f"(?>{part})" for part in parts))


_PATTERNS: tuple[tuple[str, re.Pattern[str], Fill], ...] = tuple(
    (words, _linear(pattern), fill)
    for words, pattern, fill in (
        (
            "Preparing to re",
            r"Preparing to re(?:balance|stabilize) group (?P<group>.*?) (?:in state \w+ )?with old generation (?P<generation>-?\d+)"
            r"(?: \(__consumer_offsets-\d+\))?(?: \(reason: (?P<reason>.*)\)\.?)?$",
            _rebalance_started,
        ),
        (
            "Stabilized group",
            r"Stabilized group (?P<group>.*?) generation (?P<generation>\d+)(?: \(__consumer_offsets-\d+\))?"
            r"(?: with (?P<members>\d+) members.*|)$",
            _plain("join_completed"),
        ),
        (
            "Assignment received from leader",
            r"Assignment received from leader (?P<member_id>.*?) for group (?P<group>.*?) for generation "
            r"(?P<generation>\d+)\. The group has (?P<members>\d+) members",
            _plain("assignment_received"),
        ),
        (
            "Assignment received from leader for group",
            r"Assignment received from leader for group (?P<group>.*?) for generation (?P<generation>\d+)$",
            _plain("assignment_received"),
        ),
        (
            "removed dynamic members who haven't joined",
            r"Group (?P<group>.*?) removed dynamic members who haven't joined: (?:Set)?[\[(](?P<members>.*)[\])]",
            _evicted,
        ),
        (
            "has failed, removing it from the group",
            r"Member (?P<member_id>.*?) in group (?P<group>.*?) has failed, removing it",
            _plain("member_removed", cause="session_expired"),
        ),
        (
            "has left group",
            r"(?<!Pending )(?:Dynamic |Static |\b)[Mm]ember (?P<member>.*?)" + _WITH_INSTANCE + r" has left group (?P<rest>.*)$",
            _member_left,
        ),
        (
            "Replacing previously mapped member",
            r"Static member with groupInstanceId=(?P<instance_id>.*?) and unknown member id (?P<new>.*?)\s?joins group "
            r"(?P<group>.*?) in (?P<state_from>\w+) state\. Replacing previously mapped member (?P<old_member_id>.*?) with",
            _plain("member_replaced"),
        ),
        (
            "for this member and added to the group",
            r"Static member with groupInstanceId=(?P<instance_id>.*?) and unknown member id joins group (?P<group>.*?) "
            r"in (?P<state_from>\w+) state\. Created a new member id (?P<member_id>.*?) for this member",
            _plain("member_added", cause="join_static"),
        ),
        (
            "requesting the member to rejoin with this id",
            r"Dynamic member with unknown member id joins (?:the consumer group|group (?P<group>.*?) in (?P<state_from>\w+) state)\. "
            r"Created a new member id (?P<member_id>.*?) and",
            _plain("member_id_issued"),
        ),
        (
            "and added the member to the group",
            r"Dynamic member with unknown member id joins group (?P<group>.*?) in (?:state )?(?P<state_from>\w+)(?: state)?\. "
            r"Created a new member id (?P<member_id>.*?) and added",
            _plain("member_added", cause="join_new"),
        ),
        (
            "Pending dynamic member",
            r"Pending dynamic member with id (?P<member_id>.*?) joins group (?P<group>.*?) in (?P<state_from>\w+) state",
            _plain("member_added", cause="join_new"),
        ),
        (
            "no members rejoined",
            r"Group (?P<group>.*?) could not complete rebalance because no members rejoined",
            _plain("join_progress"),
        ),
        (
            "is now empty",
            r"Group (?P<group>.*?) with generation (?P<generation>\d+)(?: \(__consumer_offsets-\d+\))? is now empty",
            _plain("rebalance_completed", members=0),
        ),
        (
            "group epoch to",
            r"Bumped (?:streams )?group epoch to (?P<generation>\d+)(?: with metadata hash (?P<hash>-?\d+))?",
            _plain("epoch_bumped"),
        ),
        (
            "Computed a new target assignment",
            r"Computed a new target assignment for epoch (?P<generation>\d+) with '(?P<protocol>.*?)' assignor in "
            r"(?P<duration_ms>\d+)ms",
            _plain("target_computed"),
        ),
        (
            "fenced from the group because",
            r"(?:Static |(?P<type>Streams ))?[Mm]ember (?P<member>\S+)(?: with instance id .*?)? fenced from the group because "
            r"(?P<why>.*?)\.*$",
            _fenced_out,
        ),
        (
            "is fenced by existing memberId",
            r"memberId=(?P<member_id>.*?) for static member with groupInstanceId=(?P<instance_id>.*?) is fenced by "
            r"existing memberId=(?P<existing>.*?) during",
            _plain("member_fenced", error="FENCED_INSTANCE_ID"),
        ),
        (
            "is fenced by existing member ",
            _STATIC + r"is fenced by existing member (?P<existing>.*?)\.?$",
            _plain("member_fenced", error="FENCED_INSTANCE_ID"),
        ),
        (
            "because the instance id is owned by member",
            _STATIC + r"cannot join the group because the instance id is owned by member (?P<old_member_id>.*?)\.?$",
            _plain("member_fenced", error="UNRELEASED_INSTANCE_ID"),
        ),
        (
            "temporarily left the",
            _STATIC + r"temporarily left the (?P<group_type>consumer|streams) group",
            _plain("member_away"),
        ),
        (
            "left the",
            _STATIC + r"left the (?P<group_type>consumer|share|streams) group",
            _plain("member_removed", cause="leave_explicit"),
        ),
        (
            "re-joins the",
            r"Static member with instance id (?P<instance_id>.*?) re-joins the (?P<group_type>consumer|streams) group using the "
            r"(?P<speaks>\w+) protocol\. Created a new member (?P<member_id>.*?) to replace the existing member (?P<old_member_id>.*?)\.?$",
            _plain("member_replaced"),
        ),
        (
            "Member joins the streams group",  # the prefix names the member
            r"Member joins the (?P<group_type>streams) group",
            _plain("member_added", cause="join_new", detail={"speaks": "streams"}),
        ),
        (
            "joins the",
            r"(?:Static )?[Mm]ember (?P<member_id>.*?)" + _WITH_INSTANCE + r" joins the "
            r"(?P<group_type>consumer|share|streams) group(?: using the (?P<speaks>\w+) protocol|\.?$)",
            _joined,
        ),
        (
            "failed to join before the rebalance timeout",
            r"Group leader \[memberId: (?P<member_id>.*?), groupInstanceId: (?P<instance_id>.*?)\] failed to join before",
            _leader_absent,
        ),
        (
            "because the group migration is disabled",
            r"Cannot join the consumer group (?P<group>.*?) with the classic protocol because (?P<reason>.*?)\.?$",
            _plain("conversion_refused", detail={"to": "classic"}),
        ),
        (
            "Cannot upgrade classic group",
            r"Cannot upgrade classic group (?P<group>.*?)(?: to consumer group(?: because|:)|:(?!.* to consumer group)) (?P<reason>.*?)\.?$",
            _plain("conversion_refused", detail={"to": "consumer"}),
        ),
        (
            "Cannot downgrade",
            r"Cannot downgrade (?:the )?(?:consumer|classic) group (?P<group>.*?)(?: to classic group(?: because|:)|:(?!.* to classic group)) (?P<reason>.*?)\.?$",
            _plain("conversion_refused", detail={"to": "classic"}),
        ),
        (
            "removed members who haven't sent their sync requests",
            r"Group (?P<group>.*?) removed members who haven't sent their sync requests: (?:Set)?[\[(](?P<members>.*)[\])]",
            _never_synced,
        ),
        (
            "Converted the",
            r"Converted the (?P<from>\w+) group to a (?P<to>\w+) group",
            _plain("group_converted", cause="protocol_migration"),
        ),
        (
            "The following groups were deleted",
            r"The following groups were deleted: (?P<groups>.*?)\. A total of (?P<offsets>\d+) offsets",
            _deleted,
        ),
        (
            "Creating a simple consumer group",
            r"Creating a simple consumer group via manual offset commit",
            _plain("group_created", group_type="simple"),
        ),
        (
            "Finished loading of metadata from",
            r"Finished loading of metadata from __consumer_offsets-(?P<of>\d+) with epoch (?P<epoch>\d+) in (?P<ms>\d+)ms"
            r".*?Loaded (?P<records>\d+) records",
            _elected,
        ),
        (
            "Loaded ",
            r"Loaded (?P<group_type>classic|consumer|share|streams) group (?P<group>.*?) with (?P<members>\d+) members",
            _plain("group_loaded"),
        ),
        ("Unload", r"Unload(?:ing|ed) group metadata for (?:generation|group epoch) (?P<generation>-?\d+)", _plain("group_unloaded")),
    )
)  # fmt: skip


def is_without_date(line: str) -> bool:
    prefix = line[: line.find(MARK)]
    return TIME.search(prefix) is None and _CLOCK.search(prefix) is not None


def why_nothing(path: SourceFile) -> str:
    """Explain why no line of a file was understood: no line has a date, or an example of an unknown line."""
    line = example_of(path)
    if MARK in line and is_without_date(line):
        return f"nothing in it was understood: its lines {_NO_DATE}"
    return "nothing in it was understood: no line or record is about a group" + (
        f"; for example: {line}" if line else ""
    )


def example_of(path: SourceFile) -> str:
    first = ""
    for line in read_lines(path, []):
        if MARK in line:
            return line[:_EXAMPLE]
        first = first or line[:_EXAMPLE]
    return first


def read_text_log(path: SourceFile) -> Iterator[GroupEvent | Issue]:
    """Yield the events of a broker's log, and its issues."""
    faults: list[Issue] = []
    month_first = puts_month_first(read_lines(path, []))
    log = TextLog(path.name, month_first=bool(month_first))
    yield from log.events(read_lines(path, faults))
    yield from log.end()
    yield from log.issues()
    if month_first is None:
        yield Issue("ambiguous_dates", path.name, "its dates could begin with the day or the month; read as day first")
    yield from faults


class TextLog:
    """Broker's log that is read in portions.

    number: Number of events so far; makes ids of events at the same time unique.
    """

    def __init__(self, name: str, *, month_first: bool = False) -> None:
        self.name, self.number = name, 0
        self._month_first = month_first
        self._unread: dict[str, int] = {}
        self._undated = self._old = 0
        self._group_of: dict[str, str] = {}  # the line about a fenced member doesn't name its group
        self._joining = Joining()

    def events(self, lines: Iterable[str]) -> Iterator[GroupEvent]:
        """Yield the events of lines. A JSON object over several lines may be completed by a later call or `end`."""
        yield from self._events(self._joining.lines(lines))

    def end(self) -> Iterator[GroupEvent]:
        """Yield the events of an incomplete JSON object at the end of the log."""
        yield from self._events(self._joining.end())

    def _events(self, lines: Iterable[str]) -> Iterator[GroupEvent]:
        for line in lines:
            if MARK not in line:
                if DENIED in line and (refusal := self._denial(line)) is not None:
                    self.number += 1
                    yield refusal
                continue
            if len(line) > LONGEST_LINE:
                self._count(_TOO_LONG)
                continue
            try:
                broker_line_or_none = broker_line(line, month_first=self._month_first)
                event = self._event(broker_line_or_none, line) if broker_line_or_none is not None else None
            except UNREADABLE:
                self._count(_OTHERWISE)
                continue
            if event is not None:
                self.number += 1
                self._old += _OF_0_10 in line
                _name_group(event, self._group_of)
                yield event
            elif broker_line_or_none is None and is_without_date(line):
                self._undated += 1
            elif broker_line_or_none is None:
                self._count(_NO_LINE)
            else:
                for marker, _, _ in _PATTERNS[:5]:
                    if marker in line:
                        self._count(marker)

    def issues(self) -> Iterator[Issue]:
        """Yield issues for unreadable lines of the coordinator since the previous call."""
        for marker, count in self._unread.items():
            yield Issue("unreadable_line", self.name, f"{count} lines with '{marker}' have an unknown format")
        if self._undated and self.number:  # else the file as a whole is reported
            yield Issue("unreadable_line", self.name, f"{self._undated} lines {_NO_DATE}")
        if self._old:
            text = (
                "its words are those of Kafka 0.10 or older, which is too old: it logs neither reasons nor members. It contains "
                f"{self._old} {'start of a rebalance' if self._old == 1 else 'starts of rebalances'} and "
                f"{(rest := self.number - self._old)} other {'event' if rest == 1 else 'events'}"
            )
            yield Issue("old_release", self.name, text)
        self._unread, self._undated, self._old = {}, 0, 0

    def _count(self, marker: str) -> None:
        self._unread[marker] = self._unread.get(marker, 0) + 1

    def _denial(self, line: str) -> GroupEvent | None:
        try:
            return denial(line, self.name, self.number + 1)
        except UNREADABLE:
            self._count(DENIED.strip())
            return None

    def _event(self, parsed: BrokerLine, line: str) -> GroupEvent | None:
        return _event(parsed, line, self.name, self.number + 1)


def _event(parsed: BrokerLine, line: str, file: str, number: int) -> GroupEvent | None:
    """Return the event of a coordinator's line, or None if the line isn't about a group event.

    Raises:
        UNREADABLE: A value is out of range.
    """
    columns = columns_of(parsed.text)
    if columns is None:
        return None
    ts_ms = parsed.ts_ms
    partition = parsed.partition or (old[1] if (old := _OLD_PARTITION.search(line)) else None)
    if partition is not None:
        columns.setdefault("co_partition", whole(partition, 32))
    node = whole(parsed.node, 32)
    event_id = f"{file}:{ts_ms}:{number}"
    return GroupEvent(**columns, ts=ts_ms, node_id=node, event_id=event_id, seq=number, origin="text_log")


def _name_group(event: GroupEvent, group_of: dict[str, str]) -> None:
    members = [event.member_id, *(event.detail or {}).values()]
    if event.group_id is None:
        event.group_id = next((group_of[m] for m in members if m in group_of), None)
    else:
        group_of.update(dict.fromkeys((m for m in members if m), event.group_id))


def columns_of(text: str) -> Columns | None:
    """Return the columns of the event in a message, except time and source; None for other messages."""
    group = member_id = None
    if prefix := _IN_BRACKETS.match(text):
        group, member_id, text = prefix["group"], prefix["member_id"], prefix["text"]
    for marker, pattern, fill in _PATTERNS:
        if marker not in text:
            continue
        if match := pattern.search(text):
            columns = fill(match)
            named = match.groupdict().get("group")
            columns["group_id"] = named if named is not None else group
            if member_id is not None:
                columns.setdefault("member_id", member_id)
            member_id = columns.get("member_id")
            if member_id and columns.get("client_id") is None and (client := client_of(member_id)) != member_id:
                columns["client_id"] = client  # members of the consumer protocol make up ids that don't name it
            return columns
    return None
