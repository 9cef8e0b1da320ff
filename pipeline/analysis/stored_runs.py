"""An analysis in an object store or HDFS, where a folder cannot be replaced atomically.

Each run writes its tables under its own name, `tables/run-…`. The files that refer to them are written last:
findings.json, report.html and the SQL views, each a single object that is replaced as a whole, and finally
`tables/current.json`, which names the run. So a reader gets either the previous or the new run, never a mixture. The
previous run stays for current readers.
"""

from __future__ import annotations

import json
import re
import uuid
from dataclasses import dataclass
from datetime import UTC, datetime

from kohort.pipeline.remote_path import StoredPlace, remove_folder

CURRENT = "current.json"
BEGUN = "begun.json"
_RUN = re.compile(r"^run-(\d{8}T\d{6})Z-[0-9a-f]{8}$")
_MOMENT = "%Y%m%dT%H%M%S"
LEFT_ALONE_S = 24 * 3600.0  # age from which an incomplete run is removed; before, another machine may be writing it


@dataclass(frozen=True, slots=True)
class StoredRun:
    """Tables of one run under `out`, the location given for the analysis."""

    out: StoredPlace
    name: str

    @classmethod
    def begin(cls, out: StoredPlace, now_s: float) -> StoredRun:
        """Create a run that no reader sees yet. Writes a first object, so that a store that rejects it fails early."""
        began = datetime.fromtimestamp(now_s, UTC)
        run = cls(out, f"run-{began.strftime(_MOMENT)}Z-{uuid.uuid4().hex[:8]}")
        (run.tables / BEGUN).write_bytes(_json({"begun": began.isoformat(timespec="seconds")}))
        return run

    @property
    def tables(self) -> StoredPlace:
        """Location of silver and gold of this run."""
        return self.out / "tables" / self.name

    def show(self) -> None:
        """Publish this run in `current.json`, with the previous one."""
        current_run = current(self.out)
        previous = current_run.get("run") if current_run else None
        (self.out / "tables" / CURRENT).write_bytes(_json({"run": self.name, "before": previous}))

    def clean(self, now_s: float) -> None:
        """Remove outdated runs and leftovers of crashed ones, after this run was published.

        Raises:
            OSError: The store forbids it.
        """
        (self.tables / BEGUN).unlink()
        kept = {self.name, *(current(self.out) or {}).values()}
        for path in (self.out / "tables").iterdir():
            match = _RUN.match(path.name)
            if not match or path.name in kept:
                continue
            began_s = datetime.strptime(match[1], _MOMENT).replace(tzinfo=UTC).timestamp()
            if not (path / BEGUN).exists() or now_s - began_s > LEFT_ALONE_S:
                remove_folder(path)


def current(out: StoredPlace) -> dict[str, str | None] | None:
    """Return the content of `current.json`, the names of the current and the previous run, or None without the file."""
    path = out / "tables" / CURRENT
    if not path.exists():
        return None
    content: dict[str, str | None] = json.loads(path.read_bytes())
    return content


def _json(content: dict[str, str | None]) -> bytes:
    return json.dumps(content, indent=1).encode() + b"\n"
