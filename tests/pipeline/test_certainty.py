"""What is called certain. From the offsets topic alone only what its records say is; what a silence means never is."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable

from kohort.pipeline.rules.diagnose import ALL
from tests.pipeline.incidents.recorded import Sources, Told, log_alone, text_alone

SAID_BY_RECORDS: dict[str, str] = {
    "R04": "names of pods with another hash, members that come back with another protocol",
    "R07": "partitions that were not there before",
    "R08": "subscriptions and patterns",
    "R09": "subscriptions that share nothing",
    "R11": "rounds of one cooperative rebalance",
    "R12": "a consumer member's epoch -2: it said that it would be back",
    "R14": "the time from the barrier to the assignment, both in the record",
    "R16": "the leader epoch of the offsets partition",
    "R18": "members and partitions of a generation",
    "R21": "committed offsets that went back",
    "R23": "states of members and partitions that they must revoke",
    "R24": "records of a conversion",
    "R25": "generations and their members",
    "R26": "times of epochs, each of which is a record",
    "R27": "commits with a retention time of their own",
    "R28": "settings in the members' records",
    "R31": "subscriptions that share something, not all",
    "R40": "members and assignors of generations",
    "R33": "committed offsets that jump back and forth in a group without members",
    "R47": "what a share coordinator wrote: records that were archived after several deliveries",
    "R48": "as above, and that nothing was accepted meanwhile",
    "R50": "as above: records that can be delivered again",
    "R54": "members that went and came back, and their tasks, which others got meanwhile",
    "R57": "as above: the state of records whose dead letter is due",
    "R55": "a topology that was deleted, another one after it, and tombstones of offsets",
}
"""The rules that may be certain from the offsets topic alone, and the records that exclude another explanation."""

NEVER_FROM_LINES = ("R06", "R15", "R20", "R21", "R30", "R32", "R33")
"""Rules that no text log can make certain: they rest on commits, on names, or on what many rebalances have in common."""


def certain(told: Told) -> dict[str, list[str]]:
    found: dict[str, list[str]] = defaultdict(list)
    for finding in told.found:
        if finding.confidence == "certain":
            found[finding.rule].append(finding.text)
    return found


def test_log_alone_is_certain_of_records(told_from: Callable[[Sources], list[Told]]) -> None:
    for told in told_from(log_alone):
        for rule, texts in certain(told).items():
            assert rule in SAID_BY_RECORDS, (told.group.group_id, rule, texts)


def test_static_absence_needs_announcement(
    told_from: Callable[[Sources], list[Told]],
) -> None:
    for told in told_from(log_alone):
        for finding in told.found:
            if finding.rule == "R12" and finding.confidence == "certain":
                assert told.analysis.consumer is not None


def test_text_log_lines_are_certain(told_from: Callable[[Sources], list[Told]]) -> None:
    for told in told_from(text_alone):
        for rule, texts in certain(told).items():
            assert rule not in NEVER_FROM_LINES, (told.group.group_id, rule, texts)


def test_every_rule_is_looked_at() -> None:
    assert SAID_BY_RECORDS.keys() <= ALL.keys()
    assert set(NEVER_FROM_LINES) <= ALL.keys()
