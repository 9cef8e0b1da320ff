"""Signed tokens: whose signature counts, what a token must say, and keys that are replaced while the broker runs."""

from __future__ import annotations

import json
from base64 import urlsafe_b64encode
from io import StringIO
from pathlib import Path
from typing import Any

import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric import ec, rsa

from kohort.base.logs import log
from kohort.broker.runtime.mechanisms import VALIDATOR, new_logins
from kohort.broker.settings.listeners import ListenerOptions, ListenerSettings
from kohort.broker.settings.setting import SettingError
from kohort.security.sasl.login import FailedLogin, Login, State

NOW_S = 1_700_000_000
CLAIMS = {"sub": "alice", "iat": NOW_S - 10, "exp": NOW_S + 600, "aud": "kafka", "iss": "us"}
OLD, NEW = ec.generate_private_key(ec.SECP256R1()), ec.generate_private_key(ec.SECP256R1())


def write_keys(path: Path, *keys: Any) -> None:
    """Write the public keys to a new file that replaces the old one, like `mv`."""
    new = path.with_suffix(".new")
    documents = [json.loads(jwt.algorithms.ECAlgorithm.to_jwk(key.public_key())) for key in keys]
    new.write_text(json.dumps({"keys": [{**document, "alg": "ES256", "use": "sig"} for document in documents]}))
    new.replace(path)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    found = tmp_path / "keys.json"
    write_keys(found, OLD)
    return found


def listener(path: Path, **settings: str) -> Any:
    given = {
        "sasl.enabled.mechanisms": "OAUTHBEARER",
        "sasl.server.callback.handler.class": VALIDATOR,
        "sasl.oauthbearer.jwks.endpoint.url": path.as_uri(),
        "sasl.oauthbearer.expected.audience": "kafka",
        "sasl.oauthbearer.expected.issuer": "us",
    } | {name.replace("_", "."): value for name, value in settings.items()}
    return new_logins(ListenerOptions(ListenerSettings("S", "SASL_PLAINTEXT", "", 1), given), lambda *_: None)


def signed(key: Any = OLD, algorithm: str = "ES256", **claims: Any) -> str:
    said = {name: value for name, value in (CLAIMS | claims).items() if value is not None}
    return jwt.encode(said, key, algorithm)


def comes_in(login: Login, token: str) -> bool:
    """Return whether the token is accepted; a rejected client fails at its next message."""
    login.handshake("OAUTHBEARER", 1)
    login.authenticate(f"n,,\x01auth=Bearer {token}\x01\x01".encode(), 0, NOW_S * 1_000)
    if login.state is State.COMPLETE:
        return str(login.principal) == "User:alice"
    with pytest.raises(FailedLogin, match="invalid_token"):
        login.authenticate(b"\x01", 0, NOW_S * 1_000)
    return False


def unsigned() -> str:
    parts = [urlsafe_b64encode(json.dumps(each).encode()).decode().rstrip("=") for each in ({"alg": "none"}, CLAIMS)]
    return f"{parts[0]}.{parts[1]}."


def test_token_with_known_key(path: Path) -> None:
    assert comes_in(listener(path)(), signed())


@pytest.mark.parametrize(
    "token",
    [
        unsigned(),
        signed(NEW),
        signed(rsa.generate_private_key(65_537, 2_048), "RS256"),
        signed("a secret of at least 32 characters, for HMAC", "HS256"),
        signed(aud="another"),
        signed(iss="them"),
        signed(exp=NOW_S - 31),
        signed(iat=NOW_S + 31),
        signed(exp=None),
        signed(sub=None),
        signed(sub="\ud800"),
        "x" * 500_000,
    ],
    # A signature is another one each time, and a test has one name.
    ids=[
        "unsigned",
        "key",
        "RSA",
        "HMAC",
        "audience",
        "issuer",
        "expired",
        "future",
        "no exp",
        "no sub",
        "half a pair",
        "long",
    ],
)
def test_rejected_tokens(path: Path, token: str) -> None:
    assert not comes_in(listener(path)(), token)


def test_clock_skew_of_30_seconds(path: Path) -> None:
    assert comes_in(listener(path)(), signed(exp=NOW_S - 29))


def test_replaced_keys_apply_to_next_login(path: Path) -> None:
    new_login = listener(path)
    assert not comes_in(new_login(), signed(NEW))
    write_keys(path, NEW)
    assert comes_in(new_login(), signed(NEW))
    assert not comes_in(new_login(), signed(OLD))


def test_broken_key_file_keeps_old_keys(path: Path) -> None:
    told = StringIO()
    log.configure(level="warning", stream=told)
    new_login = listener(path)
    path.write_text("{")
    assert comes_in(new_login(), signed())
    assert comes_in(new_login(), signed())
    assert told.getvalue().count("has changed and cannot be used") == 1
    path.unlink()
    assert comes_in(new_login(), signed())


def test_invalid_key_file_at_start(path: Path) -> None:
    path.write_text('{"keys": []}')
    with pytest.raises(SettingError, match=r"jwks\.endpoint\.url.*not a JWKS document"):
        listener(path)


@pytest.mark.parametrize("claim", ["issuer", "audience"])
def test_expected_claim_is_required(path: Path, claim: str) -> None:
    with pytest.raises(SettingError, match=rf"sasl\.oauthbearer\.expected\.{claim}.*allow\.unverified\.{claim}=true"):
        listener(path, **{f"sasl_oauthbearer_expected_{claim}": ""})


@pytest.mark.parametrize(("claim", "token"), [("issuer", signed(iss="them")), ("audience", signed(aud="another"))])
def test_unverified_claim_is_accepted_if_allowed(path: Path, claim: str, token: str) -> None:
    warnings = StringIO()
    log.configure(level="warning", stream=warnings)
    settings = {f"sasl_oauthbearer_expected_{claim}": "", f"sasl_oauthbearer_allow_unverified_{claim}": "true"}
    assert comes_in(listener(path, **settings)(), token)
    assert f"tokens with any {claim} are accepted" in warnings.getvalue()


def test_older_release_accepts_any_issuer(path: Path) -> None:
    new_login = listener(path, kohort_as_kafka="4.3", sasl_oauthbearer_expected_issuer="")
    assert comes_in(new_login(), signed(iss="them"))


def test_invalid_permission_is_rejected(path: Path) -> None:
    with pytest.raises(SettingError, match="must be true or false"):
        listener(path, sasl_oauthbearer_expected_issuer="", sasl_oauthbearer_allow_unverified_issuer="yes")
