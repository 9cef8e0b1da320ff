"""Output of `kohort follow`: alerts on the terminal, to the webhook and as metrics, and the news of each report."""

from __future__ import annotations

from collections.abc import Callable, Collection
from pathlib import Path
from typing import TYPE_CHECKING

from kohort.pipeline.job.news import NewFindings
from kohort.pipeline.job.telling import alert_line, now_ms
from kohort.pipeline.live.group_figures import figures_of
from kohort.pipeline.live.webhook import Message

if TYPE_CHECKING:
    from kohort.pipeline.job.following_files import FollowedFiles
    from kohort.pipeline.live.follow_metrics import FollowMetrics
    from kohort.pipeline.live.open_rebalances import OpenRebalances
    from kohort.pipeline.report.results import FindingRow


class FollowOutput:
    """Destinations of alerts and reports, the same for both engines."""

    def __init__(
        self, print_line: Callable[[str], None], notify: Callable[[Message], None], metrics: FollowMetrics
    ) -> None:
        """Create the output.

        Args:
            print_line: Prints alerts, and warnings that are new in a report.
            notify: Receives the same alerts as `print_line`.
        """
        self._print_line, self._notify, self.metrics = print_line, notify, metrics
        self._news = NewFindings()

    def send(self, message: Message) -> None:
        """Send an alert to all destinations."""
        self._print_line(alert_line(message))
        self._notify(message)
        self.metrics.alert(message)

    def measure(self, rebalances: OpenRebalances, files: FollowedFiles | None) -> None:
        """Update the metrics of what both engines follow in addition to the log."""
        self.metrics.open_rebalances(rebalances.reported)
        self.metrics.file_events(files.events if files is not None else 0)

    def report(
        self,
        findings: Collection[FindingRow],
        gold: Path,
        took_s: float,
        rebalances: OpenRebalances,
        on_alert: Callable[[Message], None],
    ) -> None:
        """Update the metrics of reports.

        Args:
            rebalances: Rebalances that are open, which a report does not show.
            on_alert: Receives warnings that are new since the last report; it passes them to `send` in order of time.
        """
        self.metrics.report(((row["group"], row["rule"], row["severity"]) for row in findings), took_s)
        self.metrics.groups(figures_of(gold))
        for message in self._news.among(findings, now_ms(), rebalances.is_in_rebalance):
            on_alert(message)
