"""Security settings of a connection, TLS and SASL, with the names of Kafka's own clients.

Contents of files are read on the driver and sent with the sources, because Spark workers do not have the files.
"""

from __future__ import annotations

import difflib
import os
import re
import ssl
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import unquote, urlsplit

from kohort.client.librdkafka_names import NAMES, in_javas_words
from kohort.client.settings_file import CLIENT, SettingsFileError, explain_names, read_settings_file

PROTOCOLS = ("PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL")
MECHANISMS = ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512", "OAUTHBEARER")

_UNDERSTOOD = (
    "security.protocol", "sasl.mechanism", "sasl.jaas.config", "ssl.truststore.type", "ssl.truststore.location",
    "ssl.truststore.certificates", "ssl.keystore.type", "ssl.keystore.location", "ssl.keystore.certificate.chain",
    "ssl.keystore.key", "ssl.key.password", "ssl.endpoint.identification.algorithm",
    "sasl.oauthbearer.token.endpoint.url",
)  # fmt: skip
# Accepted without effect: Python chooses versions and ciphers, and a PEM file of certificates has no password.
_LEFT_TO_PYTHON = (
    "ssl.protocol", "ssl.enabled.protocols", "ssl.cipher.suites", "ssl.provider", "ssl.keymanager.algorithm",
    "ssl.trustmanager.algorithm", "ssl.secure.random.implementation", "ssl.truststore.password",
    "ssl.keystore.password", "security.providers",
)  # fmt: skip
# Accepted without effect: Python chooses versions and ciphers, and a PEM file of certificates has no password.
_LEFT_OUT = re.compile(
    r"sasl\.(kerberos\.|login\.(connect|read|refresh|retry)\.|oauthbearer\.(clock|expected|header|jwks|scope|sub)\.)"
)
# Accepted without effect: tokens are read from files at each login, and the broker checks them.
_CLASSES = (
    "sasl.client.callback.handler.class", "sasl.login.callback.handler.class", "sasl.login.class",
    "sasl.oauthbearer.jwt.retriever.class", "sasl.oauthbearer.jwt.validator.class",
)  # fmt: skip
_KAFKAS_CLASSES = "org.apache.kafka.common.security."
# Accepted without effect: Kafka's own classes do the same, and its tools require some of them.

_CLIENT_SETTINGS = re.compile(
    r"acks$|allow\.auto\.create|api\.|auto\.|batch\.|bootstrap\.servers$|broker\.(address|version)|buffer\.memory$|"
    r"builtin\.|check\.crcs$|client\.|compression\.|config\.providers|connections\.max\.idle|coordinator\.query|debug$|"
    r"default\.api\.timeout|delivery\.|dr[._]|enable\.|enabled_events$|exclude\.internal|fetch\.|"
    r"group\.(id|instance\.id|protocol|remote\.assignor)|heartbeat\.interval|interceptor\.classes$|"
    r"internal\.termination|isolation\.level$|key\.(de)?serializer|linger\.ms$|log[._](queue|level|connection|thread)|"
    r"max\.(block|in\.flight|poll|partition\.fetch|request)|message\.|metadata\.|metrics?\.|offset\.store|"
    r"partition\.assignment|partitioner|plugin\.|queue(d|ing)?\.(buffering|strategy|min|max\.messages)|receive\.|"
    r"reconnect\.|request\.(timeout|required)|retries$|retry\.|sasl\.|security\.|send\.|session\.timeout|share\.|"
    r"socket\.(?!request|listen)|ssl\.|statistics\.|sticky\.|topic\.(?!replication)|transaction|value\.(de)?serializer"
)
# beginnings of setting names of Java clients and of librdkafka

_TOKEN_URL = "sasl.oauthbearer.token.endpoint.url"
_CLAIM = "unsecuredLoginStringClaim_sub"

_QUOTED = re.compile(r"(['\"]).*\1$", re.DOTALL)
_OPTION = re.compile(r"(\w+)\s*=\s*(\"(?:[^\"\\]|\\.)*\"|'(?:[^'\\]|\\.)*'|[^\s;\"']+)", re.DOTALL)


class SecurityError(ValueError):
    """An unsupported or invalid setting; the text names a valid one."""


