"""The SASL mechanisms of a listener, according to its settings. Loaded only for listeners with a login.

Source: Kafka's `ChannelBuilders`, `JaasContext.loadServerContext`; logins.md §1.
"""

from __future__ import annotations

import secrets
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import unquote, urlsplit

from kohort.base.logs import log
from kohort.broker.settings.setting import SettingError
from kohort.protocol.releases import rules_of
from kohort.security.jaas import JaasError, JaasLine, parse_jaas
from kohort.security.sasl.login import Login
from kohort.security.sasl.oauthbearer import OAuthBearer, TokenValidator
from kohort.security.sasl.plain_login import Plain
from kohort.security.sasl.scram import Scram, ScramCredential, ScramMechanism
from kohort.security.sasl.unsecured_tokens import UnsecuredTokens

if TYPE_CHECKING:
    from collections.abc import Callable

    from kohort.broker.settings.listeners import ListenerOptions
    from kohort.security.sasl.mechanism import Mechanism

MECHANISMS = ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512", "OAUTHBEARER")

VALIDATOR = "org.apache.kafka.common.security.oauthbearer.OAuthBearerValidatorCallbackHandler"
_VALIDATORS = (VALIDATOR, VALIDATOR.replace("oauthbearer.", "oauthbearer.secured."))

FETCH_S = 10.0  # timeout of the request for a JWKS document

MOST_BYTES = 1_048_576  # longer documents are truncated, and rejected as invalid JSON


def new_logins(
    options: ListenerOptions, credential: Callable[[ScramMechanism, str], ScramCredential | None]
) -> Callable[[], Login]:
    """Return a function that creates the login of a connection.

    Args:
        credential: Returns a user's SCRAM credential, or None.

    Raises:
        SettingError: If the listener's settings are invalid.
    """
    name, text = options.named("sasl.enabled.mechanisms")
    enabled = [mechanism.strip() for mechanism in (text or "GSSAPI").split(",")]
    mechanisms: dict[str, Mechanism] = {}
    most_ms: dict[str, int] = {}
    for mechanism in enabled:
        if mechanism not in MECHANISMS:
            default = "" if text else ", which is Kafka's default,"
            raise SettingError(
                f"{name}: {mechanism or 'an empty name'}{default} is not supported; supported: {', '.join(MECHANISMS)}"
            )
        mechanisms[mechanism] = _mechanism(mechanism, options, credential)
        most_ms[mechanism] = _whole_number(options, "connections.max.reauth.ms", mechanism, 0)
    return partial(Login, mechanisms, most_ms)


def _mechanism(
    name: str, options: ListenerOptions, credential: Callable[[ScramMechanism, str], ScramCredential | None]
) -> Mechanism:
    setting, line = _jaas(options, name)
    if name == "PLAIN":
        return Plain(_users(setting, line))
    if name == "OAUTHBEARER":
        return OAuthBearer(_validator(options, setting, line))
    return Scram(ScramMechanism[name.replace("-", "_")], credential, partial(secrets.token_urlsafe, 20))


def _jaas(options: ListenerOptions, mechanism: str) -> tuple[str, JaasLine | None]:
    """Return the setting's name and its line, or None if it is not set, which is an error only for PLAIN."""
    setting, text = options.named("sasl.jaas.config", mechanism)
    if not text:
        return setting, None
    try:
        return setting, parse_jaas(text)
    except JaasError as error:
        raise SettingError(f"{setting} {error}") from None


def _users(setting: str, line: JaasLine | None) -> dict[str, str]:
    if line is None:
        raise SettingError(
            f"{setting} must be set, as sasl.enabled.mechanisms contains PLAIN; example: "
            'org.apache.kafka.common.security.plain.PlainLoginModule required user_alice="…" user_bob="…";'
        )
    return {name.removeprefix("user_"): value for name, value in line.options.items() if name.startswith("user_")}


def _validator(options: ListenerOptions, setting: str, line: JaasLine | None) -> TokenValidator:
    name, handler = options.named("sasl.server.callback.handler.class", "OAUTHBEARER")
    if not handler:
        try:
            return UnsecuredTokens(None if line is None else line.options)
        except ValueError:
            raise SettingError(
                f"{setting}: unsecuredValidatorAllowableClockSkewMs must be a non-negative integer"
            ) from None
    if handler not in _VALIDATORS:
        raise SettingError(f"{name}={handler} is not supported; {VALIDATOR} is")
    return _signed(options)


def _signed(options: ListenerOptions) -> TokenValidator:
    try:
        from kohort.security.sasl.signed_tokens import KeysError, SignedTokens, TokenRules
    except ModuleNotFoundError as missing:
        raise SettingError(
            f"signed tokens require {missing.name}; install it with pip install 'kohort[security]'"
        ) from None
    rules = TokenRules(
        audiences=tuple(item.strip() for item in _expected(options, "audience").split(",") if item.strip()),
        issuer=_expected(options, "issuer"),
        name_claim=options.get("sasl.oauthbearer.sub.claim.name", "OAUTHBEARER") or "sub",
        skew_seconds=_whole_number(options, "sasl.oauthbearer.clock.skew.seconds", "OAUTHBEARER", 30),
    )
    name, url = options.named("sasl.oauthbearer.jwks.endpoint.url", "OAUTHBEARER")

    def new_validator() -> TokenValidator:
        return SignedTokens(_document(name, url), rules)

    try:
        if urlsplit(url).scheme != "file":
            return new_validator()
        from kohort.broker.runtime.changing_keys import ChangingKeys

        return ChangingKeys(_path_of(url), new_validator)
    except KeysError as error:
        raise SettingError(f"{name}: {url} {error}") from None


def _expected(options: ListenerOptions, claim: str) -> str:
    """Return the expected audiences or the expected issuer; empty if any is accepted.

    Raises:
        SettingError: None is set, and accepting any is not allowed, which Kafka requires since 4.4.
    """
    expected = options.get(f"sasl.oauthbearer.expected.{claim}", "OAUTHBEARER")
    if expected or not rules_of(options.release).requires_verified_tokens:
        return expected
    name, allowed = options.named(f"sasl.oauthbearer.allow.unverified.{claim}", "OAUTHBEARER")
    if allowed not in ("", "true", "false"):
        raise SettingError(f"{name}={allowed} must be true or false")
    if allowed != "true":
        raise SettingError(
            f"signed tokens require sasl.oauthbearer.expected.{claim}; set {name}=true to accept any {claim}"
        )
    log.warning(f"{name}=true: tokens with any {claim} are accepted, because no expected {claim} is set")
    return ""


def _path_of(url: str) -> Path:
    return Path(unquote(urlsplit(url).path))


def _document(name: str, url: str) -> str:
    parts = urlsplit(url)
    if parts.scheme not in ("file", "http", "https"):
        raise SettingError(f"{name}={url}: signed tokens require the URL of a JWKS document, file: or https:")
    try:
        if parts.scheme == "file":
            return _path_of(url).read_text(encoding="utf-8")
        from urllib.request import urlopen

        with urlopen(url, timeout=FETCH_S) as answer:
            text: str = answer.read(MOST_BYTES).decode()
            return text
    except (OSError, ValueError) as error:
        raise SettingError(f"{name}: {url} cannot be read: {getattr(error, 'strerror', None) or error}") from None


def _whole_number(options: ListenerOptions, name: str, mechanism: str, default: int) -> int:
    full, text = options.named(name, mechanism)
    if not text:
        return default
    if not text.isascii() or not text.isdigit():
        raise SettingError(f"{full}={text} must be a non-negative integer")
    return int(text)
