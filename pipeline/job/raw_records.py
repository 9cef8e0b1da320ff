"""Raw records of the offsets topic as Arrow tables with the columns of the data sources."""

from __future__ import annotations

import pyarrow as pa

from kohort.pipeline.silver.columns import integers
from kohort.pipeline.sources.chunk import TRANSACTION_NAMES, Chunk


def records_of(chunk: Chunk) -> pa.Table:
    spans, rows = chunk.spans, range(len(chunk))
    return pa.table(
        {
            "partition": integers(chunk.partition, pa.int32()),
            "offset": integers(chunk.offset, pa.int64()),
            "ts_ms": integers(chunk.timestamp, pa.int64()),
            "leader_epoch": integers(chunk.leader_epoch, pa.int32(), chunk.leader_epoch < 0),
            "txn": pa.array([TRANSACTION_NAMES[kind] for kind in chunk.transaction.tolist()], pa.string()),
            "key": pa.array([spans.key(n) for n in rows], pa.binary()),
            "value": pa.array([spans.value(n) for n in rows], pa.binary()),
        }
    )
