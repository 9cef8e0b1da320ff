"""Translates security settings of librdkafka, used by clients for Python, Go, Node and .NET, to those of Java."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

_SAME = {
    "sasl.mechanisms": "sasl.mechanism",
    "ssl.ca.location": "ssl.truststore.location",
    "ssl.ca.pem": "ssl.truststore.certificates",
    "ssl.certificate.pem": "ssl.keystore.certificate.chain",
    "ssl.key.pem": "ssl.keystore.key",
}
# files whose content is the value for Java clients
_CONTENTS = {"ssl.certificate.location": "ssl.keystore.certificate.chain", "ssl.key.location": "ssl.keystore.key"}
_LOGIN = ("sasl.username", "sasl.password")
_NOT_CHECKED = "enable.ssl.certificate.verification"

NAMES = (*_SAME, *_CONTENTS, *_LOGIN)


def in_javas_words(settings: Mapping[str, str]) -> dict[str, str]:
    """Return the settings under the names of Java clients. Other settings are unchanged.

    Raises:
        ValueError: Both names of a setting have different values, or a file cannot be read.
    """
    if settings.get(_NOT_CHECKED, "true").lower() == "false":
        raise ValueError(f"{_NOT_CHECKED}=false isn't supported: give the certificate in ssl.ca.location")
    result = {name: value for name, value in settings.items() if name not in NAMES}
    for name in _SAME.keys() & settings.keys():
        if not (name == "ssl.ca.location" and settings[name] == "probe"):  # certificates that the system trusts
            _put(result, name, _SAME[name], settings[name])
    for name in _CONTENTS.keys() & settings.keys():
        try:
            _put(result, name, _CONTENTS[name], Path(settings[name]).read_text(encoding="utf-8", errors="replace"))
        except OSError as error:
            raise ValueError(f"{name}: {settings[name]} can't be read: {error.strerror}") from None
    if any(name in settings for name in _LOGIN):
        if missing := [name for name in _LOGIN if name not in settings]:
            raise ValueError(f"{missing[0]} is missing: {' and '.join(_LOGIN)} belong together")
        user, password = (_quoted(settings[name]) for name in _LOGIN)
        module = "plain.Plain" if result.get("sasl.mechanism", "").upper() == "PLAIN" else "scram.Scram"
        jaas = f"org.apache.kafka.common.security.{module}LoginModule required username={user} password={password};"
        _put(result, "sasl.username", "sasl.jaas.config", jaas)
    if result.get("ssl.endpoint.identification.algorithm") == "none":
        result["ssl.endpoint.identification.algorithm"] = ""
    return result


def _put(settings: dict[str, str], theirs: str, name: str, value: str) -> None:
    if settings.setdefault(name, value) != value:
        raise ValueError(f"{theirs} and {name} are two names of one setting: give one")


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'
