"""Valid topic names. Error messages are those of Kafka 4.3.0 (`Topic.validate`)."""

import re

MAX_NAME_LENGTH = 249
# topic of the controllers, which clients cannot create (`ControllerApis.createTopics`)
METADATA_TOPIC = "__cluster_metadata"
_LEGAL_NAME = re.compile(r"[a-zA-Z0-9._-]+")


def name_refusal(name: str) -> str | None:
    """Return Kafka's error message for a topic name, or None if it is valid (`Topic.validate`)."""
    if not name:
        message = "the empty string is not allowed"
    elif name in (".", ".."):
        message = f"'{name}' is not allowed"
    elif len(name) > MAX_NAME_LENGTH:
        message = f"the length of '{name}' is longer than the max allowed length {MAX_NAME_LENGTH}"
    elif not _LEGAL_NAME.fullmatch(name):
        message = f"'{name}' contains one or more characters other than ASCII alphanumerics, '.', '_' and '-'"
    else:
        return None
    return f"Topic name is invalid: {message}"