@dataclass(frozen=True, slots=True)
class Security:
    """Settings of a connection. PEM texts, not file names. `repr` shows no secret."""

    protocol: str = "PLAINTEXT"
    mechanism: str = ""
    username: str = ""
    password: str = field(default="", repr=False)
    authorities: str = field(default="", repr=False)  # trusted certificates; empty means those of the system
    certificate: str = field(default="", repr=False)  # client certificate chain and key
    key_password: str = field(default="", repr=False)
    check_hostname: bool = True
    # File of the OAUTHBEARER token, read at each login; if empty, an unsecured token names `username`.
    token_file: str = ""
    # original settings, to pass them on under the same names
    settings: tuple[tuple[str, str], ...] = field(default=(), repr=False, compare=False)

    @property
    def tls(self) -> bool:
        return self.protocol in ("SSL", "SASL_SSL")

    @property
    def sasl(self) -> bool:
        return self.protocol.startswith("SASL_")

    @property
    def has_account(self) -> bool:
        """Whether the cluster sees an account: that of a login, or that of a client certificate."""
        return self.sasl or (self.tls and bool(self.certificate))

    @property
    def options(self) -> dict[str, str]:
        """Spark options for `group_log`."""
        return {f"kafka.{name}": value for name, value in self.settings}

    def context(self) -> ssl.SSLContext:
        """Build the TLS context.

        Raises:
            SecurityError: Certificates or key are unusable.
        """
        try:
            context = ssl.create_default_context(cadata=self.authorities or None)
            context.check_hostname = self.check_hostname
            if self.certificate:
                _load_chain(context, self.certificate, self.key_password)
        except (ssl.SSLError, ValueError) as error:
            raise SecurityError(f"the certificates can't be used: {error}") from None
        return context


OPEN = Security()  # plaintext without authentication


def from_file(path: Path) -> Security:
    """Read a properties file with the names of Kafka's own clients or of librdkafka.

    Settings that are not about security are ignored.

    Raises:
        SecurityError: The file cannot be read or understood, or a setting is not supported.
    """
    try:
        settings = read_settings_file(path)
    except SettingsFileError as error:
        raise SecurityError(str(error)) from None
    if reason := explain_names(settings, is_client_setting, CLIENT):
        raise SecurityError(f"{path}: {reason}")
    try:
        return from_settings(settings)
    except SecurityError as error:
        raise SecurityError(f"{path}: {error}") from None


def is_client_setting(name: str) -> bool:
    """Return whether a name starts like a setting of Kafka's clients in Java or of librdkafka."""
    return _CLIENT_SETTINGS.match(name) is not None


def from_settings(settings: Mapping[str, str]) -> Security:
    """Validate settings.

    Raises:
        SecurityError: A security setting is unknown or not supported.
    """
    for name, value in settings.items():
        if name.startswith(("security.", "sasl.", "ssl.")) and "password" not in name and _QUOTED.match(value.strip()):
            raise SecurityError(f"{name}: remove the quotes; in a properties file they are part of the value")
    try:
        spoken = in_javas_words({name: value.strip() for name, value in settings.items()})
    except ValueError as error:
        raise SecurityError(str(error)) from None
    ours = {name: value for name, value in spoken.items() if name.startswith(("security.", "sasl.", "ssl."))}
    accepted = (*_UNDERSTOOD, *_LEFT_TO_PYTHON, *_CLASSES)
    if unknown := [name for name in ours if name not in accepted and not _LEFT_OUT.match(name)]:
        raise SecurityError("; ".join(map(_not_supported, unknown)))
    for name, value in ours.items():
        if name in _CLASSES and not value.startswith(_KAFKAS_CLASSES):
            raise SecurityError(f"{name}={value} isn't supported: it is a Java class that is not Kafka's own")
        if value.startswith("${"):
            raise SecurityError(f"{name}: config providers ({value}) aren't followed; write the value itself")
    protocol = ours.get("security.protocol", "PLAINTEXT").upper()
    if protocol not in PROTOCOLS:
        raise SecurityError(f"security.protocol={protocol}: it is one of {', '.join(PROTOCOLS)}")
    mechanism, username, password = _login(ours) if protocol.startswith("SASL_") else ("", "", "")
    tls = protocol in ("SSL", "SASL_SSL")
    return Security(
        protocol,
        mechanism,
        username,
        password,
        _trusted(ours) if tls else "",
        _own_chain(ours) if tls else "",
        ours.get("ssl.key.password", ""),
        ours.get("ssl.endpoint.identification.algorithm", "https") != "",
        _token_file(ours) if mechanism == "OAUTHBEARER" else "",
        tuple(ours.items()),
    )


