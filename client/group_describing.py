"""The API that describes groups of each type.

Brokers before Kafka 4.0 cannot describe consumer groups, before 4.1 neither share nor streams groups.
"""

from __future__ import annotations

from typing import Any, Final

from kohort.groups.type_words import CLASSIC, GROUP_TYPES
from kohort.protocol.api_keys import API_BY_NAME
from kohort.protocol.messages import message_of


def describe_api(group_type: str) -> str:
    return "describe_groups" if group_type == CLASSIC else f"{group_type}_group_describe"


DESCRIBE_VERSIONS: Final = {api: API_BY_NAME[api].max_version for api in map(describe_api, GROUP_TYPES)}
"""The newest version of each of these APIs that a client of ours supports."""


def describe_request(group_type: str, group_ids: tuple[str, ...]) -> Any:
    field = "groups" if group_type == CLASSIC else "group_ids"
    return message_of(describe_api(group_type)).request(**{field: group_ids})
