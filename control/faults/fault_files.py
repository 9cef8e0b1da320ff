"""Rules in a YAML file: a list, each as `rule_parsing.parse_rule` reads it.

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

LARGEST_FILE = 1 << 18
"""Bytes. PyYAML reads a few hundred thousand in a second."""


def read_rules(path: Path) -> list[dict[str, Any]]:
    """What a file holds, not looked at closely. Raises ControlError for what is no list of tables."""
    try:
        with path.open("rb") as file:
            return rules_in(file, str(path))
    except OSError as problem:
        raise ControlError(f"{path} cannot be read: {problem}") from None


def rules_in(file: BinaryIO, name: str) -> list[dict[str, Any]]:
    """What an open file holds, as `read_rules` has it. `name`: what refusals call it."""
    import yaml

    class Loader(yaml.SafeLoader):  # type: ignore[misc]
        """Without aliases: nine of them in a row make a thousand million values of a line (billion laughs)."""

        def compose_node(self, parent: Any, index: Any) -> Any:
            if self.check_event(yaml.AliasEvent):
                event = self.peek_event()
                problem = f"an alias, *{event.anchor}, is not read here; write out what it stands for"
                raise yaml.composer.ComposerError(None, None, problem, event.start_mark)
            return super().compose_node(parent, index)

    try:
        raw = file.read(LARGEST_FILE + 1)
        if len(raw) > LARGEST_FILE:
            raise ControlError(f"{name} has more than {LARGEST_FILE} bytes; a file of rules may have that many")
        rules = yaml.load(raw.decode(), Loader)
    except ControlError:
        raise
    except UnicodeDecodeError as problem:
        raise ControlError(f"{name} cannot be read: {problem}") from None
    except yaml.YAMLError as problem:
        raise ControlError(f"{name} is not YAML as rules are written in: {' '.join(str(problem).split())}") from None
    except (ValueError, OverflowError, RecursionError) as problem:  # PyYAML's own, for dates, numbers and nesting
        raise ControlError(f"{name} holds what can't be read: {problem}") from None
    if not isinstance(rules, list) or not all(isinstance(each, Mapping) for each in rules):
        raise ControlError(f"{name} is no list of rules; each begins with `- match: {{api: …}}`")
    return [{str(name): _plain(value) for name, value in each.items()} for each in rules]


def _plain(value: object) -> Any:
    """What JSON has too: YAML makes a date of `2026-11-21`, which here is the name of a group or a client."""
    if isinstance(value, Mapping):
        return {str(name): _plain(each) for name, each in value.items()}
    if isinstance(value, list):
        return [_plain(each) for each in value]
    return value if value is None or isinstance(value, str | int | float) else str(value)


def load(faults: Faults, path: Path) -> list[Rule]:
    """Makes all rules of a file, or none: one that is wrong is named by its number. Raises ControlError."""
    made: list[Rule] = []
    for number, fields in enumerate(read_rules(path), 1):
        try:
            made.append(parse_rule(faults, fields))
        except ControlError as problem:
            for rule in made:
                rule.remove()
            raise ControlError(f"{path}, rule {number}: {problem}") from None
    return made
