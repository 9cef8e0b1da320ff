"""Answers of `kohort mcp`, from the functions that `watch`, `ctl groups explain`, `analyze` and `what-if` call."""

from __future__ import annotations

import asyncio
import glob
import tempfile
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

import click

from kohort.base.address import AddressError
from kohort.base.control_url import is_url
from kohort.cli.analyze_options import window_of
from kohort.cli.watch.client import BrokerError, SpeaksHttpError
from kohort.cli.watch.controlled import Controlled
from kohort.cli.watch.looking import WatchedCluster
from kohort.cli.watch.snapshot import SeenGroup, Snapshot
from kohort.client.security import Security

ResultT = TypeVar("ResultT")

_SEVERITIES = ("info", "warning", "critical")


class Tools:
    """Read-only queries to one cluster and some sources, which are fixed when the command starts."""

    def __init__(self, sources: tuple[str, ...], bootstrap: str | None, security: Security, token: str = "") -> None:
        self._sources = sources or ((bootstrap,) if bootstrap is not None and not is_url(bootstrap) else ())
        self._bootstrap = bootstrap
        self._security = security
        self._token = token

    def list_groups(self, pattern: str) -> dict[str, Any]:
        snapshot = self._watch(pattern, lambda cluster: cluster.look(time.time()))
        return {"groups": list(map(_summary, snapshot.groups)), "unknown": list(snapshot.problems)}

    def explain_group(self, group_id: str) -> dict[str, Any]:
        async def ask(cluster: WatchedCluster | Controlled) -> tuple[Snapshot, list[str]]:
            snapshot = await cluster.look(time.time())
            return snapshot, await cluster.explain(snapshot, group_id)

        snapshot, lines = self._watch(glob.escape(group_id), ask)
        described = [_summary(group) | _details(group) for group in snapshot.groups if group.group_id == group_id]
        return {"explanation": lines, "group": described[0] if described else None, "unknown": list(snapshot.problems)}

    def find_problems(
        self, group: str, since: str | None, until: str | None, last: str | None, severity: str, limit: int
    ) -> dict[str, Any]:
        if severity not in _SEVERITIES:
            raise click.UsageError(f"unknown severity {severity!r}; expected one of {', '.join(_SEVERITIES)}")
        with self._analyzed(group, since, until, last) as (outcome, _):
            findings = [
                finding
                for finding in outcome.findings
                if _SEVERITIES.index(finding["severity"]) >= _SEVERITIES.index(severity)
            ]
            missing = [
                {"source": item.source, "text": item.text, "groups": sorted(item.groups)} for item in outcome.missing()
            ]
            remarks = [{"rule": row["rule"], "where": row["keys"], "text": row["detail"]} for row in outcome.issues]
            return {
                "groups": len({row["group_id"] for row in outcome.health}),
                "findings": findings[: max(limit, 0)],
                "more_findings": max(len(findings) - max(limit, 0), 0),
                "unknown": missing,
                "remarks": remarks,
            }

    def show_member_history(
        self, group: str, member: str, since: str | None, until: str | None, last: str | None
    ) -> dict[str, Any]:
        from kohort.pipeline.gold.gold_rows import MemberSessionRow, RebalanceMemberRow, RebalanceRow
        from kohort.pipeline.report.results import read_gold

        with self._analyzed(glob.escape(group), since, until, last) as (outcome, gold):
            if not any(row["group_id"] == group for row in outcome.health):
                raise click.ClickException(f"group {group} is not in these sources")
            sessions = [row for row in read_gold(gold, MemberSessionRow) if member in _names(row)]
            if not sessions:
                raise click.ClickException(f"group {group} has no member {member} in these sources")
            member_ids = {row["member_id"] for row in sessions}
            rebalances: dict[int, Any] = {row["rebalance_no"]: row for row in read_gold(gold, RebalanceRow)}
            parts = [row for row in read_gold(gold, RebalanceMemberRow) if row["member_id"] in member_ids]
            return {
                "sessions": [_without_keys(row) for row in sessions],
                "rebalances": [
                    _without_keys(part) | {name: rebalances[part["rebalance_no"]][name] for name in _OF_REBALANCE}
                    for part in parts
                    if part["rebalance_no"] in rebalances
                ],
            }

    def predict_what_if(
        self,
        group: str,
        settings: dict[str, str],
        current_settings: dict[str, str],
        since: str | None,
        until: str | None,
        last: str | None,
    ) -> dict[str, Any]:
        from kohort.cli.what_if import predict
        from kohort.pipeline.analysis.worker_processes import WorkerProcesses

        window = window_of(since, until, last, (glob.escape(group),))
        with WorkerProcesses() as workers:
            outcome = predict(self._needed_sources(), self._security, window, settings, current_settings, workers)
        return outcome.answers[0].as_json()

    def _watch(self, pattern: str, ask: Callable[[WatchedCluster | Controlled], Awaitable[ResultT]]) -> ResultT:
        """Query the cluster, whichever of a bootstrap and a control address was given."""
        if self._bootstrap is None:
            raise click.ClickException("no cluster is known; start kohort mcp with --bootstrap")
        controlled = Controlled(self._bootstrap, pattern, self._token)

        async def query(bootstrap: str) -> ResultT:
            if is_url(bootstrap):
                return await ask(controlled)
            cluster = WatchedCluster(bootstrap, pattern, self._security)
            try:
                return await ask(cluster)
            except SpeaksHttpError:
                return await ask(controlled)
            finally:
                cluster.close()

        try:
            return asyncio.run(query(self._bootstrap))
        except (AddressError, BrokerError) as error:
            raise click.ClickException(str(error)) from None

    @contextmanager
    def _analyzed(
        self, group: str, since: str | None, until: str | None, last: str | None
    ) -> Iterator[tuple[Any, Path]]:
        """Provide the outcome of an analysis and its gold tables."""
        from kohort.pipeline.analysis.analysis_run import analyse
        from kohort.pipeline.analysis.local_engine import LocalEngine
        from kohort.pipeline.silver.read_sources import find_expanded

        window = window_of(since, until, last, () if group == "*" else (group,))
        inputs, issues = find_expanded(self._needed_sources(), self._security)
        if not inputs:
            raise click.ClickException("; ".join(f"{issue.keys}: {issue.detail}" for issue in issues))
        with tempfile.TemporaryDirectory() as folder:
            out = Path(folder)
            yield analyse(LocalEngine(), inputs, issues, out, lambda _: None, window=window), out / "tables" / "gold"

    def _needed_sources(self) -> tuple[str, ...]:
        if not self._sources:
            raise click.ClickException("no source is known; start kohort mcp with a SOURCE, as for kohort analyze")
        return self._sources


