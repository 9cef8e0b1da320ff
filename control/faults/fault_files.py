"""YAML files of rules: a list of entries in the format of `rule_parsing.parse_rule`.

- match: {api: Heartbeat, group: billing}
  do: drop
  times: 2
- match: {api: JoinGroup, client_id: "slow-*"}
  do: delay
  with: {seconds: 30, jitter: 5}
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, BinaryIO

from kohort.control.control_errors import ControlError
from kohort.control.faults.rule_parsing import parse_rule
from kohort.control.faults.rules import Rule
from kohort.control.faults.table import Faults

MAX_FILE_BYTES = 1 << 18  # bytes; PyYAML parses a few hundred thousand per second


def read_rules(path: Path) -> list[dict[str, Any]]:
    """Return the unchecked entries of a file. Raise ControlError if it is not a list of tables."""
    try:
        with path.open("rb") as file:
            return rules_in(file, str(path))
    except OSError as error:
        raise ControlError(f"{path} is unreadable: {error}") from None


def rules_in(file: BinaryIO, name: str) -> list[dict[str, Any]]:
    """Return the unchecked entries of an open file, as `read_rules` does.

    Args:
        name: The file's name in error messages.
    """
    import yaml

    class Loader(yaml.SafeLoader):  # type: ignore[misc]
        """Loader without aliases: nine of them in a row expand one line to a billion values (billion laughs)."""

        def compose_node(self, parent: Any, index: Any) -> Any:
            if self.check_event(yaml.AliasEvent):
                event = self.peek_event()
                problem = f"alias *{event.anchor} is not supported; write out its value"
                raise yaml.composer.ComposerError(None, None, problem, event.start_mark)
            return super().compose_node(parent, index)

    try:
        raw = file.read(MAX_FILE_BYTES + 1)
        if len(raw) > MAX_FILE_BYTES:
            raise ControlError(f"{name} has more than {MAX_FILE_BYTES} bytes; split it into several files")
        rules = yaml.load(raw.decode(), Loader)
    except ControlError:
        raise
    except UnicodeDecodeError as problem:
        raise ControlError(f"{name} cannot be read: {problem}") from None
    except yaml.YAMLError as problem:
        raise ControlError(f"{name} is not valid YAML: {' '.join(str(problem).split())}") from None
    except (ValueError, OverflowError, RecursionError) as problem:  # PyYAML's own, for dates, numbers and nesting
        raise ControlError(f"{name} has an unreadable value: {problem}") from None
    if not isinstance(rules, list) or not all(isinstance(rule, Mapping) for rule in rules):
        raise ControlError(f"{name} is not a list of rules; each rule starts with `- match: {{api: …}}`")
    return [{str(name): _plain(value) for name, value in rule.items()} for rule in rules]


def _plain(value: object) -> Any:
    """Convert values to JSON types: YAML parses `2026-11-21` as a date, but here it is the name of a group."""
    if isinstance(value, Mapping):
        return {str(name): _plain(item) for name, item in value.items()}
    if isinstance(value, list):
        return [_plain(item) for item in value]
    return value if value is None or isinstance(value, str | int | float) else str(value)


def load(faults: Faults, path: Path) -> list[Rule]:
    """Add all rules of a file, or none if one is invalid. ControlError contains the number of that rule."""
    rules: list[Rule] = []
    for number, fields in enumerate(read_rules(path), 1):
        try:
            rules.append(parse_rule(faults, fields))
        except ControlError as problem:
            for rule in rules:
                rule.remove()
            raise ControlError(f"{path}, rule {number}: {problem}") from None
    return rules
