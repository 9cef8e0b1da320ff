"""SCRAM-SHA-256 and SCRAM-SHA-512: both sides prove that they know a password without sending it (RFC 5802, RFC 7677).

Source: Kafka's `ScramSaslServer`, `ScramMessages`, `ScramFormatter`; logins.md §4.2. As in Kafka, names and passwords
are not prepared (SASLprep), names that are not ASCII cannot be read, and channel binding is not supported.
"""

from __future__ import annotations

import hashlib
import hmac
import re
from base64 import b64decode, b64encode
from binascii import Error as Base64Error
from collections.abc import Callable
from enum import Enum
from typing import NamedTuple

from kohort.security.sasl.mechanism import BadCredentials, Identity, LoginRefused, Step

# limits for a new credential (`ScramMechanism`, `ScramControlManager`)
MIN_ITERATIONS, MAX_ITERATIONS = 4_096, 16_384


class ScramMechanism(Enum):
    """SCRAM mechanisms with their protocol numbers (KIP-554)."""

    SCRAM_SHA_256 = 1
    SCRAM_SHA_512 = 2

    @property
    def sasl_name(self) -> str:
        """Name in `sasl.enabled.mechanisms`."""
        return self.name.replace("_", "-")

    @property
    def digest(self) -> str:
        """Name of the hash function in `hashlib`."""
        return "sha256" if self is ScramMechanism.SCRAM_SHA_256 else "sha512"


class ScramCredential(NamedTuple):
    """A stored credential. It is not sufficient to log in and does not reveal the password."""

    salt: bytes
    stored_key: bytes
    server_key: bytes
    iterations: int

    def __repr__(self) -> str:
        return f"ScramCredential({self.iterations} iterations)"


def salted_password(mechanism: ScramMechanism, password: str, salt: bytes, iterations: int) -> bytes:
    """Return the salted password of AlterUserScramCredentials. Takes milliseconds by design."""
    return hashlib.pbkdf2_hmac(mechanism.digest, password.encode(), salt, iterations)


def credential_of(mechanism: ScramMechanism, salted: bytes, salt: bytes, iterations: int) -> ScramCredential:
    """Return the credential to store for a salted password."""
    digest = mechanism.digest
    stored = hashlib.new(digest, hmac.digest(salted, b"Client Key", digest)).digest()
    return ScramCredential(salt, stored, hmac.digest(salted, b"Server Key", digest), iterations)


_TEXT = r"[\x01-\x2B\x2D-\x7F]+"
_NAME = r"(?:[\x01-\x2B\x2D-\x3C\x3E-\x7F]|=2C|=3D)+"
_NONCE = r"[\x21-\x2B\x2D-\x7E]+"
_BASE64 = r"(?:[a-zA-Z0-9/+]{4})*(?:[a-zA-Z0-9/+]{3}=|[a-zA-Z0-9/+]{2}==)?"
_EXTENSIONS = rf"(?:,[A-Za-z]+={_TEXT})*"

_FIRST = re.compile(
    rf"n,(?:a=(?P<authzid>{_NAME}))?,(?P<bare>(?:m={_TEXT},)?n=(?P<name>{_NAME}),r=(?P<nonce>{_NONCE})"
    rf"(?P<extensions>{_EXTENSIONS}))"
)
_FINAL = re.compile(rf"(?P<bare>c={_BASE64},r=(?P<nonce>{_NONCE}){_EXTENSIONS}),p=(?P<proof>{_BASE64})")


class Scram:
    """The mechanism with a lookup of credentials and a source of nonces."""

    def __init__(
        self,
        mechanism: ScramMechanism,
        credential: Callable[[ScramMechanism, str], ScramCredential | None],
        new_nonce: Callable[[], str],
    ) -> None:
        self.mechanism = mechanism
        self.name = mechanism.sasl_name
        self.credential = credential
        self.new_nonce = new_nonce

    def begin(self) -> ScramLogin:
        return ScramLogin(self)


class ScramLogin:
    """The two messages of an authentication. The client's first message determines the valid second one."""

    def __init__(self, scram: Scram) -> None:
        self._scram = scram
        self._name = ""
        self._nonce = ""
        self._signed = b""  # messages of both sides so far, which both sign
        self._credential: ScramCredential | None = None

    def step(self, message: bytes, wall_ms: int) -> Step:
        text = message.decode("utf-8", "replace")
        return self._first(text) if self._credential is None else self._final(text, self._credential)

    def _first(self, text: str) -> Step:
        match = _FIRST.fullmatch(text)
        if match is None:
            raise BadCredentials("the first SCRAM message cannot be read")
        if ",tokenauth=true" in match["extensions"].lower():
            raise BadCredentials("delegation tokens (tokenauth) are not supported")
        name = _plain(match["name"])
        credential = self._scram.credential(self._scram.mechanism, name)
        if credential is None:
            raise BadCredentials(f"there is no {self._scram.name} credential of this user")
        if match["authzid"] and _plain(match["authzid"]) != name:
            raise LoginRefused(
                "Authentication failed: Client requested an authorization id that is different from username"
            )
        self._name, self._credential = name, credential
        self._nonce = match["nonce"] + self._scram.new_nonce()
        challenge = f"r={self._nonce},s={b64encode(credential.salt).decode()},i={credential.iterations}"
        self._signed = f"{match['bare']},{challenge},".encode()
        return Step(challenge.encode())

    def _final(self, text: str, credential: ScramCredential) -> Step:
        match = _FINAL.fullmatch(text)
        if match is None:
            raise BadCredentials("the final SCRAM message cannot be read")
        if not hmac.compare_digest(match["nonce"].encode(), self._nonce.encode()):
            raise BadCredentials("the final SCRAM message has another nonce")
        digest = self._scram.mechanism.digest
        signed = self._signed + match["bare"].encode()
        signature = hmac.digest(credential.stored_key, signed, digest)
        try:
            proof = b64decode(match["proof"])
        except Base64Error:
            proof = b""
        if len(proof) != len(signature):
            raise BadCredentials("the SCRAM proof has another length")
        client_key = bytes(a ^ b for a, b in zip(signature, proof, strict=True))
        if not hmac.compare_digest(hashlib.new(digest, client_key).digest(), credential.stored_key):
            raise BadCredentials("wrong password")
        verifier = b64encode(hmac.digest(credential.server_key, signed, digest))
        return Step(b"v=" + verifier, Identity(self._name))


def name_in(message: bytes) -> str:
    """Return the user name in a client's first message, or an empty text if it is malformed."""
    match = _FIRST.fullmatch(message.decode("utf-8", "replace"))
    return "" if match is None else _plain(match["name"])


def _plain(name: str) -> str:
    return name.replace("=2C", ",").replace("=3D", "=")
