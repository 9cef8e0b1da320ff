"""Looks at all groups together, when the tables of each are there: what happened to most at once isn't their doing."""

from __future__ import annotations

import pyarrow as pa

from kohort.pipeline.gold.gold_files import read_table, write_tables
from kohort.pipeline.gold.gold_schemas import SCHEMAS
from kohort.pipeline.gold.group_tables import diagnosis
from kohort.pipeline.places import Place
from kohort.pipeline.rules.finding import INFO, Finding
from kohort.pipeline.rules.together import ID, Stretch, explains, findings, outages


def judge_outages(gold: Place) -> None:
    """Adds findings about outages to the diagnoses, and makes information of what they explain."""
    pauses = _rows(gold, "commit_pauses")
    by_cluster: dict[str, list[dict[str, object]]] = {}
    for row in pauses:
        by_cluster.setdefault(str(row["cluster"]), []).append(row)
    known = _rows(gold, "diagnoses")
    added = False
    for cluster, rows in by_cluster.items():
        still: dict[str, list[Stretch]] = {}
        lived: dict[str, Stretch] = {}
        for row in rows:
            group = str(row["group_id"])
            lived[group] = (_ms(row["first_ms"]), _ms(row["last_ms"]))
            if row["start_ms"] is not None:
                still.setdefault(group, []).append((_ms(row["start_ms"]), _ms(row["end_ms"])))
        found = outages(still, lived)
        if not found:
            continue
        added = True
        for row in known:
            window = (_ms(row["window_start_ms"]), _ms(row["window_end_ms"]))
            if row["cluster"] == cluster and explains(found, str(row["group_id"]), str(row["rule_id"]), *window):
                row["severity"] = INFO
                row["advice"] = f"{ID} explains it: The group stopped together with others."
        known += [_row(cluster, finding) for group in lived for finding in findings(found, group)]
    if added:
        write_tables({"diagnoses": [pa.Table.from_pylist(known, SCHEMAS["diagnoses"])]}, gold)


def _row(cluster: str, finding: Finding) -> dict[str, object]:
    return {"cluster": cluster, "group_id": finding.group, **diagnosis(finding)}


def _ms(value: object) -> int:
    assert isinstance(value, int)
    return value


def _rows(gold: Place, table: str) -> list[dict[str, object]]:
    found = read_table(gold, table)
    return [] if found is None else found.to_pylist()
