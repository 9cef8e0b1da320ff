"""Messages about errors of a store: the rejected operation, and the fix."""

from __future__ import annotations

import re

_OF_AWS = re.compile(r"AWS Error (?P<code>\w+)(?: \(HTTP status (?P<status>\d+)\))? during (?P<asked>\w+) operation")
_BUCKET = re.compile(r"bucket '([^']*)'")
_REFUSED = ("ACCESS_DENIED", "INVALID_ACCESS_KEY_ID", "SIGNATURE_DOES_NOT_MATCH", "INVALID_CLIENT_TOKEN_ID")
_REFUSED_BY_STATUS = ("401", "403")
_BUSY = ("SLOW_DOWN", "THROTTLING", "SERVICE_UNAVAILABLE", "INTERNAL_FAILURE", "REQUEST_TIMEOUT")
_BUSY_BY_STATUS = ("429", "500", "502", "503", "504")
_UNREACHABLE = "NETWORK_CONNECTION"


def store_error(text: str) -> str | None:
    """Return a message for an AWS error anywhere in a text, or None without one."""
    match = _OF_AWS.search(text)
    if match is None:
        return None
    code, status, operation = match["code"], match["status"] or "", match["asked"]
    named = _BUCKET.search(text)
    store = f"the store with bucket {named[1]}" if named else "the store"
    answer = f"{operation}: {code}{f', status {status}' if status else ''}"
    if code in _REFUSED or status in _REFUSED_BY_STATUS:
        return (
            f"{store} refuses ({answer}): the credentials in use (AWS_* variables, ~/.aws or the machine's role; with "
            "Spark those of the workers, too) don't permit it. Sources need the rights to list and get, --out those to "
            "put and delete, too"
        )
    if code in _BUSY or status in _BUSY_BY_STATUS:
        return (
            f"{store} throttles requests or fails, after several attempts ({answer}): run it again later, or with "
            "a higher AWS_MAX_ATTEMPTS"
        )
    if code == "NO_SUCH_BUCKET":
        return f"the bucket does not exist ({answer}): {named[1] if named else 'its name is in the address'}"
    if code == _UNREACHABLE:
        return f"{store} cannot be reached ({answer}): check AWS_ENDPOINT_URL and the network"
    return None