_OF_REBALANCE = ("start_ms", "stable_ms", "cause", "cause_confidence", "outcome", "trigger_client", "laggard_client")


def _summary(group: SeenGroup) -> dict[str, Any]:
    return {
        "group": group.group_id,
        "type": group.type,
        "state": group.state,
        group.about_type.version: group.version,
        "members": len(group.members) if group.is_complete else None,
        "lag": group.lag,
    }


def _details(group: SeenGroup) -> dict[str, Any]:
    names = group.names
    return {
        "assignor": group.protocol or None,
        "lag_by_partition": [
            {"topic": topic, "partition": partition, "lag": lag}
            for (topic, partition), lag in sorted(group.lags.items())
        ],
        "unowned_partitions": [{"topic": topic, "partition": partition} for topic, partition in group.unowned],
        "members": [
            {
                "name": names[member.member_id],
                "member_id": member.member_id,
                "instance_id": member.instance_id,
                "client_id": member.client_id,
                "host": member.client_host,
                "partitions": {topic: list(numbers) for topic, numbers in member.partitions.items()},
                "waits_for": member.waits_for or None,
            }
            for member in group.members
        ],
        "last_rebalances": list(map(str, group.rebalances)),
    }


def _names(row: Any) -> tuple[str, ...]:
    return row["member_id"], row["client_id"], row["logical_client"], row["client"]


def _without_keys(row: Any) -> dict[str, Any]:
    return {name: value for name, value in row.items() if name not in ("cluster", "group_id", "day")}
