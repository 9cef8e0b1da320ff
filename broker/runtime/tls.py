"""TLS as a listener's settings want it, by Python's `ssl`. Loaded only for listeners that speak it.

Source: Kafka's `SslConfigs`, `DefaultSslEngineFactory`; logins.md §1, §2.
"""

from __future__ import annotations

import os
import ssl
import tempfile
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from kohort.broker.settings.setting import SettingError

try:
    from cryptography.hazmat.primitives import serialization

    from kohort.security.distinguished_name import owner_of
    from kohort.security.stores import (
        KeyAndChain,
        StoreError,
        certificates_of_pem,
        certificates_of_store,
        key_and_chain_of_pem,
        key_and_chain_of_store,
    )
except ModuleNotFoundError as missing:
    raise SettingError(
        f"listeners names one that speaks TLS, which needs {missing.name}; pip install 'kohort[security]' brings it"
    ) from None

from kohort.security.principal import ANONYMOUS, USER, Principal
from kohort.security.principal_rules import PrincipalRules, RulesError

if TYPE_CHECKING:
    from collections.abc import Callable

    from kohort.broker.settings.listeners import ListenerOptions

VERSIONS = {"TLSv1.2": ssl.TLSVersion.TLSv1_2, "TLSv1.3": ssl.TLSVersion.TLSv1_3}

CLIENT_AUTH = {"none": ssl.CERT_NONE, "requested": ssl.CERT_OPTIONAL, "required": ssl.CERT_REQUIRED}

STORE_TYPES = ("JKS", "PKCS12", "PEM")


def tls_context(options: ListenerOptions, now_s: float) -> ssl.SSLContext:
    """What a listener shows and asks for. `now_s`: seconds since 1970, for certificates. Raises SettingError."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    _set_versions(context, options)
    store = _key_store(options)
    try:
        store.check(datetime.fromtimestamp(now_s, UTC))
        _load(context, store)
    except (StoreError, ssl.SSLError) as problem:
        name = _location(options, "ssl.keystore")
        raise SettingError(
            f"{name} {problem if isinstance(problem, StoreError) else 'cannot be used: ' + str(problem.reason)}"
        ) from None
    context.verify_mode = _client_auth(options)
    if context.verify_mode is not ssl.CERT_NONE:
        for certificate in _trusted(options):
            context.load_verify_locations(cadata=certificate)
    return context


def principal_from(options: ListenerOptions) -> Callable[[ssl.SSLObject], Principal]:
    """What tells whom a client's certificate names. Raises SettingError."""
    name, text = options.named("ssl.principal.mapping.rules")
    try:
        rules = PrincipalRules(text or "DEFAULT")
    except RulesError as problem:
        raise SettingError(f"{name} {problem}") from None

    def principal_of(spoken: ssl.SSLObject) -> Principal:
        certificate = spoken.getpeercert(binary_form=True)
        return ANONYMOUS if certificate is None else Principal(USER, rules.name(owner_of(certificate)))

    return principal_of


def _set_versions(context: ssl.SSLContext, options: ListenerOptions) -> None:
    name, text = options.named("ssl.enabled.protocols")
    chosen = [each.strip() for each in (text or "TLSv1.2,TLSv1.3").split(",")]
    unknown = [each for each in chosen if each not in VERSIONS]
    if unknown:
        raise SettingError(f"{name} names {unknown[0]!r}; there are {' and '.join(VERSIONS)}")
    context.minimum_version = min(VERSIONS[each] for each in chosen)
    context.maximum_version = max(VERSIONS[each] for each in chosen)


def _client_auth(options: ListenerOptions) -> ssl.VerifyMode:
    """On a listener with SASL only what is set for it alone counts, as in Kafka."""
    name, text = options.named("ssl.client.auth")
    value = options.own("ssl.client.auth") if options.listener.asks_login else text
    chosen = CLIENT_AUTH.get((value or "none").lower())
    if chosen is None:
        raise SettingError(f"{name}={value}: it is one of {', '.join(CLIENT_AUTH)}")
    return chosen


def _key_store(options: ListenerOptions) -> KeyAndChain:
    key_name, key = options.named("ssl.keystore.key")
    chain_name, chain = options.named("ssl.keystore.certificate.chain")
    password = options.get("ssl.key.password")
    if bool(key) != bool(chain):
        raise SettingError(f"{key_name} and {chain_name} belong together; set both, or ssl.keystore.location")
    kind = _type(options, "ssl.keystore")
    if key:
        if kind != "PEM":
            raise SettingError(f"{key_name} is PEM, and ssl.keystore.type is {kind}; set it to PEM")
        name, data = key_name, f"{chain}\n{key}\n".encode()
    else:
        name = _location(options, "ssl.keystore")
        if not options.get("ssl.keystore.location"):
            raise SettingError(f"listeners has {options.listener.name}, which speaks TLS, and {name} is not set")
        data = _read(options, "ssl.keystore")
    try:
        if kind == "PEM":
            return key_and_chain_of_pem(data, password)
        return key_and_chain_of_store(data, options.get("ssl.keystore.password"), password)
    except StoreError as problem:
        raise SettingError(f"{name} {problem}") from None


def _trusted(options: ListenerOptions) -> list[str]:
    """Certificates in PEM."""
    name, text = options.named("ssl.truststore.certificates")
    kind = _type(options, "ssl.truststore")
    try:
        if text:
            found = certificates_of_pem(text.encode())
        elif not options.get("ssl.truststore.location"):
            auth = options.named("ssl.client.auth")[0]
            raise SettingError(f"{auth} asks for certificates, and ssl.truststore.location does not say which to trust")
        else:
            name, data = _location(options, "ssl.truststore"), _read(options, "ssl.truststore")
            password = options.get("ssl.truststore.password")
            found = certificates_of_pem(data) if kind == "PEM" else certificates_of_store(data, password)
    except StoreError as problem:
        raise SettingError(f"{name} {problem}") from None
    return [each.public_bytes(serialization.Encoding.PEM).decode() for each in found]


def _type(options: ListenerOptions, store: str) -> str:
    name, text = options.named(f"{store}.type")
    kind = (text or "JKS").upper()
    if kind not in STORE_TYPES:
        raise SettingError(f"{name}={text}: it is one of {', '.join(STORE_TYPES)}")
    return kind


def _location(options: ListenerOptions, store: str) -> str:
    """The name of the setting, and the file behind it."""
    name, place = options.named(f"{store}.location")
    return f"{name}: {place}" if place else name


def _read(options: ListenerOptions, store: str) -> bytes:
    name, place = options.named(f"{store}.location")
    try:
        return Path(place).read_bytes()
    except (OSError, ValueError) as problem:
        raise SettingError(f"{name}: {place} cannot be read: {getattr(problem, 'strerror', None) or problem}") from None


def _load(context: ssl.SSLContext, store: KeyAndChain) -> None:
    """Python's ssl takes a chain from a file only: one that nobody else may read, for as long as it takes."""
    handle, name = tempfile.mkstemp(suffix=".pem")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(store.pem())
        context.load_cert_chain(name)
    finally:
        os.unlink(name)
