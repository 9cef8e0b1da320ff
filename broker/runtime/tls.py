"""TLS contexts for a listener's settings, by Python's `ssl`. Loaded only for TLS listeners.

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
        f"listeners contains a TLS listener, which requires {missing.name}; run pip install 'kohort[security]'"
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
    """Create the context of a listener.

    Args:
        now_s: Seconds since 1970, for certificates.

    Raises:
        SettingError: If a setting or a store is invalid.
    """
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    _set_versions(context, options)
    store = _key_store(options)
    try:
        store.check(datetime.fromtimestamp(now_s, UTC))
        _load(context, store)
    except (StoreError, ssl.SSLError) as error:
        name = _location(options, "ssl.keystore")
        raise SettingError(
            f"{name} {error if isinstance(error, StoreError) else 'cannot be used: ' + str(error.reason)}"
        ) from None
    context.verify_mode = _client_auth(options)
    if context.verify_mode is not ssl.CERT_NONE:
        for certificate in _trusted(options):
            context.load_verify_locations(cadata=certificate)
    return context


def principal_from(options: ListenerOptions) -> Callable[[ssl.SSLObject], Principal]:
    """Return a function that returns the principal of a client certificate.

    Raises:
        SettingError: If the mapping rules are invalid.
    """
    name, text = options.named("ssl.principal.mapping.rules")
    try:
        rules = PrincipalRules(text or "DEFAULT")
    except RulesError as error:
        raise SettingError(f"{name} {error}") from None

    def principal_of(spoken: ssl.SSLObject) -> Principal:
        certificate = spoken.getpeercert(binary_form=True)
        return ANONYMOUS if certificate is None else Principal(USER, rules.name(owner_of(certificate)))

    return principal_of


def _set_versions(context: ssl.SSLContext, options: ListenerOptions) -> None:
    name, text = options.named("ssl.enabled.protocols")
    chosen = [version.strip() for version in (text or "TLSv1.2,TLSv1.3").split(",")]
    unknown = [version for version in chosen if version not in VERSIONS]
    if unknown:
        raise SettingError(f"{name} contains {unknown[0]!r}; supported: {' and '.join(VERSIONS)}")
    context.minimum_version = min(VERSIONS[version] for version in chosen)
    context.maximum_version = max(VERSIONS[version] for version in chosen)


def _client_auth(options: ListenerOptions) -> ssl.VerifyMode:
    """Return the verification mode. On a listener with SASL only the listener's own setting counts, as in Kafka."""
    name, text = options.named("ssl.client.auth")
    value = options.own("ssl.client.auth") if options.listener.asks_login else text
    chosen = CLIENT_AUTH.get((value or "none").lower())
    if chosen is None:
        raise SettingError(f"{name}={value}: must be one of {', '.join(CLIENT_AUTH)}")
    return chosen


def _key_store(options: ListenerOptions) -> KeyAndChain:
    key_name, key = options.named("ssl.keystore.key")
    chain_name, chain = options.named("ssl.keystore.certificate.chain")
    password = options.get("ssl.key.password")
    if bool(key) != bool(chain):
        raise SettingError(f"{key_name} and {chain_name} must be set together; set both, or ssl.keystore.location")
    kind = _type(options, "ssl.keystore")
    if key:
        if kind != "PEM":
            raise SettingError(f"{key_name} is PEM, and ssl.keystore.type is {kind}; set it to PEM")
        name, data = key_name, f"{chain}\n{key}\n".encode()
    else:
        name = _location(options, "ssl.keystore")
        if not options.get("ssl.keystore.location"):
            raise SettingError(f"listeners has {options.listener.name}, which uses TLS, but {name} is not set")
        data = _read(options, "ssl.keystore")
    try:
        if kind == "PEM":
            return key_and_chain_of_pem(data, password)
        return key_and_chain_of_store(data, options.get("ssl.keystore.password"), password)
    except StoreError as error:
        raise SettingError(f"{name} {error}") from None


def _trusted(options: ListenerOptions) -> list[str]:
    name, text = options.named("ssl.truststore.certificates")
    kind = _type(options, "ssl.truststore")
    try:
        if text:
            certificates = certificates_of_pem(text.encode())
        elif not options.get("ssl.truststore.location"):
            auth = options.named("ssl.client.auth")[0]
            raise SettingError(f"{auth} requests certificates, but ssl.truststore.location is not set")
        else:
            name, data = _location(options, "ssl.truststore"), _read(options, "ssl.truststore")
            password = options.get("ssl.truststore.password")
            certificates = certificates_of_pem(data) if kind == "PEM" else certificates_of_store(data, password)
    except StoreError as error:
        raise SettingError(f"{name} {error}") from None
    return [certificate.public_bytes(serialization.Encoding.PEM).decode() for certificate in certificates]


def _type(options: ListenerOptions, store: str) -> str:
    name, text = options.named(f"{store}.type")
    kind = (text or "JKS").upper()
    if kind not in STORE_TYPES:
        raise SettingError(f"{name}={text}: must be one of {', '.join(STORE_TYPES)}")
    return kind


def _location(options: ListenerOptions, store: str) -> str:
    """Return the setting's name, with the path if it is set."""
    name, path = options.named(f"{store}.location")
    return f"{name}: {path}" if path else name


def _read(options: ListenerOptions, store: str) -> bytes:
    name, path = options.named(f"{store}.location")
    try:
        return Path(path).read_bytes()
    except (OSError, ValueError) as error:
        raise SettingError(f"{name}: {path} cannot be read: {getattr(error, 'strerror', None) or error}") from None


def _load(context: ssl.SSLContext, store: KeyAndChain) -> None:
    """Load key and chain from a temporary file, which only this user can read: `ssl` takes a chain from a file only."""
    handle, name = tempfile.mkstemp(suffix=".pem")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(store.pem())
        context.load_cert_chain(name)
    finally:
        os.unlink(name)
