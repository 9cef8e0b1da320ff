"""Predictions of requested or suggested changes, and the suggested changes that no other one beats."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from kohort.pipeline.history.group_analysis import GroupAnalysis
from kohort.whatif.answer import Answer, Variant, ask, crash_notice_s, variant_name
from kohort.whatif.deploy_order import ORDERS, deployments
from kohort.whatif.extract import extract
from kohort.whatif.played_settings import DEPLOY_ORDER, SettingError, Settings, change
from kohort.whatif.script import Script

# What may be suggested: changes, and the effort of each (1: a setting at the broker or one client setting)
SUGGESTED: tuple[tuple[dict[str, str], int], ...] = (
    ({"session.timeout.ms": "10000"}, 1),
    ({"session.timeout.ms": "6000", "heartbeat.interval.ms": "2000"}, 1),
    ({"heartbeat.interval.ms": "1000"}, 1),
    ({"max.poll.interval.ms": "60000"}, 1),
    ({"max.poll.records": "100"}, 1),
    ({"group.initial.rebalance.delay.ms": "0"}, 1),
    ({"group.instance.id": "static"}, 2),
    ({"group.instance.id": "static", "session.timeout.ms": "60000"}, 2),
    ({"partition.assignment.strategy": "cooperative-sticky"}, 3),
    ({"partition.assignment.strategy": "cooperative-sticky", "heartbeat.interval.ms": "1000"}, 3),
    ({"group.protocol": "consumer"}, 3),
    ({"group.protocol": "consumer", "consumer.heartbeat.interval.ms": "1000"}, 4),
    ({"group.protocol": "consumer", "group.instance.id": "static"}, 4),
)
CONSUMER_SUGGESTED: tuple[tuple[dict[str, str], int], ...] = (
    ({"consumer.heartbeat.interval.ms": "1000"}, 1),
    ({"consumer.session.timeout.ms": "10000", "consumer.heartbeat.interval.ms": "3000"}, 1),
    ({"max.poll.interval.ms": "60000"}, 1),
    ({"max.poll.records": "100"}, 1),
    ({"group.instance.id": "static"}, 2),
)


DEPLOY_EFFORT = 2  # a change of how the application is deployed


def suggestions(script: Script, settings: Settings) -> list[tuple[dict[str, str], int]]:
    """Return the changes to try for a group, with their effort; those that change nothing are left out."""
    orders = ORDERS if deployments(script) else ()
    fitting = [({DEPLOY_ORDER: order}, DEPLOY_EFFORT) for order in orders]
    for changes, effort in CONSUMER_SUGGESTED if settings.is_consumer else SUGGESTED:
        try:
            if change(settings, changes) != settings:
                fitting.append((changes, effort))
        except SettingError:
            continue  # the library has no consumer protocol
    return fitting


COSTS = ("stalled_partition_seconds", "group_stop_seconds", "records_read_again", "rebalances")


def pareto_front(answer: Answer, efforts: Mapping[str, int]) -> list[Variant]:
    """Return the variants that no other variant beats in all costs, the time to notice a crash, and effort."""

    def costs(variant: Variant) -> list[float]:
        figures = answer.predictions[variant.name].figures
        return [*(figures[name] for name in COSTS), crash_notice_s(variant.settings), efforts.get(variant.name, 0)]

    rows = [(variant, costs(variant)) for variant in answer.variants]
    return [
        variant
        for variant, own in rows
        if not any(other != own and all(a <= b for a, b in zip(other, own, strict=True)) for _, other in rows)
    ]


@dataclass(frozen=True)
class Prediction:
    """An answer with the effort of each suggested variant, and the variants that no other one beats."""

    answer: Answer
    efforts: dict[str, int]
    variant_names: set[str]

    def as_json(self) -> dict[str, Any]:
        row = self.answer.as_json()
        row["variants"] = [
            variant
            | {"effort": self.efforts.get(variant["name"], 0), "on_front": variant["name"] in self.variant_names}
            for variant in row["variants"]
        ]
        return row


def predict(analysis: GroupAnalysis, requested: Mapping[str, str], own: Mapping[str, str]) -> Prediction:
    """Predict the cost of the requested changes, or of suggested ones if `requested` is empty.

    Args:
        own: Settings that the group has, as far as the logs do not contain them.

    Raises:
        UnplayableError: The history does not contain what is needed.
        SettingError: A setting is invalid.
    """
    efforts: dict[str, int] = {}
    variants = [requested]
    if not requested:
        script, settings = extract(analysis)
        tried = suggestions(script, change(settings, own))
        efforts = {variant_name(changes): effort for changes, effort in tried}
        variants = [changes for changes, _ in tried]
    answer = ask(analysis, variants, own)
    best_variants = answer.variants if requested else pareto_front(answer, efforts)
    return Prediction(answer, efforts, {variant.name for variant in best_variants})
