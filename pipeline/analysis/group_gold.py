"""Gold tables of one group, for both engines."""

from __future__ import annotations

from collections.abc import Iterable

import pyarrow as pa

from kohort.pipeline.analysis.packed_commits import unpack
from kohort.pipeline.gold.group_tables import Rows, analyse_group, as_tables
from kohort.pipeline.history.inputs import GroupInput
from kohort.pipeline.history.silver_input import GroupRows, group_input


def rows_of_group(
    cluster: str | None, group_id: str, commits: Iterable[pa.Table], rows: GroupRows
) -> tuple[GroupInput, dict[str, Rows]]:
    """Return a group's input and its rows of the gold tables.

    Args:
        commits: Its commits in any number of chunks.
        rows: All its other rows.
    """
    group = group_input(group_id, cluster or "", commits, rows)
    return group, analyse_group(group)


def gold_of_group(
    cluster: str | None, group_id: str, payloads: Iterable[bytes], rows: GroupRows
) -> dict[str, pa.Table]:
    """Return the gold tables of one group.

    Args:
        payloads: Its packed commits.
        rows: All its other rows.
    """
    return as_tables(*rows_of_group(cluster, group_id, unpack(payloads), rows))
