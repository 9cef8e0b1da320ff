"""Conversations of clients that log in, with a clock that the test owns. Order and words: logins.md §3."""

import base64
import json
from typing import Any

import pytest

from kohort.protocol.errors import ErrorCode
from kohort.security.principal import ANONYMOUS, Principal
from kohort.security.sasl.login import (
    API_VERSIONS,
    ORDER,
    SASL_AUTHENTICATE,
    SASL_HANDSHAKE,
    FailedLogin,
    Login,
    Progress,
    State,
    Verdict,
)
from kohort.security.sasl.mechanism import Mechanism
from kohort.security.sasl.oauthbearer import OAuthBearer
from kohort.security.sasl.plain_login import Plain
from kohort.security.sasl.unsecured_tokens import UnsecuredTokens

METADATA = 3
WALL_MS = 1_700_000_000_000
ALICE, BOB = b"\0alice\0alice-secret", b"\0bob\0bob-secret"


def new_login(most_ms: int = 0) -> Login:
    plain = Plain({"alice": "alice-secret", "bob": "bob-secret"})
    mechanisms: dict[str, Mechanism] = {"PLAIN": plain, "OAUTHBEARER": OAuthBearer(UnsecuredTokens())}
    return Login(mechanisms, dict.fromkeys(mechanisms, most_ms))


def logged_in(most_ms: int = 0) -> Login:
    login = new_login(most_ms)
    assert login.handshake("PLAIN", 1) is ErrorCode.none
    login.authenticate(ALICE, 0, WALL_MS)
    return login


