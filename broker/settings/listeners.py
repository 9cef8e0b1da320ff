"""The setting `listeners` and related ones: parsing and consistency checks.

A server.properties of Kafka is accepted: its controller listeners, which do not exist here, are ignored.
Source: Kafka's `SocketServerConfigs`, `KafkaConfig.validateValues`; logins.md §1.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from kohort.base.address import HIGHEST_PORT, Advertised
from kohort.broker.settings.setting import SettingError
from kohort.protocol.releases import CURRENT

if TYPE_CHECKING:
    from kohort.broker.settings.broker_settings import Settings

PROTOCOLS = ("PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL")

PREFIX = "listener.name."

# settings of one listener or of all
_OF_A_LISTENER = frozenset(
    [
        "connections.max.reauth.ms",
        "sasl.enabled.mechanisms",
        "sasl.jaas.config",
        "sasl.oauthbearer.allow.unverified.audience",
        "sasl.oauthbearer.allow.unverified.issuer",
        "sasl.oauthbearer.clock.skew.seconds",
        "sasl.oauthbearer.expected.audience",
        "sasl.oauthbearer.expected.issuer",
        "sasl.oauthbearer.jwks.endpoint.url",
        "sasl.oauthbearer.scope.claim.name",
        "sasl.oauthbearer.sub.claim.name",
        "sasl.server.callback.handler.class",
        "ssl.cipher.suites",
        "ssl.client.auth",
        "ssl.enabled.protocols",
        "ssl.key.password",
        "ssl.keystore.certificate.chain",
        "ssl.keystore.key",
        "ssl.keystore.location",
        "ssl.keystore.password",
        "ssl.keystore.type",
        "ssl.principal.mapping.rules",
        "ssl.truststore.certificates",
        "ssl.truststore.location",
        "ssl.truststore.password",
        "ssl.truststore.type",
    ]
)

_OF_ALL = frozenset(["controller.listener.names", "inter.broker.listener.name", "security.inter.broker.protocol"])

_ENDPOINT = re.compile(r"(?P<name>[\w.-]+)://(?P<host>\[[0-9A-Fa-f:.%]+\]|[^\[\]:/,]*):(?P<port>\d{1,5})", re.ASCII)


@dataclass(frozen=True, slots=True)
class ListenerSettings:
    """An entry of `listeners`. Its `repr` contains no secret."""

    name: str
    protocol: str
    host: str  # empty: all addresses of the machine
    port: int

    @property
    def asks_login(self) -> bool:
        """Whether clients have to authenticate."""
        return self.protocol.startswith("SASL_")

    @property
    def speaks_tls(self) -> bool:
        """Whether connections are encrypted."""
        return self.protocol in ("SSL", "SASL_SSL")


def is_understood(name: str) -> bool:
    """Return whether a setting that is not in `Settings` has a meaning if `listeners` is set."""
    if not name.startswith(PREFIX):
        return name in _OF_A_LISTENER or name in _OF_ALL
    return any(name.endswith("." + suffix) for suffix in _OF_A_LISTENER)


class ListenerOptions:
    """Effective settings of a listener: its own ones, or else those of all listeners."""

    def __init__(self, listener: ListenerSettings, settings: Mapping[str, str]) -> None:
        self.listener = listener
        self._settings = settings
        self._prefix = f"{PREFIX}{listener.name.lower()}."

    @property
    def release(self) -> str:
        """The emulated release of Kafka."""
        return self._settings.get("kohort.as.kafka", CURRENT)

    def named(self, name: str, mechanism: str | None = None) -> tuple[str, str]:
        """Return the full name under which `name` is set and its value, or `name` and "" if it is not set."""
        for full in self._names(name, mechanism):
            if full in self._settings:
                return full, self._settings[full].strip()
        return name, ""

    def get(self, name: str, mechanism: str | None = None) -> str:
        return self.named(name, mechanism)[1]

    def own(self, name: str) -> str:
        """Return the value for this listener alone, empty if it is not set."""
        return self._settings.get(self._prefix + name, "").strip()

    def _names(self, name: str, mechanism: str | None) -> Iterable[str]:
        if mechanism is not None:
            yield f"{self._prefix}{mechanism.lower()}.{name}"
        yield self._prefix + name
        yield name


def read_listeners(settings: Settings, nodes: int = 1) -> list[ListenerSettings]:
    """Return the entries of `listeners`, if it is set. Raises SettingError for contradictions."""
    if not settings.listeners.strip():
        for name in ("advertised.listeners", "inter.broker.listener.name"):
            if settings.explicit.get(name, "").strip():
                raise SettingError(f"{name} requires listeners to be set")
        return []
    protocols = _protocols(settings.listener_security_protocol_map)
    controllers = {part.strip().upper() for part in settings.explicit.get("controller.listener.names", "").split(",")}
    listeners = [
        ListenerSettings(name, _protocol_of(name, protocols), host, port)
        for name, host, port in _endpoints("listeners", settings.listeners)
        if name not in controllers
    ]
    if not listeners:
        raise SettingError(f"listeners={settings.listeners} contains no listener for clients")
    _check_inter_broker(settings, listeners)
    _check_ports(listeners, nodes)
    _check_prefixes(settings, listeners, controllers)
    return listeners


def read_advertised(settings: Settings, listeners: Iterable[ListenerSettings], nodes: int = 1) -> dict[str, Advertised]:
    """Return the addresses for clients by listener. Without one, clients receive the address that they have dialled."""
    text = settings.advertised_listeners.strip()
    if not text:
        return {}
    names = {item.name for item in listeners}
    controllers = {item.strip().upper() for item in settings.explicit.get("controller.listener.names", "").split(",")}
    advertised = {}
    for name, host, port in _endpoints("advertised.listeners", text):
        if name in controllers:
            continue
        if name not in names:
            raise SettingError(
                f"advertised.listeners contains {name}, but listeners does not; use the same names in both"
            )
        if host in ("", "0.0.0.0", "::"):
            raise SettingError(f"advertised.listeners has no host for {name}; set one that clients can connect to")
        advertised[name] = Advertised([(host, port + number if port else 0) for number in range(nodes)])
    return advertised


def _endpoints(setting: str, text: str) -> Iterable[tuple[str, str, int]]:
    names: set[str] = set()
    for part in text.split(","):
        match = _ENDPOINT.fullmatch(part.strip())
        if match is None or int(match["port"]) > HIGHEST_PORT:
            raise SettingError(
                f"{setting}={text}: {part.strip() or 'an empty part'} is not a listener; expected NAME://HOST:PORT, "
                "as in SASL_SSL://127.0.0.1:9093"
            )
        name = match["name"].upper()
        if name in names:
            raise SettingError(f"{setting} contains {name} twice; each listener needs its own name")
        names.add(name)
        yield name, match["host"].strip("[]"), int(match["port"])


def _protocols(text: str) -> dict[str, str]:
    setting = "listener.security.protocol.map"
    protocols = {}
    for entry in filter(None, (part.strip() for part in text.split(","))):
        name, colon, protocol = entry.partition(":")
        if not colon or protocol.strip().upper() not in PROTOCOLS:
            raise SettingError(
                f"{setting}: {entry} is invalid; expected NAME:PROTOCOL with one of {', '.join(PROTOCOLS)}"
            )
        protocols[name.strip().upper()] = protocol.strip().upper()
    return protocols


def _protocol_of(name: str, protocols: Mapping[str, str]) -> str:
    if name not in protocols:
        raise SettingError(
            f"listener {name} has no entry in listener.security.protocol.map; add "
            f"{name}:SASL_SSL, or another of {', '.join(PROTOCOLS)}"
        )
    return protocols[name]


def _check_inter_broker(settings: Settings, listeners: Iterable[ListenerSettings]) -> None:
    """Check settings of connections between brokers, which do not exist here but have to be consistent."""
    name = settings.explicit.get("inter.broker.listener.name", "").strip().upper()
    protocol = settings.explicit.get("security.inter.broker.protocol", "").strip().upper()
    if name and protocol:
        raise SettingError("inter.broker.listener.name and security.inter.broker.protocol are both set; set one")
    if name and name not in {listener.name for listener in listeners}:
        raise SettingError(f"inter.broker.listener.name={name} is not in listeners")
    if protocol and protocol not in PROTOCOLS:
        raise SettingError(f"security.inter.broker.protocol={protocol}: must be one of {', '.join(PROTOCOLS)}")


def _check_ports(listeners: Iterable[ListenerSettings], nodes: int) -> None:
    names_by_port: dict[int, str] = {}
    for listener in listeners:
        for port in range(listener.port, listener.port + nodes) if listener.port else ():
            if port > HIGHEST_PORT:
                raise SettingError(f"listeners: {nodes} nodes need ports above {HIGHEST_PORT} for {listener.name}")
            if port in names_by_port:
                raise SettingError(
                    f"listeners: {listener.name} and {names_by_port[port]} use the same port {port}"
                    + (f"; {nodes} nodes need {nodes} consecutive ports" if nodes > 1 else "")
                )
            names_by_port[port] = listener.name


def _check_prefixes(settings: Settings, listeners: Iterable[ListenerSettings], controllers: Iterable[str]) -> None:
    names = {listener.name.lower() for listener in listeners}
    upper_names = ", ".join(sorted(names)).upper()
    for setting in settings.explicit:
        if setting.startswith(PREFIX):
            name = setting[len(PREFIX) :].partition(".")[0]
            if name != name.lower():
                raise SettingError(f"{setting}: listener names in settings are in lower case; use {name.lower()}")
            if name not in names and name.upper() not in controllers:
                raise SettingError(f"{setting}: unknown listener {name.upper()}; listeners contains {upper_names}")
