"""Following analyses groups with news; what was found of the others stays, and is looked at again in time."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

from kohort.pipeline.job.kept_groups import LOOKED_ON_S, KeptGroups, groups_in
from kohort.pipeline.silver.parquet_files import Writer, publish
from kohort.pipeline.silver.silver_schemas import table_of
from kohort.pipeline.sources.source_rows import GroupEvent

GROUPS = tuple(f"group-{number}" for number in range(10))
SILVER = Path("silver")


class Story:
    """An analysis that counts, and a clock that the story moves."""

    def __init__(self) -> None:
        self.now_s, self.asked, self.fails = 1_000.0, list[list[str] | None](), False
        self.kept = KeptGroups(self._analyse, lambda: self.now_s)

    def _analyse(self, _: Path, only: list[str] | None) -> dict[str, dict[str, pa.Table]]:
        self.asked.append(only)
        if self.fails:
            raise RuntimeError("a worker died")
        return {
            name: {"rebalances": pa.table({"group_id": [name], "made": [len(self.asked)]})}
            for name in (GROUPS if only is None else only)
        }

    def report(self, all_groups: bool = False) -> dict[str, int]:
        """Return, by group, the report that its rows come from."""
        tables = self.kept.tables(SILVER, all_groups=all_groups)["rebalances"]
        return {row["group_id"]: row["made"] for table in tables for row in table.to_pylist()}


def test_later_reports_cover_changed_groups() -> None:
    story = Story()
    assert story.report() == dict.fromkeys(GROUPS, 1)
    story.kept.news(["group-3", "group-7"])
    assert story.report() == dict.fromkeys(GROUPS, 1) | {"group-3": 2, "group-7": 2}
    assert story.asked == [None, ["group-3", "group-7"]]


def test_silent_group_is_checked_again() -> None:
    story = Story()
    story.report()
    story.kept.news(["group-3"])
    for _ in range(3):
        story.now_s += 60
        story.report()
    assert story.asked[1:] == [["group-3"]] * 3
    story.now_s += 300
    story.report()
    story.now_s += LOOKED_ON_S - 400
    story.report()
    assert story.asked[-1] is None, "the others had not been looked at for so long"


def test_many_groups_with_news_are_all() -> None:
    story = Story()
    story.report()
    story.kept.news(GROUPS[:6])
    assert story.report() == dict.fromkeys(GROUPS, 2)


def test_nothing_new_asks_nobody() -> None:
    story = Story()
    assert story.report() == story.report()
    assert story.asked == [None]


def test_last_report_covers_all_groups() -> None:
    story = Story()
    story.report()
    assert story.report(all_groups=True) == dict.fromkeys(GROUPS, 2)


def test_failed_report_keeps_pending_groups() -> None:
    story = Story()
    story.report()
    story.kept.news(["group-3"])
    story.fails = True
    with pytest.raises(RuntimeError):
        story.report()
    story.fails = False
    assert story.report()["group-3"] == 3


def test_new_group_is_added() -> None:
    story = Story()
    story.report()
    story.kept.news(["new"])
    assert story.report()["new"] == 2


def test_batches_select_their_groups(tmp_path: Path) -> None:
    for batch, group in (("3", "orders"), ("4", "billing"), ("lines-2", "shipping"), ("rolled-0-2", "old")):
        with Writer(tmp_path, batch) as writer:
            rows = [GroupEvent(ts=1, kind="epoch_bumped", group_id=name) for name in (group, None)]
            writer.add("events", table_of("events", rows, ""))
        publish(tmp_path, batch, [writer.task])
    assert groups_in(tmp_path, lambda batch: batch in ("4", "lines-2")) == {"billing", "shipping"}