def bearer(authzid: str = "", **claims: Any) -> bytes:
    parts = ({"alg": "none"}, {"sub": "fay", "iat": WALL_MS // 1000, "exp": WALL_MS // 1000 + 60} | claims)
    token = ".".join(base64.urlsafe_b64encode(json.dumps(each).encode()).decode().rstrip("=") for each in parts)
    return f"n,{authzid},\x01auth=Bearer {token}.\x01\x01".encode()


def test_every_state_handles_every_request() -> None:
    assert set(ORDER) == set(State)
    keys = {"versions": API_VERSIONS, "handshake": SASL_HANDSHAKE, "authenticate": SASL_AUTHENTICATE, "other": METADATA}
    told = {state.name: [ORDER[state][0].get(key, ORDER[state][1]).name for key in keys.values()] for state in State}
    assert told == {
        "NEW": ["ADMIT", "ADMIT", "CLOSE", "CLOSE"],
        "VERSIONS_ASKED": ["CLOSE", "ADMIT", "CLOSE", "CLOSE"],
        "HANDSHAKEN": ["REFUSE", "REFUSE", "ADMIT", "REFUSE"],
        "HANDSHAKEN_BARE": ["BARE"] * 4,
        "OTHER_MECHANISM": ["CLOSE_LATE"] * 4,
        "COMPLETE": ["ADMIT"] * 4,
        "FAILED": ["CLOSE"] * 4,
    }


def test_plain_authentication() -> None:
    login = new_login()
    assert login.admits(METADATA, 0) is Verdict.CLOSE
    assert login.admits(API_VERSIONS, 0) is Verdict.ADMIT
    login.versions_asked()
    assert login.admits(API_VERSIONS, 0) is Verdict.CLOSE
    assert login.handshake("PLAIN", 1) is ErrorCode.none
    assert login.principal == ANONYMOUS
    assert login.authenticate(ALICE, 0, WALL_MS) == Progress(b"", 0)
    assert login.principal == Principal("User", "alice")
    assert login.admits(METADATA, 10**9) is Verdict.ADMIT
    assert not login.has_session


def test_handshake_v0_announces_bare_messages() -> None:
    login = new_login()
    login.handshake("PLAIN", 0)
    assert login.admits(METADATA, 0) is Verdict.BARE


def test_unknown_mechanism() -> None:
    login = new_login()
    assert login.handshake("plain", 1) is ErrorCode.unsupported_sasl_mechanism
    assert login.admits(SASL_HANDSHAKE, 0) is Verdict.CLOSE


def test_unlimited_session_has_no_renewal() -> None:
    assert logged_in().handshake("PLAIN", 1) is ErrorCode.illegal_sasl_state


@pytest.mark.parametrize(
    ("message", "words"),
    [
        (b"alice", "Invalid SASL/PLAIN response: expected 3 tokens, got 1"),
        (b"", "Invalid SASL/PLAIN response: expected 3 tokens, got 1"),
        (b"\0a\0b\0c\0d\0e", "Invalid SASL/PLAIN response: expected 3 tokens, got 4"),
        (b"\0\0x", "Authentication failed: username not specified"),
        (b"\0alice\0", "Authentication failed: password not specified"),
        (b"\0alice\0wrong", "Authentication failed: Invalid username or password"),
        (b"\0carol\0wrong", "Authentication failed: Invalid username or password"),
        (b"\xff\0\xff\0\xff", "Authentication failed: Invalid username or password"),
        (b"bob" + ALICE, "Authentication failed: Client requested an authorization id that is different from username"),
    ],
)
def test_plain_rejections(message: bytes, words: str) -> None:
    login = new_login()
    login.handshake("PLAIN", 1)
    with pytest.raises(FailedLogin) as failure:
        login.authenticate(message, 0, WALL_MS)
    assert (str(failure.value), failure.value.at_once) == (words, False)
    assert login.state is State.FAILED
    assert "secret" not in failure.value.reason


def test_session_expires_at_next_request() -> None:
    login = logged_in(2_000)
    assert login.admits(METADATA, 1_999) is Verdict.ADMIT
    assert login.admits(METADATA, 2_000) is Verdict.CLOSE


def test_session_can_be_renewed_repeatedly() -> None:
    login = logged_in(2_000)
    for now_ms in (500, 2_400, 5_000):  # the last one is late, and the first thing said
        assert login.admits(SASL_HANDSHAKE, now_ms) is Verdict.ADMIT
        assert login.handshake("PLAIN", 1) is ErrorCode.none
        assert login.admits(METADATA, now_ms) is Verdict.REFUSE
        assert login.authenticate(ALICE, now_ms, WALL_MS) == Progress(b"", 2_000)
        assert login.admits(METADATA, now_ms + 1_999) is Verdict.ADMIT


def test_early_renewal_is_rejected() -> None:
    login = logged_in(2_000)
    login.admits(SASL_HANDSHAKE, 100)
    login.handshake("PLAIN", 1)
    login.authenticate(ALICE, 100, WALL_MS)
    assert login.admits(SASL_HANDSHAKE, 1_099) is Verdict.ADMIT
    assert login.handshake("PLAIN", 1) is ErrorCode.illegal_sasl_state
    assert login.admits(METADATA, 1_100) is Verdict.ADMIT


def test_other_mechanism_is_rejected_late() -> None:
    login = logged_in(2_000)
    login.admits(SASL_HANDSHAKE, 100)
    assert login.handshake("OAUTHBEARER", 1) is ErrorCode.none
    assert login.admits(SASL_AUTHENTICATE, 100) is Verdict.CLOSE_LATE


def test_nobody_becomes_somebody_else() -> None:
    login = logged_in(2_000)
    login.admits(SASL_HANDSHAKE, 100)
    login.handshake("PLAIN", 1)
    with pytest.raises(
        FailedLogin, match=r"^Cannot change principals during re-authentication from User.alice: User.bob$"
    ):
        login.authenticate(BOB, 100, WALL_MS)


def test_token_expiry_ends_session_early() -> None:
    login = new_login(100_000)
    login.handshake("OAUTHBEARER", 1)
    assert login.authenticate(bearer(), 0, WALL_MS) == Progress(b"", 60_000)
    assert login.principal.name == "fay"
    assert login.admits(METADATA, 60_000) is Verdict.CLOSE


@pytest.mark.parametrize(
    "claims",
    [
        {"exp": 1},
        {"iat": WALL_MS},
        {"sub": None},
        {"sub": ""},
        {"sub": " "},
        {"sub": "\ud800"},
        {"sub": 5},
        {"exp": None},
        {"exp": "soon"},
        {"exp": 1e300},
    ],
)
def test_bad_token_is_rejected_twice(claims: dict[str, Any]) -> None:
    login = new_login()
    login.handshake("OAUTHBEARER", 1)
    assert login.authenticate(bearer(**claims), 0, WALL_MS) == Progress(b'{"status":"invalid_token"}')
    with pytest.raises(FailedLogin, match=r'^{"status":"invalid_token"}$'):
        login.authenticate(b"\x01", 0, WALL_MS)


@pytest.mark.parametrize(
    "message",
    [b"nonsense", b"n,,\x01\x01", b"n,,\x01auth=Basic x\x01\x01", b"\x01", b"n,,\x01auth=Bearer " + b"x" * 1_000_000],
)
def test_rejects_malformed_bearer_message(message: bytes) -> None:
    login = new_login()
    login.handshake("OAUTHBEARER", 1)
    with pytest.raises(FailedLogin, match=r"invalid credentials with SASL mechanism OAUTHBEARER$") as failure:
        login.authenticate(message, 0, WALL_MS)
    assert failure.value.at_once


def test_bearer_cannot_act_for_others() -> None:
    login = new_login()
    login.handshake("OAUTHBEARER", 1)
    with pytest.raises(FailedLogin, match="different from the token's principal name"):
        login.authenticate(bearer("a=admin"), 0, WALL_MS)