def _not_supported(name: str) -> str:
    near = difflib.get_close_matches(name, (*_UNDERSTOOD, *NAMES), 1, 0.8)
    hint = (
        f"; did you mean {near[0]}?"
        if near
        else ", here at least; PLAIN, SCRAM, OAUTHBEARER and TLS with PEM files are"
    )
    return f"{name} isn't supported{hint}"


def _login(settings: Mapping[str, str]) -> tuple[str, str, str]:
    mechanism = settings.get("sasl.mechanism", "GSSAPI").upper()
    if mechanism not in MECHANISMS:
        hint = " (Kafka's default)" if "sasl.mechanism" not in settings else ""
        raise SecurityError(f"sasl.mechanism={mechanism}{hint} isn't supported; there are {', '.join(MECHANISMS)}")
    jaas = settings.get("sasl.jaas.config", "")
    options = {name: _unquoted(value) for name, value in _OPTION.findall(jaas)}
    if mechanism == "OAUTHBEARER":
        return mechanism, _bearer(settings, options), ""
    missing = [name for name in ("username", "password") if name not in options]
    if missing:
        module = "plain.Plain" if mechanism == "PLAIN" else "scram.Scram"
        raise SecurityError(
            f"sasl.jaas.config names no {' and no '.join(missing)}; it looks like "
            f'org.apache.kafka.common.security.{module}LoginModule required username="…" password="…";'
        )
    if options.get("tokenauth", "").lower() == "true":
        raise SecurityError("sasl.jaas.config: delegation tokens (tokenauth) aren't supported")
    return mechanism, options["username"], options["password"]


def _bearer(settings: Mapping[str, str], options: Mapping[str, str]) -> str:
    """Return the subject of an unsecured token, or an empty text if there is a token file."""
    if _token_file(settings):
        return ""
    if _CLAIM not in options:
        raise SecurityError(
            f"sasl.mechanism=OAUTHBEARER wants a token: name its file with {_TOKEN_URL}=file:///…, or "
            f'the subject of an unsecured one with {_CLAIM}="…" in sasl.jaas.config'
        )
    return options[_CLAIM]


def _token_file(settings: Mapping[str, str]) -> str:
    url = settings.get(_TOKEN_URL, "")
    if url and not url.startswith("file:"):
        raise SecurityError(f"{_TOKEN_URL}={url}: tokens are read from files only; write one, and name it as file:///…")
    return unquote(urlsplit(url).path)


def _unquoted(value: str) -> str:
    return re.sub(r"\\(.)", r"\1", value[1:-1], flags=re.DOTALL) if value[0] in "\"'" else value


def _trusted(settings: Mapping[str, str]) -> str:
    return settings.get("ssl.truststore.certificates", "") or _pem(settings, "ssl.truststore.location")


def _own_chain(settings: Mapping[str, str]) -> str:
    chain, key = settings.get("ssl.keystore.certificate.chain", ""), settings.get("ssl.keystore.key", "")
    if bool(chain) != bool(key):
        raise SecurityError("ssl.keystore.certificate.chain and ssl.keystore.key belong together: give both")
    return f"{chain}\n{key}\n" if chain else _pem(settings, "ssl.keystore.location")


def _pem(settings: Mapping[str, str], name: str) -> str:
    path = settings.get(name, "")
    if not path:
        return ""
    try:
        data = Path(path).read_bytes()
    except OSError as error:
        raise SecurityError(f"{name}: {path} can't be read: {error.strerror}") from None
    if b"-----BEGIN " not in data:
        raise SecurityError(
            f"{name}: {path} isn't PEM. Make it so: keytool -importkeystore -srckeystore {path} -destkeystore "
            "store.p12 -deststoretype PKCS12, then openssl pkcs12 -in store.p12 -nodes -out store.pem"
        )
    return data.decode("utf-8", "replace")


def _load_chain(context: ssl.SSLContext, pem: str, password: str) -> None:
    """Load a certificate chain. Python's ssl needs a file for it: a temporary one that only this process can read."""
    handle, name = tempfile.mkstemp(suffix=".pem")
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(pem)
        # An empty password instead of a prompt on the terminal if a key is encrypted and no password is set.
        context.load_cert_chain(name, password=lambda: password)
    finally:
        os.unlink(name)
