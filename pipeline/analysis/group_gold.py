"""One group on its way to gold: what both engines call for each."""

from __future__ import annotations

from collections.abc import Iterable

import pyarrow as pa

from kohort.pipeline.analysis.packed_commits import unpack
from kohort.pipeline.gold.group_tables import analyse_group, as_tables
from kohort.pipeline.history.silver_input import GroupRows, group_input


def gold_of_group(
    cluster: str | None, group_id: str, payloads: Iterable[bytes], rows: GroupRows
) -> dict[str, pa.Table]:
    """The gold tables of one group. payloads: its packed commits; rows: everything else that is known of it."""
    group = group_input(group_id, cluster or "", unpack(payloads), rows)
    return as_tables(group, analyse_group(group))
