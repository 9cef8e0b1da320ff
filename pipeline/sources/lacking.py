"""Hints for files about groups that cannot be analyzed: what they lack and what to use instead."""

from __future__ import annotations

import re

# a line of the console consumer's formatter for __share_group_state, whose keys have other fields than those of commits
FORMATTED_SHARE_STATE = re.compile(r"\{\"key\":\{\"type\":\"?\d+\"?,\"data\":\{\"groupId\":\"[^\"]*\",\"topicId\":")
_KINDS = (
    (
        re.compile(r"^\S+::(?:GroupMetadata\(|\[.*,(?:Some\(\w+\)|None),\w+,Map\()", re.MULTILINE),
        "this is from the group metadata formatter of Kafka 3.x or older, which prints no times; give the text of "
        "kafka-dump-log --offsets-decoder, the lines of kcat -J, or the cluster's address",
    ),
    (
        re.compile(
            r"^GROUP\s+(?:TOPIC\s+PARTITION\s+(?:CURRENT|START)-OFFSET|COORDINATOR \(ID\)|CONSUMER-ID|MEMBER|STATE)",
            re.MULTILINE,
        ),
        "this is a snapshot: kafka-consumer-groups, kafka-share-groups and kafka-streams-groups print the state of a "
        "group at one moment, not its history; give the cluster's address, or the log of the group's coordinator "
        "(server.log)",
    ),
    (
        re.compile(
            rf"^Dumping \S*__share_group_state|^\| offset: .*\"stateEpoch\":|^{FORMATTED_SHARE_STATE.pattern}",
            re.MULTILINE,
        ),
        "this is a dump of __share_group_state, which can't be read; give the segment files themselves, in their "
        "folders __share_group_state-<partition>, or the cluster's address",
    ),
    (
        re.compile(
            r"\[Consumer (?:instanceId=[^,]*, )?clientId=[^,\]]*, groupId=|^%\d\|\d+\.\d+\|"
            r"|\b(?:aiokafka|kafka)\.(?:consumer|coordinator)\.[a-z]",
            re.MULTILINE,
        ),
        "a client's log lacks the other members of the group; give the log of the group's coordinator (server.log), "
        "or the cluster's address",
    ),
)

TEXTS = tuple(text for _, text in _KINDS)


def what_it_lacks(beginning: str) -> str | None:
    """Explain why a file cannot be analyzed, or return None if its first lines are not about groups."""
    return next((text for pattern, text in _KINDS if pattern.search(beginning)), None)
