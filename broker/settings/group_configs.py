"""Settings of groups: names, types, defaults and limits of Kafka 4.4, and the values set for each group.

They apply to groups of the newer protocols (KIP-848, KIP-932, KIP-1071). A classic group can have the same name, as in
Kafka. Source: Kafka's `GroupConfig`; responses of Kafka 4.3.0 to DescribeConfigs and IncrementalAlterConfigs.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from kohort.coordinator.groups.group import SHARE, STREAMS
from kohort.coordinator.groups.group_types import MODERN_TYPES, GroupType, import_code
from kohort.protocol.errors import ErrorCode
from kohort.protocol.releases import CURRENT, rules_of
from kohort.storage.config_types import (
    BOOLEAN,
    INT,
    LIST,
    STRING,
    TRUE_OR_FALSE,
    Setting,
    Values,
    bad_value,
    number,
    one_of,
    split_list,
)
from kohort.storage.refusal import Refusal

if TYPE_CHECKING:
    from kohort.coordinator.share.share_config import ShareConfig
    from kohort.coordinator.streams.streams_config import StreamsConfig

# ISO 8601 as in Java (`Duration.parse`), without negative durations
_DURATION = r"(?i)\+?P(?=.)(\+?\d+D)?(T(?=.)(\+?\d+H)?(\+?\d+M)?(\+?\d+([.,]\d{0,9})?S)?)?"


def _offset_reset(name: str, value: str) -> str | None:
    word = value.strip()
    policy, _, duration = word.partition(":")
    if word in ("earliest", "latest") or (policy == "by_duration" and re.fullmatch(_DURATION, duration)):
        return None
    error = (
        f"Invalid value `{word}` for configuration {name}. The value must be either 'earliest', 'latest' or of the "
        "format 'by_duration:<PnDTnHnMn.nS>'."
    )
    return bad_value(name, word, error)


_OFFSET_RESET = Values(STRING, _offset_reset, "earliest, latest or by_duration:PnDTnHnMn.nS")


def _integer(name: str, default: int, lowest: int, documentation: str) -> Setting[Any]:
    return Setting(name, number(INT, lowest), default, documentation, f"group.{name}")


def _timing(kind: str) -> tuple[Setting[Any], ...]:
    return (
        _integer(
            f"{kind}.assignment.interval.ms", 1_000, 0, f"Minimum time between two assignments of a {kind} group."
        ),
        _integer(f"{kind}.heartbeat.interval.ms", 5_000, 1, f"Interval of heartbeats of members of a {kind} group."),
        _integer(f"{kind}.session.timeout.ms", 45_000, 1, f"Session timeout of members of a {kind} group."),
    )


def _warming_up(name: str, default: int, lowest: int, documentation: str) -> Setting[Any]:
    values = number(INT, lowest, 20) if name.endswith(".replicas") else number(INT, lowest)
    return Setting(name, values, default, documentation, f"group.{name}", since="4.4", is_described=False)


def _dead_letter_topic(name: str, value: str) -> str | None:
    return bad_value(name, value, "must not begin with '__'") if value.strip().startswith("__") else None


def _tags(name: str, value: str) -> str | None:
    tags = split_list(value)
    return bad_value(name, value, "must not contain a tag twice") if len(set(tags)) < len(tags) else None


_DEAD_LETTER_TOPIC = Values(STRING, _dead_letter_topic, "a topic name that does not begin with __")
_TAGS = Values(LIST, _tags, "a list of different tags")

# Fields of a group's settings (`ShareConfig`) whose setting has a different name.
_OTHER_NAMES = {
    "dead_letter_topic": "errors.deadletterqueue.topic.name",
    "copies_dead_letters": "errors.deadletterqueue.copy.record.enable",
    "rack_aware_tags": "streams.rack.aware.assignment.tags",
}

_TYPES = tuple(row.name for row in MODERN_TYPES)

# All settings of groups, by name.
GROUP_CONFIGS: dict[str, Setting[Any]] = {
    config.name: config
    for config in (
        *(config for kind in _TYPES for config in _timing(kind)),
        Setting(
            "share.auto.offset.reset",
            _OFFSET_RESET,
            "latest",
            "Start offset of a share group: earliest, latest, or by_duration:DURATION before now.",
        ),
        _integer("share.delivery.count.limit", 5, 2, "Maximum number of deliveries of a record to a share group."),
        Setting(
            "share.isolation.level",
            one_of("read_committed", "read_uncommitted"),
            "read_uncommitted",
            "Whether a share group is delivered records of transactions that are open or were aborted.",
        ),
        _integer(
            "share.partition.max.record.locks", 2_000, 100, "Records of a partition that a share group may acquire."
        ),
        _integer(
            "share.record.lock.duration.ms",
            30_000,
            1_000,
            "Time for which a member of a share group acquires a record.",
        ),
        Setting(
            "share.renew.acknowledge.enable",
            TRUE_OR_FALSE,
            True,
            "Whether members of a share group may renew a record's lock.",
        ),
        _integer("streams.initial.rebalance.delay.ms", 3_000, 0, "Time that a new streams group waits for members."),
        Setting(
            "errors.deadletterqueue.copy.record.enable",
            TRUE_OR_FALSE,
            False,
            "Whether dead letters contain key and value of the record (KIP-1191).",
            since="4.4",
        ),
        Setting(
            "errors.deadletterqueue.topic.name",
            _DEAD_LETTER_TOPIC,
            "",
            "Topic to which a share group writes undeliverable records; empty: none.",
            since="4.4",
        ),
        Setting(
            "streams.assignor.name",
            one_of("sticky"),
            "sticky",
            "Assignor of a streams group; by default the broker's first one.",
            "group.streams.assignors",
            since="4.4",
        ),
        Setting(
            "streams.rack.aware.assignment.tags",
            _TAGS,
            (),
            "Client tags that members of a streams group must have.",
            "group.streams.rack.aware.assignment.tags",
            since="4.4",
        ),
        *(
            Setting(
                f"{kind}.assignor.offload.enable",
                TRUE_OR_FALSE,
                True,
                "Without effect.",
                since="4.4",
                is_described=False,
            )
            for kind in _TYPES
        ),
        _warming_up("streams.task.offset.interval.ms", 60_000, 15_000, "Interval in which members send task offsets."),
        _warming_up("streams.acceptable.recovery.lag", 10_000, 0, "Lag at which a warm-up task is up to date."),
        _warming_up("streams.num.warmup.replicas", 2, 0, "Maximum number of warm-up tasks; without effect."),
        _integer("streams.num.standby.replicas", 0, 0, "Standby replicas of each task of a streams group."),
    )
}


class _Bound:
    """A limit of a group's setting, which is a broker setting."""

    def __init__(self, config: str, broker_setting: str, default: int) -> None:
        self.config = config
        self.broker_setting = broker_setting
        self.default = default
        self.is_least = ".min." in broker_setting


