"""Looks at all groups together, when the tables of each are there: what happened to most at once isn't their doing."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa

from kohort.pipeline.gold.gold_files import read_table, write_tables
from kohort.pipeline.gold.gold_schemas import SCHEMAS
from kohort.pipeline.gold.group_tables import diagnosis
from kohort.pipeline.places import Place
from kohort.pipeline.rules import r35_broker_stopped, r36_expired_together
from kohort.pipeline.rules.finding import INFO, Finding
from kohort.pipeline.rules.r35_broker_stopped import Outage, Stretch, outages
from kohort.pipeline.rules.r36_expired_together import Expiry, Wave, waves

_Row = dict[str, object]


def judge_outages(gold: Place) -> None:
    """Adds findings about outages to the diagnoses, and makes information of what they explain."""
    known = _rows(gold, "diagnoses")
    added = False
    for cluster, stopped in _outages(_rows(gold, "commit_pauses")):
        added |= bool(stopped)
        _explain(known, cluster, "The group stopped together with others", r35_broker_stopped.ID, stopped)
        groups = sorted({group for outage in stopped for group in outage.groups})
        known += [_row(cluster, each) for group in groups for each in r35_broker_stopped.findings(stopped, group)]
    for cluster, together in _waves(_rows(gold, "member_sessions")):
        added |= bool(together)
        _explain(known, cluster, "Sessions of several groups expired together", r36_expired_together.ID, together)
        groups = sorted({group for wave in together for group in wave.groups})
        known += [_row(cluster, each) for group in groups for each in r36_expired_together.findings(together, group)]
    if added:
        write_tables({"diagnoses": [pa.Table.from_pylist(known, SCHEMAS["diagnoses"])]}, gold)


def _explain(known: list[_Row], cluster: str, title: str, rule: str, found: list[Outage] | list[Wave]) -> None:
    for row in known:
        about = str(row["group_id"]), str(row["rule_id"]), _ms(row["window_start_ms"]), _ms(row["window_end_ms"])
        explained = any(
            r35_broker_stopped.explains([each], *about)
            if isinstance(each, Outage)
            else r36_expired_together.explains([each], *about)
            for each in found
        )
        if row["cluster"] == cluster and explained:
            row["severity"] = INFO
            row["advice"] = f"{rule} explains it: {title}."


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
