"""Settings of a group and its members that a prediction can change, under the names of the clients and the broker."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields, replace
from difflib import get_close_matches
from typing import Any

from kohort.whatif.clients.assignors import ASSIGNORS
from kohort.whatif.clients.client_libraries import LIBRARIES

STATIC = "static"
DEPLOY_ORDER = "deploy.order"  # of the script, see `deploy_order.py`
JAVA_ASSIGNORS = {
    "rangeassignor": "range",
    "roundrobinassignor": "roundrobin",
    "stickyassignor": "sticky",
    "cooperativestickyassignor": "cooperative-sticky",
}


class SettingError(ValueError):
    """A setting that does not exist, has a wrong value, or contradicts another one."""


@dataclass(frozen=True, kw_only=True)
class Settings:
    """Settings of all members of a group, and those of the broker that matter to it."""

    library: str = "java"
    protocol: str = "classic"  # group.protocol
    assignor: str = "range"  # its name in a JoinGroup
    session_ms: int = 45_000
    heartbeat_ms: int = 3_000
    max_poll_ms: int = 300_000
    max_poll_records: int = 500
    metadata_ms: int = 300_000
    static: bool = False
    auto_commit_ms: int | None = None  # None: the application commits after every batch
    initial_delay_ms: int = 3_000  # group.initial.rebalance.delay.ms
    assignment_interval_ms: int = 1_000  # group.consumer.assignment.interval.ms
    assignor_ms: int = 0  # time that the leader's assignor takes
    assignor_user_data: bool = False  # a custom assignor, whose assignments may contain user data
    restarted_with: Settings | None = None  # settings of members that are started after the beginning

    @property
    def is_consumer(self) -> bool:
        return self.protocol == "consumer"

    @property
    def is_cooperative(self) -> bool:
        return not self.is_consumer and self.assignor == "cooperative-sticky"

    @property
    def crash_notice_s(self) -> float:
        """Usual time until the coordinator notices a crash: the session less half a heartbeat interval."""
        return round((self.session_ms - self.heartbeat_ms / 2) / 1000, 1)


# Names of settings, as clients and brokers have them, and the field of each
NAMES = {
    "group.protocol": "protocol",
    "partition.assignment.strategy": "assignor",
    "session.timeout.ms": "session_ms",
    "consumer.session.timeout.ms": "session_ms",
    "group.consumer.session.timeout.ms": "session_ms",
    "heartbeat.interval.ms": "heartbeat_ms",
    "consumer.heartbeat.interval.ms": "heartbeat_ms",
    "group.consumer.heartbeat.interval.ms": "heartbeat_ms",
    "max.poll.interval.ms": "max_poll_ms",
    "max.poll.records": "max_poll_records",
    "metadata.max.age.ms": "metadata_ms",
    "topic.metadata.refresh.interval.ms": "metadata_ms",
    "group.instance.id": "static",
    "enable.auto.commit": "auto_commit_ms",
    "auto.commit.interval.ms": "auto_commit_ms",
    "group.initial.rebalance.delay.ms": "initial_delay_ms",
    "group.consumer.assignment.interval.ms": "assignment_interval_ms",
    "consumer.assignment.interval.ms": "assignment_interval_ms",
    "client.library": "library",
}
CLASSIC_ONLY = ("partition.assignment.strategy", "session.timeout.ms", "heartbeat.interval.ms",
                "group.initial.rebalance.delay.ms")  # fmt: skip
CONSUMER_ONLY = tuple(name for name in NAMES if name.startswith(("consumer.", "group.consumer.")))


def assignor_name(value: str) -> str:
    """Return the protocol name of an assignor, given that or its Java class."""
    last = value.split(",")[0].strip().replace("$", ".").rsplit(".", 1)[-1].lower()
    return JAVA_ASSIGNORS.get(last, last)


def check_names(names: Iterable[str]) -> None:
    """Raise SettingError if a name is not that of a setting, or DEPLOY_ORDER."""
    for name in names:
        if name not in NAMES and name != DEPLOY_ORDER:
            close = get_close_matches(name, [*NAMES, DEPLOY_ORDER], 1)
            raise SettingError(f"unknown setting {name!r}" + (f"; did you mean {close[0]!r}?" if close else ""))


def change(settings: Settings, changes: Mapping[str, str]) -> Settings:
    """Return the settings with changes applied, for example {"session.timeout.ms": "10000"}.

    Raises:
        SettingError: A setting does not exist, does not apply to the group's type, or contradicts another one.
    """
    check_names(changes)
    if DEPLOY_ORDER in changes:
        raise SettingError(f"{DEPLOY_ORDER} is not a setting of the group; it can only be changed")
    values: dict[str, Any] = {}
    for name, text in changes.items():
        field = NAMES[name]
        value = _value(name, field, text)
        if field in values and values[field] != value:
            raise SettingError(f"{name}={text} contradicts another --set of the same setting")
        values[field] = value
    if "protocol" in values and values["protocol"] != settings.protocol:
        values = _defaults(values["protocol"]) | values
    changed = replace(settings, **values)
    _check(changed, changes)
    return changed


def _defaults(protocol: str) -> dict[str, Any]:
    if protocol == "consumer":
        return {"session_ms": 45_000, "heartbeat_ms": 5_000, "assignor_ms": 0, "assignor_user_data": False}
    return {"session_ms": 45_000, "heartbeat_ms": 3_000, "assignor": "range"}


def _value(name: str, field: str, text: str) -> Any:
    if field == "static":
        if text not in (STATIC, "", "none", "dynamic"):
            raise SettingError(f"{name} must be static or none, got {text!r}; each member gets its own id")
        return text == STATIC
    if field == "protocol":
        if text not in ("classic", "consumer"):
            raise SettingError(f"{name} must be classic or consumer, got {text!r}")
        return text
    if field == "assignor":
        assignor = assignor_name(text)
        if assignor not in ASSIGNORS:
            raise SettingError(f"{name} must be one of {', '.join(ASSIGNORS)}, got {text!r}")
        return assignor
    if field == "library":
        if text not in LIBRARIES:
            raise SettingError(f"{name} must be one of {', '.join(LIBRARIES)}, got {text!r}")
        return text
    if name == "enable.auto.commit":
        if text not in ("true", "false"):
            raise SettingError(f"{name} must be true or false, got {text!r}")
        return 5_000 if text == "true" else None
    try:
        number = int(text)
    except ValueError:
        number = -1
    if number < (0 if "delay" in name or "interval.ms" in name else 1):
        raise SettingError(f"{name} must be a positive number, got {text!r}")
    return number


def _check(settings: Settings, changes: Mapping[str, str]) -> None:
    for name in changes:
        if settings.is_consumer and name in CLASSIC_ONLY:
            raise SettingError(f"{name} does not apply to the consumer protocol; set it for the group at the broker")
        if not settings.is_consumer and name in CONSUMER_ONLY:
            raise SettingError(f"{name} does not apply to the classic protocol; set group.protocol=consumer, too")
    if settings.heartbeat_ms >= settings.session_ms:
        raise SettingError(
            f"heartbeat interval of {settings.heartbeat_ms} ms contradicts a session timeout of "
            f"{settings.session_ms} ms; it must be shorter"
        )
    if settings.is_consumer and settings.library in ("aiokafka", "kafka-python"):
        raise SettingError(f"group.protocol=consumer does not exist in {settings.library}")


def difference(old: Settings, new: Settings) -> dict[str, tuple[Any, Any]]:
    """Return the fields that differ, with both values."""
    return {
        field.name: (getattr(old, field.name), getattr(new, field.name))
        for field in fields(Settings)
        if getattr(old, field.name) != getattr(new, field.name)
    }
