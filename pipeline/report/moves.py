"""Matrix of old and new owners, for the rebalances with the most moved partitions."""

from __future__ import annotations

from collections import Counter

from kohort.pipeline.gold.gold_rows import PartitionMoveRow, RebalanceRow
from kohort.pipeline.report.svg import esc, left_out
from kohort.pipeline.rules.finding import several

_REBALANCES = 3
_MOST_OWNERS = 24


def matrices(moves: list[PartitionMoveRow], rebalances: list[RebalanceRow]) -> str:
    moving = sorted((r for r in rebalances if r["moved"]), key=lambda r: -(r["moved"] or 0))[:_REBALANCES]
    return "".join(_matrix(r, [m for m in moves if m["rebalance_no"] == r["rebalance_no"]]) for r in moving)


def _matrix(r: RebalanceRow, moves: list[PartitionMoveRow]) -> str:
    cells = Counter((m["from_client"] or "no owner", m["to_client"] or "no owner") for m in moves)
    olds, news = (Counter[str](), Counter[str]())
    for (old, new), count in cells.items():
        olds[old] += count
        news[new] += count
    rows, columns = (sorted(name for name, _ in names.most_common(_MOST_OWNERS)) for names in (olds, news))
    most = max(cells.values(), default=1)
    head = "".join(f'<th scope="col">{esc(new)}</th>' for new in columns)
    body = "".join(
        f'<tr><th scope="row">{esc(old)}</th>'
        + "".join(_cell(old, new, cells[(old, new)], most) for new in columns)
        + "</tr>"
        for old in rows
    )
    moved, excess = r["moved"] or 0, r["excess_moves"]
    sticky = f"{r['stickiness']:.0%}" if r["stickiness"] is not None else "not known"
    enough = f", {moved - excess} were necessary" if excess is not None else ""
    rest = left_out(len(rows), len(olds), "owners") or left_out(len(columns), len(news), "owners")
    return (
        f"<details><summary>Moves in rebalance {r['rebalance_no']}: {several(moved, 'partition')}{enough}; "
        f'stickiness {sticky}</summary><div class="in scroll" tabindex="0"><table class="matrix"><caption>Partitions '
        f"by old owner (rows) and new owner (columns); unmoved ones are framed</caption>"
        f"<thead><tr><th>from \\ to</th>{head}</tr></thead><tbody>{body}</tbody></table>{rest}</div></details>"
    )


def _cell(old: str, new: str, count: int, most: int) -> str:
    if not count:
        return '<td class="n"></td>'
    if old == new:
        return f'<td class="n stayed">{count}</td>'
    return f'<td class="n heat{min(4, 1 + 3 * count // most)}">{count}</td>'
