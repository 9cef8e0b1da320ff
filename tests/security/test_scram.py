"""SCRAM: RFC 7677's own example, and what a server must not take."""

from base64 import b64decode, b64encode

import pytest

from kohort.security.sasl.mechanism import BadCredentials, Identity, LoginRefused
from kohort.security.sasl.scram import (
    Scram,
    ScramCredential,
    ScramLogin,
    ScramMechanism,
    credential_of,
    salted_password,
)

SHA_256, SHA_512 = ScramMechanism.SCRAM_SHA_256, ScramMechanism.SCRAM_SHA_512
SALT = b64decode("W22ZaJ0SNY7soEsUEjb6gQ==")
CLIENT_NONCE, SERVER_NONCE = "rOprNGfwEbeRWgbNEkqO", "%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0"


def credential(mechanism: ScramMechanism, password: str = "pencil") -> ScramCredential:
    return credential_of(mechanism, salted_password(mechanism, password, SALT, 4096), SALT, 4096)


def login(mechanism: ScramMechanism = SHA_256, user: str = "user") -> ScramLogin:
    known = {user: credential(mechanism)}
    return Scram(mechanism, lambda _, name: known.get(name), lambda: SERVER_NONCE).begin()


def test_rfc_example() -> None:
    # RFC 7677, section 3
    talk = login()
    challenge, nobody = talk.step(f"n,,n=user,r={CLIENT_NONCE}".encode(), 0)
    assert challenge == f"r={CLIENT_NONCE}{SERVER_NONCE},s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096".encode()
    assert nobody is None
    final = f"c=biws,r={CLIENT_NONCE}{SERVER_NONCE},p=dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ="
    assert talk.step(final.encode(), 0) == (b"v=6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4=", Identity("user"))


@pytest.mark.parametrize(
    "first",
    [
        "hello",
        "",
        "n,,n=user",
        "n,,n=,r=abc",
        "y,,n=user,r=abc",
        "p=tls-unique,,n=user,r=abc",
        "n,,n=us=er,r=abc",
        "n,,n=üser,r=abc",
        "n,,n=user,r=a b",
        "n,,n=user,r=abc,tokenauth=true",
        "n,,n=stranger,r=abc",
        "n,,n=user,r=abc," + "x" * 1_000_000,
    ],
)
def test_rejects_first_message(first: str) -> None:
    with pytest.raises(BadCredentials):
        login().step(first.encode(), 0)


def test_nobody_logs_in_as_somebody_else() -> None:
    with pytest.raises(LoginRefused, match="an authorization id that is different from username"):
        login().step(b"n,a=admin,n=user,r=abc", 0)


def test_names_with_commas_and_extensions() -> None:
    talk = login(user="a,b=c")
    assert talk.step(b"n,a=a=2Cb=3Dc,n=a=2Cb=3Dc,r=abc,ext=1", 0).challenge.startswith(b"r=abc")


@pytest.mark.parametrize(
    "final",
    [
        "c=biws,r=abc,p=AAAA",
        "c=biws,r=abc%s,p=AAAA",
        "c=biws,r=abc%s,p=" + b64encode(bytes(32)).decode(),
        "c=biws,r=abc%s",
        "r=abc%s,p=" + b64encode(bytes(32)).decode(),
        "e=other-error",
        "",
    ],
)
def test_rejects_final_message(final: str) -> None:
    talk = login()
    talk.step(b"n,,n=user,r=abc", 0)
    with pytest.raises(BadCredentials):
        talk.step(final.replace("%s", SERVER_NONCE).encode(), 0)


def test_mechanisms_are_separate() -> None:
    assert credential(SHA_256) != credential(SHA_512)
    assert len(credential(SHA_512).stored_key) == 64


def test_credential_shows_no_secret() -> None:
    assert repr(credential(SHA_256)) == "ScramCredential(4096 iterations)"
