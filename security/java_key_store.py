"""Reads Java's own key store, JKS: named entries, a keyed checksum over all of it, keys protected by a password.

No maintained library reads it: pyjks was last released in 2020 and needs a C compiler for a cipher that is not used
here.
Source: OpenJDK's `sun.security.provider.JavaKeyStore` and `KeyProtector`. Its key protection is weak, which is why Java
writes PKCS12 by default since version 9.
"""

from __future__ import annotations

import hashlib
import hmac
from dataclasses import dataclass, field
from struct import Struct

MAGIC = b"\xfe\xed\xfe\xed"

_KEY, _CERTIFICATE = 1, 2
_WHITENER = b"Mighty Aphrodite"
_DIGEST = 20
_INT, _SHORT, _LONG = Struct(">I"), Struct(">H"), Struct(">q")


class JavaKeyStoreError(ValueError):
    """An unreadable store. The text completes a sentence that starts with the name of the setting."""


class _CutShortError(Exception):
    """The data ends early."""


@dataclass(slots=True)
class JavaKeyStore:
    """Content of a store, in DER."""

    # protected keys with their certificate chains
    keys: list[tuple[bytes, list[bytes]]] = field(default_factory=list, repr=False)
    certificates: list[bytes] = field(default_factory=list)  # trusted certificates

    def first_key(self, password: str) -> tuple[bytes, list[bytes]]:
        """Return a key in PKCS8 and its chain.

        Raises:
            JavaKeyStoreError: The store has no key, or the password is wrong.
        """
        if not self.keys:
            raise JavaKeyStoreError("holds no key")
        hidden, chain = self.keys[0]
        return _revealed(hidden, password), chain


class _Reader:
    def __init__(self, data: bytes) -> None:
        self._data = data
        self._at = 0

    def number(self, form: Struct) -> int:
        (value,) = form.unpack(self.take(form.size))
        return int(value)

    def take(self, size: int) -> bytes:
        if size > len(self._data) - self._at:
            raise _CutShortError("cut short")
        self._at += size
        return self._data[self._at - size : self._at]

    def certificate(self, version: int) -> bytes:
        if version == 2:
            self.take(self.number(_SHORT))  # "X.509"
        return self.take(self.number(_INT))


def read_java_key_store(data: bytes, password: str) -> JavaKeyStore:
    """Parse a store.

    Raises:
        JavaKeyStoreError: The data is damaged or was written with another password.
    """
    body, digest = data[:-_DIGEST], data[-_DIGEST:]
    if password:
        expected = hashlib.sha1(password.encode("utf-16-be") + _WHITENER + body).digest()
        if not hmac.compare_digest(expected, digest):
            raise JavaKeyStoreError("cannot be opened; it is damaged, or its password is another one")
    try:
        return _entries(_Reader(body))
    except _CutShortError:
        raise JavaKeyStoreError("is damaged: it ends too early") from None


def _entries(reader: _Reader) -> JavaKeyStore:
    store = JavaKeyStore()
    reader.take(len(MAGIC))
    version = reader.number(_INT)
    if version not in (1, 2):
        raise JavaKeyStoreError(f"is a JKS store of version {version}; there are 1 and 2")
    for _ in range(reader.number(_INT)):
        kind = reader.number(_INT)
        reader.take(reader.number(_SHORT))  # the name
        reader.number(_LONG)  # when it was made
        if kind == _KEY:
            hidden = reader.take(reader.number(_INT))
            store.keys.append((hidden, [reader.certificate(version) for _ in range(reader.number(_INT))]))
        elif kind == _CERTIFICATE:
            store.certificates.append(reader.certificate(version))
        else:
            raise JavaKeyStoreError(f"holds an entry of the unknown kind {kind}")
    return store


def _revealed(hidden: bytes, password: str) -> bytes:
    """Reveal an EncryptedPrivateKeyInfo of Sun's own algorithm: salt, key xor a chain of SHA-1, checksum."""
    inner = _octets(hidden)
    salt, covered, check = inner[:_DIGEST], inner[_DIGEST:-_DIGEST], inner[-_DIGEST:]
    secret = password.encode("utf-16-be")
    stream, block = b"", salt
    while len(stream) < len(covered):
        block = hashlib.sha1(secret + block).digest()
        stream += block
    key = bytes(a ^ b for a, b in zip(covered, stream, strict=False))
    if not hmac.compare_digest(hashlib.sha1(secret + key).digest(), check):
        raise JavaKeyStoreError("has a key with another password (ssl.key.password)")
    return key


def _octets(der: bytes) -> bytes:
    """Return the octet string at the end of SEQUENCE { SEQUENCE algorithm, OCTET STRING }."""
    _, outer, _ = _element(der)
    _, _, after = _element(outer)
    _, octets, _ = _element(after)
    return octets


def _element(der: bytes) -> tuple[int, bytes, bytes]:
    """Return tag, value, and the remaining bytes."""
    if len(der) < 2:
        raise _CutShortError("cut short")
    size, at = der[1], 2
    if size & 0x80:
        count = size & 0x7F
        size, at = int.from_bytes(der[2 : 2 + count], "big"), 2 + count
    return der[0], der[at : at + size], der[at + size :]
