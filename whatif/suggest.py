"""Changes of settings to suggest for a group, with the effort of each."""

from __future__ import annotations

from kohort.whatif.deploy_order import ORDERS, deployments
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
