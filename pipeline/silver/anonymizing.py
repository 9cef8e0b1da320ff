"""Silver with other names, for `kohort analyze --anonymize`. Gold and the report are computed from it as usual.

A table below states the content of each text column. Free text keeps only words of Kafka and kohort. Ids that Kafka
generates are kept: those of topics, and the random part of member ids.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable
from typing import Any, Final

import pyarrow as pa

from kohort.base.replaced_names import (
    ASSIGNOR,
    CLIENT,
    GROUP,
    HOST,
    PATTERN,
    RACK,
    RESOURCE,
    SOFTWARE,
    SOURCE,
    SUBTOPOLOGY,
    TOPIC,
    TRANSACTION,
    TYPE,
    USER,
    ReplacedNames,
)
from kohort.pipeline.remote_path import Place
from kohort.pipeline.silver.parquet_files import Writer, publish, row_groups_in, visible_files
from kohort.pipeline.silver.silver_schemas import SCHEMAS, TEXTS_OF_COMMITS
from kohort.pipeline.sources.chunk import Issue
from kohort.pipeline.sources.lacking import TEXTS

_KEPT, _DROPPED, _TEXT = "kept", "dropped", "text"
_EVENT_ID, _REBALANCE_ID, _SOFTWARE, _STREAMS, _PLACE = "event id", "rebalance id", "software", "streams", "place"
CONTENT_OF_COLUMNS: Final = {
    "group_id": GROUP, "topic": TOPIC, "topics": TOPIC, "subscribed_topics": TOPIC, "regex": PATTERN,
    "member_id": CLIENT, "leader": CLIENT, "instance_id": CLIENT, "client_id": CLIENT, "logical_client": CLIENT,
    "process_id": CLIENT, "waited_for": CLIENT, "joined": CLIENT, "left": CLIENT, "evicted": CLIENT,
    "client_host": HOST, "rack": RACK, "protocol": ASSIGNOR, "protocol_type": TYPE, "subtopology": SUBTOPOLOGY,
    "client_software": _SOFTWARE, "event_id": _EVENT_ID, "rebalance_id": _REBALANCE_ID, "streams": _STREAMS,
    "keys": _PLACE, "client_reason": _TEXT, "error": _TEXT,
    "metadata": _DROPPED, "key": _DROPPED, "value": _DROPPED,
    "cluster": _KEPT, "group_type": _KEPT, "kind": _KEPT, "state_from": _KEPT, "state_to": _KEPT, "cause": _KEPT,
    "origin": _KEPT, "role": _KEPT, "txn": _KEPT, "speaks": _KEPT, "dialect": _KEPT, "boot_id": _KEPT,
    "topic_id": _KEPT, "rule": _KEPT,
}  # of text columns, by name; `detail` depends on the table  # fmt: skip
_DETAILS: Final = {
    "old_member_id": CLIENT, "new": CLIENT, "existing": CLIENT, "leader": CLIENT, "slowest": CLIENT,
    "process_id": CLIENT, "topic": TOPIC, "reason": _TEXT, "next": _REBALANCE_ID,
    "to": _KEPT, "from": _KEPT, "policy": _KEPT, "what": _KEPT, "speaks": _KEPT, "rebalance": _KEPT,
    "operation": _KEPT, "api": _KEPT,
}  # of events, by key; unknown keys are dropped unless their value is a number  # fmt: skip
_TASKS: Final = ("active", "standby", "warmup")
_RESOURCES: Final = {"GROUP": GROUP, "TOPIC": TOPIC, "TRANSACTIONAL_ID": TRANSACTION, "USER": USER}
_WHOLE: Final = re.compile(r"-?\d+")
_OWN_PLACE: Final = re.compile(
    r"(?:node \S+, boot \S+|type \S+, value version \S+|__[a-z_]+(?:-\d+)?|partition \d+|\d+|)\Z"
)
_IN_PLACE: Final = re.compile(r"(?P<source>.*?)(?P<rest>(?::\d+|@\d+|, partition \d+)?)\Z", re.DOTALL)


def anonymize(original: Place, silver: Place, issues: Iterable[Issue] = ()) -> tuple[list[Issue], ReplacedNames]:
    """Write the tables of `original` to `silver` with other names.

    Returns:
        The issues with the same replacements, and the replacements.
    """
    replacing = _Replacing()
    issues = list(issues)
    for table in SCHEMAS:
        for rows in _row_groups(original, table):
            replacing.table(table, rows)
    for issue in issues:
        replacing.issue(issue)
    replacing.names.number()
    with Writer(silver, "0") as writer:
        for table in SCHEMAS:
            for rows in _row_groups(original, table):
                writer.add(table, replacing.table(table, rows))
    publish(silver, "0", [writer.task])
    return [replacing.issue(issue) for issue in issues], replacing.names


def _row_groups(silver: Place, table: str) -> Iterable[pa.Table]:
    for path in visible_files(silver, table):
        yield from row_groups_in(path, coded=list(TEXTS_OF_COMMITS) if table == "offset_commits" else None)


class _Replacing:
    def __init__(self) -> None:
        self.names = ReplacedNames(TEXTS)
        self._by_content: dict[str, Callable[[str], str | None]] = {
            _DROPPED: lambda _: "",
            _TEXT: self.names.text,
            _EVENT_ID: self._event_id,
            _REBALANCE_ID: self._rebalance_id,
            _SOFTWARE: self._software,
            _STREAMS: self._streams,
            _PLACE: self._place,
        }

    def table(self, table: str, rows: pa.Table) -> pa.Table:
        schema = SCHEMAS[table]
        columns = [self._column(table, field, rows[field.name]) for field in schema]
        return pa.table(columns, schema=schema)

    def issue(self, issue: Issue) -> Issue:
        return Issue(issue.rule, self._place(issue.keys), self.names.text(issue.detail))

    def _column(self, table: str, field: pa.Field, column: pa.ChunkedArray) -> pa.ChunkedArray:
        if pa.types.is_map(field.type):
            details = [None if row is None else list(self._detail(dict(row))) for row in column.to_pylist()]
            return pa.chunked_array([pa.array(details, field.type)])
        if pa.types.is_binary(field.type):
            return pa.chunked_array([pa.nulls(len(column), field.type)])
        is_list = pa.types.is_list(field.type) and pa.types.is_string(field.type.value_type)
        if not is_list and not pa.types.is_string(field.type):
            return column
        content = _TEXT if (table, field.name) == ("dq_issues", "detail") else CONTENT_OF_COLUMNS[field.name]
        if content == _KEPT:
            return column.cast(field.type)
        replace = self._by_content.get(content) or self.names.of(content)
        if is_list:
            lists = [None if row is None else [replace(item) for item in row] for row in column.to_pylist()]
            return pa.chunked_array([pa.array(lists, field.type)])
        return pa.chunked_array([_mapped(chunk, replace) for chunk in column.chunks], pa.string())

    def _detail(self, detail: dict[str, str]) -> Iterable[tuple[str, str]]:
        for key, value in detail.items():
            content = _DETAILS.get(key)
            if content == _KEPT or _WHOLE.fullmatch(value):
                yield key, value
            elif content is not None:
                replace = self._by_content.get(content) or self.names.of(content)
                yield key, replace(value) or ""
            elif key.removeprefix("target_").removeprefix("pending_") in _TASKS:
                yield key, " ".join(map(self._task, value.split()))
            elif key == "groups":
                yield key, ", ".join(map(self.names.of(GROUP), value.split(", ")))
            elif key == "principal":
                kind, colon, user = value.partition(":")
                yield key, f"{kind}:{self.names.replace(USER, user)}" if colon else self.names.replace(USER, value)
            elif key == "resource":
                kind, _, name = value.partition(":")
                yield key, f"{kind}:{self.names.replace(_RESOURCES.get(kind, RESOURCE), name)}"

    def _task(self, name: str) -> str:
        subtopology, _, number = name.rpartition("_")
        return f"{self.names.replace(SUBTOPOLOGY, subtopology)}_{number}" if number.isdigit() else ""

    def _event_id(self, event_id: str) -> str:
        """Replace the file in the id of an event from a broker's log; ids of an event log contain the boot id."""
        source, *rest = event_id.rsplit(":", 2)
        return ":".join((self.names.replace(SOURCE, source), *rest)) if len(rest) == 2 else event_id

    def _rebalance_id(self, rebalance_id: str) -> str:
        group_id, *rest = rebalance_id.rsplit("/", 2)
        return "/".join((self.names.replace(GROUP, group_id), *rest))

    def _software(self, software: str) -> str:
        name, slash, version = software.partition("/")
        return f"{self.names.replace(SOFTWARE, name)}{slash}{version}"

    def _place(self, keys: str) -> str:
        if _OWN_PLACE.match(keys):
            return keys
        match = _IN_PLACE.match(keys)
        assert match is not None, "the expression fits any text"
        return f"{self.names.replace(SOURCE, match['source'])}{match['rest']}"

    def _streams(self, text: str) -> str:
        fields = json.loads(text)
        if "subtopologies" in fields:
            fields["subtopologies"] = {
                self.names.replace(SUBTOPOLOGY, subtopology): {
                    use: list(map(self.names.of(TOPIC), topics)) for use, topics in by_use.items()
                }
                for subtopology, by_use in fields["subtopologies"].items()
            }
        return json.dumps(fields, sort_keys=True)


def _mapped(chunk: Any, replace: Callable[[str], str | None]) -> pa.Array:
    """Return a column with each distinct text replaced."""
    coded = chunk if pa.types.is_dictionary(chunk.type) else chunk.dictionary_encode()
    texts = pa.array([replace(text) for text in coded.dictionary.to_pylist()], pa.string())
    return texts.take(coded.indices)
