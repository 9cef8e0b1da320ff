"""What a store answers, in a sentence for people: who was refused what, and what to do."""

from __future__ import annotations

import re

_OF_AWS = re.compile(r"AWS Error (?P<code>\w+)(?: \(HTTP status (?P<status>\d+)\))? during (?P<asked>\w+) operation")
_BUCKET = re.compile(r"bucket '([^']*)'")
_REFUSED = ("ACCESS_DENIED", "INVALID_ACCESS_KEY_ID", "SIGNATURE_DOES_NOT_MATCH", "INVALID_CLIENT_TOKEN_ID")
_REFUSED_BY_STATUS = ("401", "403")
_BUSY = ("SLOW_DOWN", "THROTTLING", "SERVICE_UNAVAILABLE", "INTERNAL_FAILURE", "REQUEST_TIMEOUT")
_BUSY_BY_STATUS = ("429", "500", "502", "503", "504")
_GONE = "NETWORK_CONNECTION"


def store_error(text: str) -> str | None:
    """The sentence for an error of Amazon's library, wherever in a text it stands; None: there is none."""
    found = _OF_AWS.search(text)
    if found is None:
        return None
    code, status, asked = found["code"], found["status"] or "", found["asked"]
    named = _BUCKET.search(text)
    store = f"the store with bucket {named[1]}" if named else "the store"
    answer = f"{asked}: {code}{f', status {status}' if status else ''}"
    if code in _REFUSED or status in _REFUSED_BY_STATUS:
        return (
            f"{store} refuses ({answer}): the credentials in use (AWS_* variables, ~/.aws or the machine's role; with "
            "Spark those of the workers, too) don't permit it. Sources need the rights to list and get, --out those to "
            "put and delete, too"
        )
    if code in _BUSY or status in _BUSY_BY_STATUS:
        return (
            f"{store} throttles or is not well, and was asked several times ({answer}): run it again later, or with "
            "a higher AWS_MAX_ATTEMPTS"
        )
    if code == "NO_SUCH_BUCKET":
        return f"there is no such bucket ({answer}): {named[1] if named else 'its name is in the address'}"
    if code == _GONE:
        return f"{store} can't be reached ({answer}): is AWS_ENDPOINT_URL right, and the network there?"
    return None