def _bounds_of_timing(kind: str) -> tuple[_Bound, ...]:
    return (
        _Bound(f"{kind}.heartbeat.interval.ms", f"group.{kind}.min.heartbeat.interval.ms", 5_000),
        _Bound(f"{kind}.heartbeat.interval.ms", f"group.{kind}.max.heartbeat.interval.ms", 15_000),
        _Bound(f"{kind}.session.timeout.ms", f"group.{kind}.min.session.timeout.ms", 45_000),
        _Bound(f"{kind}.session.timeout.ms", f"group.{kind}.max.session.timeout.ms", 60_000),
    )


def _bounds_of_interval(kind: str) -> tuple[_Bound, ...]:
    return (
        _Bound(f"{kind}.assignment.interval.ms", f"group.{kind}.min.assignment.interval.ms", 0),
        _Bound(f"{kind}.assignment.interval.ms", f"group.{kind}.max.assignment.interval.ms", 15_000),
    )


# in the order of Kafka's checks
_BOUNDS = (
    *_bounds_of_timing("consumer"),
    *_bounds_of_interval("consumer"),
    *_bounds_of_timing("share"),
    _Bound("share.record.lock.duration.ms", "group.share.min.record.lock.duration.ms", 15_000),
    _Bound("share.record.lock.duration.ms", "group.share.max.record.lock.duration.ms", 60_000),
    _Bound("share.delivery.count.limit", "group.share.min.delivery.count.limit", 2),
    _Bound("share.delivery.count.limit", "group.share.max.delivery.count.limit", 10),
    _Bound("share.partition.max.record.locks", "group.share.min.partition.max.record.locks", 100),
    _Bound("share.partition.max.record.locks", "group.share.max.partition.max.record.locks", 4_000),
    *_bounds_of_interval("share"),
    *_bounds_of_timing("streams"),
    _Bound("streams.num.standby.replicas", "group.streams.max.standby.replicas", 2),
    *_bounds_of_interval("streams"),
)


