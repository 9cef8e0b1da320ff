"""Generator of the README's picture of the report: `make pictures`."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from kohort.pipeline.report.results import findings
from kohort.pipeline.silver.parquet_files import Writer, publish
from kohort.pipeline.silver.read_sources import ingest
from kohort.pipeline.sources.found import find_sources
from tests.pipeline.gold_tables import write_gold, write_report
from tests.pipeline.local_groups import load_groups
from tests.support.chromium_tab import tab
from tests.support.kafka_recording import unpacked_recording

GROUP = "one-slow-member"
WIDTH, HEIGHT = 1_100, 1_560


def main() -> None:
    to = Path(sys.argv[1])
    with tempfile.TemporaryDirectory() as folder:
        silver, gold = Path(folder) / "silver", Path(folder) / "gold"
        sources, _ = find_sources([str(unpacked_recording(Path(folder)))])
        with Writer(silver, "0") as writer:
            ingest([source for source in sources if source.kind != "dump"], "", writer)
        publish(silver, "0", [writer.task])
        write_gold([load_groups(silver)[GROUP]], gold)
        page = write_report(gold, findings(gold), Path(folder) / "report.html")
        # The page of the one group, without what stands above it.
        only = "main>*{display:none}main>details:has(#g0){display:block}</style>"
        page.write_text(page.read_text(encoding="utf-8").replace("</style>", only, 1), encoding="utf-8")
        to.parent.mkdir(parents=True, exist_ok=True)
        with tab() as browser:
            browser.open(page.resolve().as_uri(), WIDTH, HEIGHT)
            browser.picture(to)


if __name__ == "__main__":
    main()
