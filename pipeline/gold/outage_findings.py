"""Looks at all groups together, when the tables of each are there: what happened to most at once isn't their doing."""

from __future__ import annotations

from collections.abc import Iterator
from types import ModuleType

import pyarrow as pa

from kohort.pipeline.gold.gold_files import read_table, write_tables
from kohort.pipeline.gold.gold_schemas import SCHEMAS
from kohort.pipeline.gold.group_tables import diagnosis
from kohort.pipeline.remote_path import Place
from kohort.pipeline.rules import r35_broker_stopped, r36_expired_together
from kohort.pipeline.rules.finding import INFO, Finding
from kohort.pipeline.rules.r35_broker_stopped import Outage, Stretch, outages
from kohort.pipeline.rules.r36_expired_together import Expiry, Wave, waves

_Row = dict[str, object]


def judge_outages(gold: Place) -> None:
    """Adds findings about outages to the diagnoses, and makes information of what they explain."""
    known = _rows(gold, "diagnoses")
    before = len(known)
    for cluster, stopped in _outages(_rows(gold, "commit_pauses")):
        _judge(known, cluster, r35_broker_stopped, stopped)
    for cluster, together in _waves(_rows(gold, "member_sessions")):
        _judge(known, cluster, r36_expired_together, together)
    if len(known) > before:
        write_tables({"diagnoses": [pa.Table.from_pylist(known, SCHEMAS["diagnoses"])]}, gold)


def _judge(known: list[_Row], cluster: str, rule: ModuleType, found: list[Outage] | list[Wave]) -> None:
    for row in known:
        about = str(row["group_id"]), str(row["rule_id"]), _ms(row["window_start_ms"]), _ms(row["window_end_ms"])
        if row["cluster"] == cluster and rule.explains(found, *about):
            row["severity"] = INFO
            row["advice"] = f"{rule.ID} explains it: {rule.TITLE}."
    groups = sorted({group for each in found for group in each.groups})
    known += [_row(cluster, finding) for group in groups for finding in rule.findings(found, group)]


def _outages(pauses: list[_Row]) -> Iterator[tuple[str, list[Outage]]]:
    """By cluster."""
    for cluster, rows in _by_cluster(pauses):
        still: dict[str, list[Stretch]] = {}
        lived: dict[str, Stretch] = {}
        for row in rows:
            group = str(row["group_id"])
            lived[group] = (_ms(row["first_ms"]), _ms(row["last_ms"]))
            if row["start_ms"] is not None:
                still.setdefault(group, []).append((_ms(row["start_ms"]), _ms(row["end_ms"])))
        yield cluster, outages(still, lived)


def _waves(sessions: list[_Row]) -> Iterator[tuple[str, list[Wave]]]:
    """By cluster."""
    for cluster, rows in _by_cluster(sessions):
        yield (
            cluster,
            waves([
                Expiry(_ms(row["last_ms"]), str(row["group_id"]), str(row["client"]), _host(row))
                for row in rows
                if row["end_kind"] == "session_expired"
            ]),
        )  # fmt: skip


def _host(row: _Row) -> str:
    return str(row["logical_client"]).rpartition("@")[2] if "@" in str(row["logical_client"]) else ""


def _by_cluster(rows: list[_Row]) -> Iterator[tuple[str, list[_Row]]]:
    found: dict[str, list[_Row]] = {}
    for row in rows:
        found.setdefault(str(row["cluster"]), []).append(row)
    yield from found.items()


def _row(cluster: str, finding: Finding) -> _Row:
    return {"cluster": cluster, "group_id": finding.group, **diagnosis(finding)}


def _ms(value: object) -> int:
    assert isinstance(value, int)
    return value


def _rows(gold: Place, table: str) -> list[_Row]:
    found = read_table(gold, table)
    return [] if found is None else found.to_pylist()