# Kafka's broker settings that are defaults or limits of groups' settings; all are integers.
BROKER_SETTINGS: dict[str, int] = {
    **{bound.broker_setting: bound.default for bound in _BOUNDS},
    **{item.synonym: item.default for item in GROUP_CONFIGS.values() if item.synonym is not None and item.kind == INT},
}


T = TypeVar("T")


class _Effective(Generic[T]):
    """Effective settings of groups of one type, within the broker's limits (KIP-1240). Created on first use."""

    def __init__(self, configs: Mapping[str, Mapping[str, str]], create: Callable[[Mapping[str, str]], T]) -> None:
        self._configs = configs  # settings of the groups that have some
        self._create = create
        self._default: T | None = None  # of groups without settings
        self._by_group: dict[str, T] = {}

    def __call__(self, group_id: str) -> T:
        configs = self._configs.get(group_id)
        if configs is None:
            if self._default is None:
                self._default = self._create({})
            return self._default
        config = self._by_group.get(group_id)
        if config is None:
            config = self._by_group[group_id] = self._create(configs)
        return config

    def forget(self, group_id: str) -> None:
        self._by_group.pop(group_id, None)


class GroupConfigs:
    """Settings of groups. A group has an entry while any of its settings is set, whether or not it exists."""

    def __init__(
        self,
        broker_settings: Mapping[str, str],
        note: Callable[[str, Mapping[str, str]], None] | None = None,
        release: str = CURRENT,
    ) -> None:
        """Create the settings without groups.

        Args:
            broker_settings: Settings of the broker. Those of BROKER_SETTINGS are integers.
            note: Called with the new settings of a group before they take effect; may raise OSError.
            release: Release of Kafka whose settings exist.
        """
        self.available = {name: config for name, config in GROUP_CONFIGS.items() if config.exists_in(release)}
        self._names_ranges = rules_of(release).names_ranges_of_settings
        self._note = note
        # Defaults of groups' settings that the broker's settings set.
        self.explicit = {
            config.synonym: broker_settings[config.synonym]
            for config in GROUP_CONFIGS.values()
            if config.synonym is not None and config.synonym in broker_settings
        }
        self._bounds = {
            bound.broker_setting: int(broker_settings.get(bound.broker_setting, bound.default)) for bound in _BOUNDS
        }
        self._configs: dict[str, dict[str, str]] = {}
        self._by_type = {row.name: _Effective(self._configs, partial(self._effective, row)) for row in MODERN_TYPES}
        self.share_config: _Effective[ShareConfig] = self._by_type[SHARE]
        self.streams_config: _Effective[StreamsConfig] = self._by_type[STREAMS]
        # effective settings by group type, as functions of the group id
        self.of_types: dict[str, Callable[[str], Any]] = {**self._by_type}

    def __iter__(self) -> Iterator[str]:
        """Iterate over the groups with settings."""
        return iter(self._configs)

    def of(self, group_id: str) -> dict[str, str]:
        return self._configs.get(group_id, {})

    def default(self, config: Setting[Any]) -> str:
        return self.explicit.get(config.synonym or "", config.default_text)

    def _effective(self, group_type: GroupType, configs: Mapping[str, str]) -> Any:
        assert group_type.config is not None, "a group of a newer protocol has settings"
        config = import_code(group_type.config)
        return config(**{field: self._value(group_type.name, field, configs) for field in config._fields})

    def _value(self, group_type: str, field: str, configs: Mapping[str, str]) -> Any:
        name = _OTHER_NAMES.get(field) or f"{group_type}.{field.replace('_', '.')}"
        setting = GROUP_CONFIGS[name]
        if setting.kind == INT:
            return self._number(name, configs)
        text = configs.get(name, self.default(setting))
        if setting.kind == LIST:
            return tuple(filter(None, split_list(text)))
        return text == "true" if setting.kind == BOOLEAN else text

    def _number(self, name: str, configs: Mapping[str, str]) -> int:
        value = int(configs.get(name, self.default(_NUMBERS[name])))
        for bound in _BOUNDS:
            if bound.config == name:
                limit = self._bounds[bound.broker_setting]
                value = max(value, limit) if bound.is_least else min(value, limit)
        return value

    def configure(self, group_id: str, configs: Mapping[str, str], *, validate_only: bool = False) -> Refusal | None:
        """Replace the settings of a group. Raises OSError if they cannot be stored; then nothing has changed."""
        problem = self.problem_of(configs)
        if problem is not None:
            return Refusal(ErrorCode.invalid_config, problem)
        if not validate_only:
            plain = {name: _plain(name, value) for name, value in configs.items()}
            if self._note is not None:
                self._note(group_id, plain)
            self.restore({group_id: plain})
        return None

    def restore(self, configs: Mapping[str, dict[str, str]]) -> None:
        """Set the stored settings of groups; one without settings loses its entry."""
        self._configs |= configs
        for group_id, settings in configs.items():
            for effective in self._by_type.values():
                effective.forget(group_id)
            if not settings:
                del self._configs[group_id]

    def problem_of(self, configs: Mapping[str, str]) -> str | None:
        """Return the first error in Kafka's words: unknown name, invalid value, limit of the broker, contradiction."""
        for name in configs:
            if name not in self.available:
                return f"Unknown group config name: {name}"
        for name, value in configs.items():
            problem = GROUP_CONFIGS[name].problem(value)
            if problem is not None:
                return problem
        numbers = {name: int(configs.get(name, self.default(config))) for name, config in _NUMBERS.items()}
        for bound in _BOUNDS:
            limit, now = self._bounds[bound.broker_setting], numbers[bound.config]
            if now < limit if bound.is_least else now > limit:
                return self._describe(bound)
        for kind in _TYPES:
            session, heartbeat = f"{kind}.session.timeout.ms", f"{kind}.heartbeat.interval.ms"
            if numbers[session] <= numbers[heartbeat]:
                return f"{session} must be greater than {heartbeat}"
        return None

    def _describe(self, bound: _Bound) -> str:
        """Return Kafka's message about a value outside of a limit."""
        if not self._names_ranges:
            comparison = "greater" if bound.is_least else "less"
            return f"{bound.config} must be {comparison} than or equal to {bound.broker_setting}"
        limits = [self._bounds[other.broker_setting] for other in _BOUNDS if other.config == bound.config]
        if len(limits) == 1:
            return f"{bound.config} must be less than or equal to {limits[0]}"
        return f"{bound.config} must be in the range {limits[0]} to {limits[1]} inclusive."


_NUMBERS = {name: config for name, config in GROUP_CONFIGS.items() if config.kind == INT}


def _plain(name: str, value: str) -> str:
    """Return a value in the form in which Kafka returns it."""
    kind = GROUP_CONFIGS[name].kind
    if kind == INT:
        return str(int(value))
    return value.strip().lower() if kind == BOOLEAN else value.strip()
