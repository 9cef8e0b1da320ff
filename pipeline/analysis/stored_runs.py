"""An analysis in an object store or HDFS, where no folder takes the place of another at once.

Each run writes its tables under a name of its own, `tables/run-…`. What leads to them is written last: findings.json,
report.html and the SQL views, each a single object that is replaced whole, and at the very end `tables/current.json`,
which names the run. So a reader finds the run before or this one, and of neither a half. The run before stays for those
who are reading it.
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
LEFT_ALONE_S = 24 * 3600.0
"""A run that didn't get to its end is removed after so long: until then another machine may be writing it."""


@dataclass(frozen=True, slots=True)
class StoredRun:
    """The tables of one run. out: the place that was named for the analysis."""

    out: StoredPlace
    name: str

    @classmethod
    def begin(cls, out: StoredPlace, now_s: float) -> StoredRun:
        """A run that nobody sees yet. Writes a first object: a store that refuses is better found out now."""
        began = datetime.fromtimestamp(now_s, UTC)
        run = cls(out, f"run-{began.strftime(_MOMENT)}Z-{uuid.uuid4().hex[:8]}")
        (run.tables / BEGUN).write_bytes(_json({"begun": began.isoformat(timespec="seconds")}))
        return run

    @property
    def tables(self) -> StoredPlace:
        """Where silver and gold of this run lie."""
        return self.out / "tables" / self.name

    def show(self) -> None:
        """Makes this run the one that `current.json` names, and remembers the one before."""
        known = current(self.out)
        before = known.get("run") if known else None
        (self.out / "tables" / CURRENT).write_bytes(_json({"run": self.name, "before": before}))

    def clean(self, now_s: float) -> None:
        """Removes runs that are outdated, and what runs that died left behind, when this one is shown.

        Raises OSError where a store lets nobody remove anything.
        """
        (self.tables / BEGUN).unlink()
        kept = {self.name, *(current(self.out) or {}).values()}
        for place in (self.out / "tables").iterdir():
            found = _RUN.match(place.name)
            if not found or place.name in kept:
                continue
            began_s = datetime.strptime(found[1], _MOMENT).replace(tzinfo=UTC).timestamp()
            if not (place / BEGUN).exists() or now_s - began_s > LEFT_ALONE_S:
                remove_folder(place)


def current(out: StoredPlace) -> dict[str, str | None] | None:
    """What `current.json` says: the name of the run to be read, and of the one before; None: there is none yet."""
    place = out / "tables" / CURRENT
    if not place.exists():
        return None
    found: dict[str, str | None] = json.loads(place.read_bytes())
    return found


def _json(content: dict[str, str | None]) -> bytes:
    return json.dumps(content, indent=1).encode() + b"\n"
