"""A share group with a real client, on kohort, as the analysis sees it over the wire."""

from __future__ import annotations

from pathlib import Path

import pytest

from kohort.pipeline.history.group_analysis import analyse
from kohort.pipeline.history.share_history import ShareHistory
from kohort.pipeline.rules.diagnose import diagnose
from kohort.pipeline.silver.parquet_files import Writer, publish
from kohort.pipeline.silver.read_sources import expand, ingest, sample
from kohort.pipeline.sources.found import WIRE, Source
from tests.clients.serving import serving
from tests.clients.sharing import CONFLUENT, Sharing
from tests.pipeline.local_groups import load_groups

POISON = (0, 2)
LIMIT = 3


@pytest.mark.clients
@pytest.mark.timeout(300)
def test_share_group_is_recorded(tmp_path: Path) -> None:
    with serving(nodes=2) as bootstrap:
        queue = Sharing(bootstrap, partitions=2, share_delivery_count_limit=f"{LIMIT}")
        try:
            sent = queue.produce(6)
            ada = queue.join("ada", CONFLUENT, lambda place, _: "release" if place == POISON else "accept")
            queue.until(lambda: queue.counts(POISON) == [1, 2, 3] and queue.got >= sent, "the limit is reached")
            ada.stop()
            group = seen(bootstrap, tmp_path, queue)
        finally:
            queue.close()
    assert [(stay.name, stay.end_ms is not None) for stay in group.stays] == [("ada", True)]
    assert [(each.topic_partition, each.first, each.count) for each in group.given_up] == [((queue.topic, 0), 2, LIMIT)]
    assert {place: lag.lag[-1] for place, lag in group.lags.items()} == {(queue.topic, 0): 0, (queue.topic, 1): 0}


def seen(bootstrap: str, folder: Path, queue: Sharing) -> ShareHistory:
    """Return the group as recorded after its member has left."""
    sources, issues = expand([Source(WIRE, bootstrap)])
    assert issues == []
    with Writer(folder, "0") as writer:
        ingest(sources, "", writer)
        sample(sources, "", writer)
    publish(folder, "0", [writer.task])
    analysis = analyse(load_groups(folder)[queue.group])
    assert "R47" in {finding.rule for finding in diagnose(analysis)}
    assert {(lag.members, lag.assigned) for lag in analysis.group.share_lags} == {(0, 0)}
    assert analysis.share is not None
    return analysis.share
