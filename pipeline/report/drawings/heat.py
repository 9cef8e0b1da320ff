"""Heat map of the time groups spent rebalancing."""

from __future__ import annotations

from collections import defaultdict

from kohort.pipeline.report.drawings.times import begin_of
from kohort.pipeline.report.gathering import RebalanceInShort
from kohort.pipeline.report.svg import LEFT, WIDTH, chart, label, link, moment, rect, text

_ROW = 16
_STEPS_MS = (60_000, 600_000, 3_600_000, 21_600_000)
_DAY_MS = 86_400_000
_CELLS = 48


def heat_map(groups: list[tuple[str, str]], rebalances: list[RebalanceInShort], start_ms: int, end_ms: int) -> str:
    """Draw groups, given as names and ids of their pages. Cells are a minute to a day, depending on the total time."""
    if not groups or end_ms <= start_ms:
        return ""
    step = next((s for s in _STEPS_MS if (end_ms - start_ms) / s <= _CELLS), _DAY_MS)
    first = start_ms // step
    count = int(end_ms // step - first + 1)
    busy, times = _busy(rebalances, first, step, {name for name, _ in groups})
    peak = max(busy.values(), default=0.0)
    if not peak:
        return ""
    width = (WIDTH - LEFT - 10) / count
    parts = []
    for n, (group, page) in enumerate(groups):
        parts.append(link(page, group, label(n * _ROW + 12, group)))
        parts.append(rect(LEFT, n * _ROW + 1, WIDTH - 10, _ROW - 2, "h0"))
        for cell in range(count):
            value = busy.get((group, cell), 0.0)
            if not value:
                continue
            x, time = LEFT + cell * width, moment((first + cell) * step, "%d %b %H:%M")
            title = f"{group}, {time}: {value:.1f} s in {times[(group, cell)]} rebalances"
            shade = f"h{min(5, 1 + int(4.999 * value / peak))}"
            parts.append(rect(x, n * _ROW + 1, x + width - 1, _ROW - 2, shade, title))
    for cell in range(0, count, max(1, count // 8)):
        time = moment((first + cell) * step, "%H:%M" if step < _DAY_MS // 4 else "%d %b")
        parts.append(text(LEFT + cell * width, len(groups) * _ROW + 14, time, "tick"))
    return chart(len(groups) * _ROW + 20, parts, "Seconds spent rebalancing, by group and time")


def _busy(
    rebalances: list[RebalanceInShort], first: int, step: int, group_names: set[str]
) -> tuple[dict[tuple[str, int], float], dict[tuple[str, int], int]]:
    busy: dict[tuple[str, int], float] = defaultdict(float)
    times: dict[tuple[str, int], int] = defaultdict(int)
    for r in rebalances:
        group = r["group_id"] or ""
        if not r["members_before"] or r["outcome"] == "open" or group not in group_names:
            continue
        begin, end = begin_of(r), int(r["stable_ms"])
        for cell in range(begin // step, end // step + 1):
            inside = min(end, (cell + 1) * step) - max(begin, cell * step)
            busy[(group, int(cell - first))] += inside / 1000
            times[(group, int(cell - first))] += 1
    return busy, times
