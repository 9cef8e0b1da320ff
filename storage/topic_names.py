"""Which names topics may have. The words of refusals are those of Kafka 4.3.0 (`Topic.validate`)."""

import re

MAX_NAME_LENGTH = 249
METADATA_TOPIC = "__cluster_metadata"
"""The topic of the controllers, which nobody may create (`ControllerApis.createTopics`)."""
_LEGAL_NAME = re.compile(r"[a-zA-Z0-9._-]+")


def name_refusal(name: str) -> str | None:
    """Why no topic may have this name, in Kafka's words; None: one may (`Topic.validate`)."""
    if not name:
        problem = "the empty string is not allowed"
    elif name in (".", ".."):
        problem = f"'{name}' is not allowed"
    elif len(name) > MAX_NAME_LENGTH:
        problem = f"the length of '{name}' is longer than the max allowed length {MAX_NAME_LENGTH}"
    elif not _LEGAL_NAME.fullmatch(name):
        problem = f"'{name}' contains one or more characters other than ASCII alphanumerics, '.', '_' and '-'"
    else:
        return None
    return f"Topic name is invalid: {problem}"
