"""Properties files: reads them as Java does, and explains files of other formats and names that nothing understands.

A file in which nothing is understood would otherwise count as an empty one: a login or a port would be ignored.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable
from itertools import pairwise
from pathlib import Path

CLIENT, BROKER = "client", "broker"
_MARKS = {
    CLIENT: frozenset(("bootstrap.servers", "metadata.broker.list", "security.protocol")),
    BROKER: frozenset((
        "advertised.listeners", "broker.id", "listeners", "log.dir", "log.dirs", "node.id", "process.roles",
        "zookeeper.connect",
    )),
}  # fmt: skip
"""Settings by which a file for one of them is recognized."""
_SHARED = (
    "config.providers",
    "connections.",
    "metric",
    "request.timeout.",
    "sasl.",
    "security.providers",
    "socket.",
    "ssl.",
)
"""Settings that both have: they don't show that a file is for the other."""
_VARIABLE = re.compile(r"^[A-Z][A-Z0-9]*(_[A-Z0-9]+)*$")
_VARIABLE_PREFIXES = ("KAFKA_CFG_", "KAFKA_", "CONNECT_", "CONSUMER_", "PRODUCER_")
"""What images put before the names of settings."""
_SECTION = re.compile(r"^\[[^\]=]*\]\s*([#;].*)?$")
_BLOCK = re.compile(r"^[\w.\-]+\s*[:=]?\s*\{\s*$")
_YAML_PARENT = re.compile(r"^[\w.\-\"']+:\s*([#&|>].*)?$")
_YAML_ITEM = re.compile(r"^-\s+\S")
_JAAS = re.compile(r"\b[\w.]+LoginModule\s+(required|requisite|sufficient|optional)\b")
_WRITE_LINES = "write lines of NAME=VALUE"


class SettingsFileError(ValueError):
    """A file that is not a properties file, or in which nothing is understood. The text begins with its path."""


def read_settings_file(path: Path | str) -> dict[str, str]:
    """Read a properties file.

    It is read as UTF-8. Java's tools read Latin-1 or UTF-8, by version, which matters only for letters beyond ASCII.

    Raises:
        SettingsFileError: The file cannot be read, or has another format.
    """
    import javaproperties

    try:
        text = Path(path).read_text(encoding="utf-8-sig")  # editors on Windows put a mark before the first name
    except OSError as error:
        raise SettingsFileError(f"{path} can't be read: {error.strerror}") from None
    except UnicodeDecodeError:
        raise SettingsFileError(f"{path} is not a properties file: it isn't text in UTF-8") from None
    if other := _other_format(text):
        raise SettingsFileError(f"{path} is not a properties file: {other}")
    try:
        settings: dict[str, str] = javaproperties.loads(text)
    except javaproperties.InvalidUEscapeError as error:
        raise SettingsFileError(f"{path}: {error.escape} is not a character; write \\u and four digits") from None
    return settings


def _other_format(text: str) -> str | None:
    """Return what format a text has and what to write instead, or None for properties."""
    lines = list(_logical_lines(text))
    if not lines:
        return None
    stripped = [line.strip() for line in lines]
    if stripped[0].startswith("-----BEGIN "):
        return "it holds a certificate or a key in PEM; name it in ssl.truststore.location or ssl.keystore.location"
    if stripped[0].startswith("<"):
        return f"it is XML; {_WRITE_LINES}"
    if _jaas_at_start(stripped):
        return "it is a JAAS file; write the login module and its options as the value of sasl.jaas.config, on one line"
    if stripped[0].startswith(("{", '["', "[{")) or stripped[0] == "[":
        return f"it is JSON; {_WRITE_LINES}"
    if any(map(_SECTION.match, stripped)):
        return f"it has sections in brackets, as TOML and INI have; {_WRITE_LINES} without sections and quotes"
    if stripped[0] == "---" or any(map(_YAML_ITEM.match, stripped)) or _is_nested(lines):
        return f"it is YAML; {_WRITE_LINES} with the whole name on each, as in security.protocol=SASL_SSL"
    if any(map(_BLOCK.match, stripped)):
        return f"it has blocks in braces; {_WRITE_LINES} with the whole name on each"
    return None


