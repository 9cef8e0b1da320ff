"""The setting `listeners` and those that go with it, read and held against one another.

A server.properties of Kafka's is taken as it is: listeners of controllers, which do not exist here, are passed over.
Source: Kafka's `SocketServerConfigs`, `KafkaConfig.validateValues`; logins.md §1.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from kohort.broker.address import HIGHEST_PORT, Advertised
from kohort.broker.settings.setting import SettingError

if TYPE_CHECKING:
    from kohort.broker.settings.broker_settings import Settings

PROTOCOLS = ("PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL")

PREFIX = "listener.name."

_OF_A_LISTENER = frozenset(
    [
        "connections.max.reauth.ms",
        "sasl.enabled.mechanisms",
        "sasl.jaas.config",
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
"""What may be set for one listener or for all."""

_OF_ALL = frozenset(["controller.listener.names", "inter.broker.listener.name", "security.inter.broker.protocol"])

_ENDPOINT = re.compile(r"(?P<name>[\w.-]+)://(?P<host>\[[0-9A-Fa-f:.%]+\]|[^\[\]:/,]*):(?P<port>\d{1,5})", re.ASCII)


@dataclass(frozen=True, slots=True)
class ListenerSettings:
    """One of `listeners`. `repr` shows no secret."""

    name: str
    protocol: str
    host: str
    """Empty: all addresses of the machine."""
    port: int

    @property
    def asks_login(self) -> bool:
        """Whether clients have to log in."""
        return self.protocol.startswith("SASL_")

    @property
    def speaks_tls(self) -> bool:
        """Whether everything is encrypted."""
        return self.protocol in ("SSL", "SASL_SSL")


def is_understood(name: str) -> bool:
    """Whether a setting that is none of `Settings` means something once there are `listeners`."""
    if not name.startswith(PREFIX):
        return name in _OF_A_LISTENER or name in _OF_ALL
    return any(name.endswith("." + each) for each in _OF_A_LISTENER)


class ListenerOptions:
    """The settings that count for one listener: its own, or else those of all listeners."""

    def __init__(self, listener: ListenerSettings, given: Mapping[str, str]) -> None:
        self.listener = listener
        self._given = given
        self._prefix = f"{PREFIX}{listener.name.lower()}."

    def named(self, name: str, mechanism: str | None = None) -> tuple[str, str]:
        """The full name under which `name` is set, and its value; the plain name and "" where it is not set."""
        for full in self._names(name, mechanism):
            if full in self._given:
                return full, self._given[full].strip()
        return name, ""

    def get(self, name: str, mechanism: str | None = None) -> str:
        """The value; empty: it is not set."""
        return self.named(name, mechanism)[1]

    def own(self, name: str) -> str:
        """The value that is set for this listener alone; empty: none is."""
        return self._given.get(self._prefix + name, "").strip()

    def _names(self, name: str, mechanism: str | None) -> Iterable[str]:
        if mechanism is not None:
            yield f"{self._prefix}{mechanism.lower()}.{name}"
        yield self._prefix + name
        yield name


def read_listeners(settings: Settings, nodes: int = 1) -> list[ListenerSettings]:
    """Those of `listeners`; empty: the setting is not there. Raises SettingError for what contradicts itself."""
    if not settings.listeners.strip():
        for name in ("advertised.listeners", "inter.broker.listener.name"):
            if settings.given.get(name, "").strip():
                raise SettingError(f"{name} is set, and listeners is not; set listeners, too, or neither")
        return []
    protocols = _protocols(settings.listener_security_protocol_map)
    controllers = {each.strip().upper() for each in settings.given.get("controller.listener.names", "").split(",")}
    found = [
        ListenerSettings(name, _protocol_of(name, protocols), host, port)
        for name, host, port in _endpoints("listeners", settings.listeners)
        if name not in controllers
    ]
    if not found:
        raise SettingError(f"listeners={settings.listeners} names no listener that clients may use")
    _check_inter_broker(settings, found)
    _check_ports(found, nodes)
    _check_prefixes(settings, found, controllers)
    return found


def read_advertised(settings: Settings, listeners: Iterable[ListenerSettings], nodes: int = 1) -> dict[str, Advertised]:
    """Addresses as clients get them, by listener; a listener without one: what each client has dialled."""
    text = settings.advertised_listeners.strip()
    if not text:
        return {}
    names = {each.name for each in listeners}
    controllers = {each.strip().upper() for each in settings.given.get("controller.listener.names", "").split(",")}
    advertised = {}
    for name, host, port in _endpoints("advertised.listeners", text):
        if name in controllers:
            continue
        if name not in names:
            raise SettingError(f"advertised.listeners names {name}, which listeners does not: give both the same names")
        if host in ("", "0.0.0.0", "::"):
            raise SettingError(f"advertised.listeners names no host for {name} that clients could dial")
        advertised[name] = Advertised([(host, port + number if port else 0) for number in range(nodes)])
    return advertised


def _endpoints(setting: str, text: str) -> Iterable[tuple[str, str, int]]:
    seen: set[str] = set()
    for each in text.split(","):
        match = _ENDPOINT.fullmatch(each.strip())
        if match is None or int(match["port"]) > HIGHEST_PORT:
            raise SettingError(
                f"{setting}={text}: {each.strip() or 'an empty part'} is no listener; write NAME://HOST:PORT, as in "
                "SASL_SSL://127.0.0.1:9093"
            )
        name = match["name"].upper()
        if name in seen:
            raise SettingError(f"{setting} names {name} twice; each listener has a name of its own")
        seen.add(name)
        yield name, match["host"].strip("[]"), int(match["port"])


def _protocols(text: str) -> dict[str, str]:
    setting = "listener.security.protocol.map"
    protocols = {}
    for each in filter(None, (part.strip() for part in text.split(","))):
        name, colon, protocol = each.partition(":")
        if not colon or protocol.strip().upper() not in PROTOCOLS:
            raise SettingError(f"{setting}: {each} maps no listener; write NAME:PROTOCOL with {', '.join(PROTOCOLS)}")
        protocols[name.strip().upper()] = protocol.strip().upper()
    return protocols


def _protocol_of(name: str, protocols: Mapping[str, str]) -> str:
    if name not in protocols:
        raise SettingError(
            f"listeners names {name}, and listener.security.protocol.map does not say what it speaks; add "
            f"{name}:SASL_SSL, or another of {', '.join(PROTOCOLS)}"
        )
    return protocols[name]


def _check_inter_broker(settings: Settings, found: Iterable[ListenerSettings]) -> None:
    """Brokers of one process have nothing to say to one another by network; what is set must fit all the same."""
    name = settings.given.get("inter.broker.listener.name", "").strip().upper()
    protocol = settings.given.get("security.inter.broker.protocol", "").strip().upper()
    if name and protocol:
        raise SettingError("inter.broker.listener.name and security.inter.broker.protocol are both set; set one")
    if name and name not in {each.name for each in found}:
        raise SettingError(f"inter.broker.listener.name={name} is none of listeners")
    if protocol and protocol not in PROTOCOLS:
        raise SettingError(f"security.inter.broker.protocol={protocol}: it is one of {', '.join(PROTOCOLS)}")


def _check_ports(found: Iterable[ListenerSettings], nodes: int) -> None:
    taken: dict[int, str] = {}
    for listener in found:
        for port in range(listener.port, listener.port + nodes) if listener.port else ():
            if port > HIGHEST_PORT:
                raise SettingError(f"listeners: {nodes} nodes need ports beyond {HIGHEST_PORT} for {listener.name}")
            if port in taken:
                raise SettingError(
                    f"listeners: {listener.name} and {taken[port]} want the same port {port}"
                    + (f"; {nodes} nodes take {nodes} ports in a row" if nodes > 1 else "")
                )
            taken[port] = listener.name


def _check_prefixes(settings: Settings, found: Iterable[ListenerSettings], controllers: Iterable[str]) -> None:
    names = {each.name.lower() for each in found}
    there = ", ".join(sorted(names)).upper()
    for setting in settings.given:
        if setting.startswith(PREFIX):
            name = setting[len(PREFIX) :].partition(".")[0]
            if name != name.lower():
                raise SettingError(f"{setting}: the name of a listener is written in lower case there: {name.lower()}")
            if name not in names and name.upper() not in controllers:
                raise SettingError(f"{setting}: there is no listener {name.upper()}; listeners names {there}")
