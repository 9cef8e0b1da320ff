"""Principals of clients, by their logins through the proxy, without sockets."""

from __future__ import annotations

import pytest

from kohort.client.security import Security
from kohort.protocol.wire import INT, SHORT
from kohort.proxy.login_seen import UNSEEN, LoginSeen, before_login
from kohort.proxy.relay import Relay
from kohort.security.principal import ANONYMOUS, Principal
from tests.proxy.conversing import Elsewhere
from tests.support.frames import frame

ALICE = Principal("User", "alice")
PLAIN = b"\0alice\0secret"


class Login:
    """A client's connection, and its known principal."""

    def __init__(self) -> None:
        self.seen = LoginSeen()
        self.relay = Relay(Elsewhere(), login_seen=self.seen)

    def shakes_hands(self, mechanism: str, version: int = 1) -> None:
        """Pass a SaslHandshake; the cluster supports the mechanism."""
        self.relay.requests(frame("sasl_handshake", version, 1, mechanism=mechanism))
        self.hears(INT.pack(1) + SHORT.pack(0) + INT.pack(0))

    def says(self, message: bytes, version: int = 2, error: int = 0) -> Principal:
        """Pass a step of the login, and the cluster's response."""
        self.relay.requests(frame("sasl_authenticate", version, 2, auth_bytes=message))
        self.hears(INT.pack(2) + (b"\x00" if version >= 2 else b"") + SHORT.pack(error) + b"rest")
        return self.seen.principal

    def hears(self, answer: bytes) -> None:
        """Pass a response of the cluster."""
        self.relay.answers(INT.pack(len(answer)) + answer)


@pytest.fixture
def login() -> Login:
    return Login()


@pytest.mark.parametrize("version", [0, 1, 2])
def test_successful_login_sets_principal(login: Login, version: int) -> None:
    assert login.seen.principal == ANONYMOUS
    login.shakes_hands("PLAIN")
    assert login.says(PLAIN, version, error=58) == ANONYMOUS
    assert login.says(PLAIN, version) == ALICE


def test_scram_name_may_contain_commas(login: Login) -> None:
    login.shakes_hands("SCRAM-SHA-512")
    login.says(b"n,,n=a=2Cb=3Dc,r=nonce")
    assert login.says(b"c=biws,r=nonce,p=cHJvb2Y=") == Principal("User", "a,b=c")


def test_reauthentication_is_decoded(login: Login) -> None:
    login.shakes_hands("PLAIN")
    login.says(PLAIN)
    login.shakes_hands("SCRAM-SHA-256")
    login.says(b"n,,n=bob,r=nonce")
    assert login.says(b"c=biws,r=nonce,p=cHJvb2Y=") == Principal("User", "bob")


def test_legacy_tokens_in_any_pieces(login: Login) -> None:
    login.shakes_hands("PLAIN", version=0)
    for item in INT.pack(len(PLAIN)) + PLAIN:
        login.relay.requests(bytes((item,)))
    assert login.seen.principal == ANONYMOUS
    login.hears(b"")
    assert login.seen.principal == ALICE


@pytest.mark.parametrize(
    ("mechanism", "message"),
    [
        ("GSSAPI", b"\x60\x01"),
        ("PLAIN", b"alice"),
        ("OAUTHBEARER", b"n,,\x01auth=Bearer a.b\x01\x01"),
        ("SCRAM-SHA-256", b"?"),
    ],
)
def test_unreadable_login_is_unknown(login: Login, mechanism: str, message: bytes) -> None:
    login.shakes_hands(mechanism)
    assert login.says(message) == UNSEEN


def test_principal_before_login() -> None:
    assert before_login(Security()) == before_login(Security("SSL")) == ANONYMOUS
    assert before_login(Security("SASL_SSL", "PLAIN", "alice", "secret")) == ALICE
    assert before_login(Security("SSL", certificate="PEM")) is None
    assert before_login(Security("SASL_SSL", "OAUTHBEARER", token_file="token")) is None