def _jaas_at_start(lines: list[str]) -> bool:
    """Return whether the first line, or the first line in a block, names a login module."""
    inside = lines[1:2] if _BLOCK.match(lines[0]) else lines[:1]
    return any(_JAAS.match(line) for line in inside) or bool(re.match(r"^\w+\s*\{.*LoginModule", lines[0]))


def _logical_lines(text: str) -> Iterable[str]:
    """Yield the lines of a properties file without comments, empty lines and continuations."""
    is_continued = False
    for line in text.split("\n"):
        is_continuation, is_continued = is_continued, _ends_in_backslash(line)
        if not is_continuation and line.strip() and not line.lstrip().startswith(("#", "!")):
            yield line


def _ends_in_backslash(line: str) -> bool:
    return (len(line) - len(line.rstrip("\\"))) % 2 == 1


def _is_nested(lines: list[str]) -> bool:
    """Return whether a name without a value is followed by lines that are indented more, as in YAML."""
    return any(
        _YAML_PARENT.match(line.strip()) and _indentation(following) > _indentation(line)
        for line, following in pairwise(lines)
    )


def _indentation(line: str) -> int:
    return len(line) - len(line.lstrip())


def explain_names(names: Iterable[str], is_setting: Callable[[str], bool], owner: str) -> str | None:
    """Explain why nothing in a file is understood, and what to write instead.

    Args:
        names: The names in the file.
        is_setting: Return whether a name is a setting of the owner.
        owner: BROKER or CLIENT, which the file is for.

    Returns:
        A sentence, or None if at least one of the names is a setting or the file is empty.
    """
    file_names = list(names)
    other = next(
        (program for program, marks in _MARKS.items() if program != owner and not marks.isdisjoint(file_names)), None
    )
    understood = [name for name in file_names if is_setting(name) and not (other and name.startswith(_SHARED))]
    secured = [] if owner == BROKER or any(map(_is_security, file_names)) else _prefixes(file_names, _is_security)
    if understood and secured:
        return f"its security settings have a prefix; remove {' and '.join(secured)}"
    if understood or not file_names:
        return None
    if other:
        return f"none of its names is a {owner} setting; it is for a {other}"
    if variables := [name for name in file_names if name == "export" or _VARIABLE.match(name)]:
        named = next(filter(None, (_named_by(variable, is_setting) for variable in variables)), None)
        hint = f"; in a properties file {named[0]} is {named[1]}, and so on" if named else ""
        return f"its names are environment variables, and none is a {owner} setting{hint}"
    if prefixes := secured or _prefixes(file_names, is_setting):
        return f"none of its names is a {owner} setting; remove the prefix {' and '.join(prefixes)}"
    return f"none of its names is a {owner} setting: {', '.join(file_names[:3])}{', …' if len(file_names) > 3 else ''}"


def _named_by(variable: str, is_setting: Callable[[str], bool]) -> tuple[str, str] | None:
    """Return a variable and the setting that images derive from it, or None if the setting does not exist."""
    for prefix in (*_VARIABLE_PREFIXES, ""):
        if variable.startswith(prefix):
            name = variable.removeprefix(prefix).lower().replace("_", ".")
            if is_setting(name):
                return variable, name
    return None


def _is_security(name: str) -> bool:
    return name in ("security.protocol", "sasl.mechanism", "sasl.mechanisms", "sasl.jaas.config", "sasl.username")


def _prefixes(names: list[str], is_setting: Callable[[str], bool]) -> list[str]:
    """Return what is before the settings in longer names, the most frequent first, at most three."""
    counts: Counter[str] = Counter()
    for name in names:
        parts = re.split(r"(?<=\.)", name)
        for count in range(1, len(parts)):
            # Some tools write the rest with hyphens: spring.kafka.bootstrap-servers.
            rest = "".join(parts[count:]).replace("-", ".")
            if "." in rest and is_setting(rest):
                counts["".join(parts[:count])] += 1
                break
    return [prefix for prefix, _ in sorted(counts.items(), key=lambda item: (-item[1], -len(item[0])))][:3]
