"""Group events from the lines of Kafka's authorizer about denied requests, in `server.log` or `kafka-authorizer.log`.

Only facts from the line itself are taken over: the denial of a topic, for example, names no group.
Source: output of Kafka 4.3.0; `StandardAuthorizerData.buildAuditMessage`.
"""

from __future__ import annotations

from kohort.pipeline.sources.broker_lines import moment_of
from kohort.pipeline.sources.source_rows import GroupEvent
from kohort.pipeline.sources.unwrapping import DENIED, unwrapped

LONGEST_LINE = 1 << 17  # characters; a line has two names of at most 32,767 characters

_BETWEEN = ("Principal = ", DENIED, " from host = ", " on resource = ", " for request = ")
_RULE = "based on rule "


def denial(line: str, file: str, number: int) -> GroupEvent | None:
    """Return the event of a denial, or None for lines in another format or without a time.

    Raises:
        UNREADABLE: A value of the line is invalid.
    """
    if len(line) > LONGEST_LINE:
        return None
    message, outside = unwrapped(line)
    parts: list[str] = []
    rest = message
    for separator in _BETWEEN:
        part, separator_found, rest = rest.partition(separator)
        if not separator_found:
            return None
        parts.append(part)
    prefix, principal, operation, host, resource = parts
    ts_ms = moment_of(prefix, outside)
    kind, _, named = resource.partition(":")
    _, has_name, name = named.partition(":")
    if ts_ms is None or not has_name:
        return None
    kind = kind.upper()
    detail = {
        "principal": principal,
        "operation": operation.upper(),
        "resource": f"{kind}:{name}",
        "api": rest.split(" ", 1)[0].rstrip(","),
        "rule": rest.partition(_RULE)[2].split(" (", 1)[0],
        "n": "1",
    }
    return GroupEvent(
        kind="access_denied",
        ts=ts_ms,
        group_id=name if kind == "GROUP" else None,
        client_host=f"/{host}",
        detail=detail,
        event_id=f"{file}:{ts_ms}:{number}",
        seq=number,
        origin="text_log",
    )
