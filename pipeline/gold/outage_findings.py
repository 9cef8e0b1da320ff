"""Findings across groups, after the tables of each exist: an event in most groups at once has a common cause."""

from __future__ import annotations

from collections.abc import Iterator
from types import ModuleType
from typing import Any

import pyarrow as pa
import pyarrow.dataset as ds

from kohort.pipeline.gold.gold_files import read_table, write_tables
from kohort.pipeline.gold.gold_schemas import SCHEMAS
from kohort.pipeline.gold.group_tables import diagnosis
from kohort.pipeline.remote_path import Place
from kohort.pipeline.rules import r35_broker_stopped, r36_expired_together
from kohort.pipeline.rules.finding import INFO, Finding, refer_to
from kohort.pipeline.rules.r35_broker_stopped import Outage, Stretch, outages
from kohort.pipeline.rules.r36_expired_together import TOGETHER_MS, Expiry, Wave, waves

_Row = dict[str, object]
_SESSION_COLUMNS = ["member_id", "client", "client_id", "logical_client", "last_ms"]
_EXPIRED = ds.field("end_kind") == "session_expired"


def judge_outages(gold: Place) -> None:
    """Add findings about outages to the diagnoses, and downgrade those that they explain to information."""
    pauses = _rows(gold, "commit_pauses", ["first_ms", "last_ms", "start_ms", "end_ms"])
    expired = _rows(gold, "member_sessions", _SESSION_COLUMNS, _EXPIRED)
    stopped = [(cluster, events) for cluster, events in _outages(pauses) if events]
    together = [(cluster, events) for cluster, events in _waves(expired, _group_ends_ms(gold)) if events]
    if not stopped and not together:
        return
    diagnoses = _rows(gold, "diagnoses")
    for cluster, outages_there in stopped:
        _judge(diagnoses, cluster, r35_broker_stopped, outages_there)
    for cluster, waves_there in together:
        _judge(diagnoses, cluster, r36_expired_together, waves_there)
    write_tables({"diagnoses": [pa.Table.from_pylist(diagnoses, SCHEMAS["diagnoses"])]}, gold)


def _judge(diagnoses: list[_Row], cluster: str, rule: ModuleType, outages_or_waves: list[Outage] | list[Wave]) -> None:
    of_group: dict[str, list[Outage | Wave]] = {}
    for outage in outages_or_waves:
        for group in outage.groups:
            of_group.setdefault(group, []).append(outage)
    explained: dict[object, set[str]] = {}  # advice that refers to findings of a group that the outage explains
    for row in diagnoses:
        mine = of_group.get(str(row["group_id"])) if row["cluster"] == cluster else None
        about = str(row["rule_id"]), _ms(row["window_start_ms"]), _ms(row["window_end_ms"])
        if mine and rule.explains(mine, *about):
            explained.setdefault(row["group_id"], set()).add(refer_to(str(row["rule_id"]), str(row["title"])))
            row["severity"], row["advice"] = INFO, refer_to(rule.ID, rule.TITLE)
    for row in diagnoses:  # what these findings explained
        if row["cluster"] == cluster and row["advice"] in explained.get(row["group_id"], ()):
            row["advice"] = refer_to(rule.ID, rule.TITLE)
    for group, mine in sorted(of_group.items()):
        diagnoses += [_row(cluster, finding) for finding in rule.findings(mine, group)]


def _outages(pauses: list[_Row]) -> Iterator[tuple[str, list[Outage]]]:
    for cluster, rows in _by_cluster(pauses):
        still: dict[str, list[Stretch]] = {}
        lived: dict[str, Stretch] = {}
        for row in rows:
            group = str(row["group_id"])
            lived[group] = (_ms(row["first_ms"]), _ms(row["last_ms"]))
            if row["start_ms"] is not None:
                still.setdefault(group, []).append((_ms(row["start_ms"]), _ms(row["end_ms"])))
        yield cluster, outages(still, lived)


def _waves(expired: list[_Row], group_ends_ms: dict[tuple[str, object], int]) -> Iterator[tuple[str, list[Wave]]]:
    for cluster, rows in _by_cluster(expired):
        yield (
            cluster,
            waves([
                Expiry(_ms(row["last_ms"]), str(row["group_id"]), str(row["client"]), _host(row))
                for row in rows
                if not _may_be_stop(row, group_ends_ms[cluster, row["group_id"]])
            ]),
        )  # fmt: skip


def _group_ends_ms(gold: Place) -> dict[tuple[str, object], int]:
    """Return the end of the last session of each group, by cluster and group id."""
    sessions = read_table(gold, "member_sessions", ["cluster", "group_id", "last_ms"])
    if sessions is None:
        return {}
    ends = sessions.group_by(["cluster", "group_id"]).aggregate([("last_ms", "max")])
    return {(row["cluster"], row["group_id"]): row["last_ms_max"] for row in ends.to_pylist()}


def _may_be_stop(row: _Row, group_ended_ms: int) -> bool:
    """Return whether a session may have expired because its group was stopped: static members don't leave (KIP-345)."""
    return _is_static(row) and group_ended_ms - _ms(row["last_ms"]) <= TOGETHER_MS


def _is_static(row: _Row) -> bool:
    """Return whether the logical client is an instance id; otherwise it is a name with a host, or a unique name."""
    logical = str(row["logical_client"])
    if "@" in logical or logical == row["member_id"]:
        return False
    return logical != row["client"] or row["client"] == row["client_id"]


def _host(row: _Row) -> str:
    return str(row["logical_client"]).rpartition("@")[2] if "@" in str(row["logical_client"]) else ""


def _by_cluster(rows: list[_Row]) -> Iterator[tuple[str, list[_Row]]]:
    clusters: dict[str, list[_Row]] = {}
    for row in rows:
        clusters.setdefault(str(row["cluster"]), []).append(row)
    yield from clusters.items()


def _row(cluster: str, finding: Finding) -> _Row:
    return {"cluster": cluster, "group_id": finding.group, **diagnosis(finding)}


def _ms(value: object) -> int:
    assert isinstance(value, int)
    return value


def _rows(gold: Place, table: str, columns: list[str] | None = None, only: Any = None) -> list[_Row]:
    """Read rows with their cluster and group, in all or only the given columns."""
    rows = read_table(gold, table, None if columns is None else ["cluster", "group_id", *columns], only)
    return [] if rows is None else rows.to_pylist()
