"""Lines of Kafka's authorizer about what was refused, in `server.log` or `kafka-authorizer.log`, as group events.

Source: what Kafka 4.3.0 writes; its `StandardAuthorizerData.buildAuditMessage`. Only what a line says is taken over: a
refusal of a topic names no group.
"""

from __future__ import annotations

from kohort.pipeline.sources.broker_lines import moment_of
from kohort.pipeline.sources.source_rows import GroupEvent
from kohort.pipeline.sources.unwrapping import DENIED, unwrapped

LONGEST_LINE = 1 << 17
"""Characters. Names have 32,767 at most, and a line names two."""

_BETWEEN = ("Principal = ", DENIED, " from host = ", " on resource = ", " for request = ")
_RULE = "based on rule "


def denial(line: str, utc_offset_minutes: int, file: str, number: int) -> GroupEvent | None:
    """What a line with DENIED tells; None: it has another form, or no time. Raises what UNREADABLE names."""
    if len(line) > LONGEST_LINE:
        return None
    found, outside = unwrapped(line)
    parts: list[str] = []
    rest = found
    for words in _BETWEEN:
        part, there, rest = rest.partition(words)
        if not there:
            return None
        parts.append(part)
    before, principal, operation, host, resource = parts
    moment = moment_of(before, outside)
    kind, _, named = resource.partition(":")
    _, has_name, name = named.partition(":")
    if moment is None or not has_name:
        return None
    ts_ms, zoned = moment
    ts_ms -= 0 if zoned else 60_000 * utc_offset_minutes
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
