"""Reads keys and certificates from the files in Kafka's settings: PEM, PKCS12, and Java's JKS. Needs cryptography.

The type of a store is also detected from its bytes: Java opens a PKCS12 file with type JKS, and so does this module.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime

from cryptography import x509
from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.types import PrivateKeyTypes
from cryptography.hazmat.primitives.serialization import pkcs12

from kohort.security.java_key_store import MAGIC, JavaKeyStoreError, read_java_key_store


class StoreError(ValueError):
    """An unusable store. The text completes a sentence that starts with the setting's name. It shows no password."""


@dataclass(frozen=True, slots=True)
class KeyAndChain:
    """A broker's key, its certificate, and the certificate chain."""

    key: PrivateKeyTypes = field(repr=False)
    chain: list[x509.Certificate]

    def pem(self) -> bytes:
        """Return both as PEM with an unencrypted key, for a file that only this process may read."""
        key = self.key.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        )
        return key + b"".join(certificate.public_bytes(serialization.Encoding.PEM) for certificate in self.chain)

    def check(self, now: datetime) -> None:
        """Check that key and certificate belong together and are valid at `now`, which has a time zone.

        Raises:
            StoreError: They do not match or have expired.
        """
        first = self.chain[0]
        if _public(first.public_key()) != _public(self.key.public_key()):
            raise StoreError("has a certificate that does not belong to its key")
        _check_dates(first, now)


def _public(key: object) -> bytes:
    written: bytes = key.public_bytes(  # type: ignore[attr-defined]
        serialization.Encoding.DER, serialization.PublicFormat.SubjectPublicKeyInfo
    )
    return written


def _check_dates(certificate: x509.Certificate, now: datetime) -> None:
    if now > certificate.not_valid_after_utc:
        raise StoreError(f"has a certificate that expired on {certificate.not_valid_after_utc:%Y-%m-%d %H:%M} UTC")
    if now < certificate.not_valid_before_utc:
        raise StoreError(f"has a certificate that counts from {certificate.not_valid_before_utc:%Y-%m-%d %H:%M} UTC on")


def key_and_chain_of_pem(data: bytes, key_password: str) -> KeyAndChain:
    """Parse a private key and its certificates, in any order.

    Raises:
        StoreError: The data is malformed.
    """
    try:
        chain = x509.load_pem_x509_certificates(data)
    except ValueError:
        raise StoreError("holds no certificate in PEM") from None
    start = data.find(b"PRIVATE KEY-----")
    if start < 0:
        raise StoreError("holds no private key in PEM")
    begin, end = data.rfind(b"-----BEGIN ", 0, start), data.find(b"-----END ", start)
    end = data.find(b"\n", end) if data.find(b"\n", end) >= 0 else len(data)
    try:
        key = serialization.load_pem_private_key(data[begin:end], key_password.encode() or None)
    except TypeError:
        raise StoreError("has a key with a password" if not key_password else "has a key without a password") from None
    except (ValueError, UnsupportedAlgorithm):
        raise StoreError("has a key that cannot be read; is its password right?") from None
    return KeyAndChain(key, chain)


def certificates_of_pem(data: bytes) -> list[x509.Certificate]:
    """Parse certificates.

    Raises:
        StoreError: The data is malformed.
    """
    try:
        return x509.load_pem_x509_certificates(data)
    except ValueError:
        raise StoreError("holds no certificate in PEM") from None


def key_and_chain_of_store(data: bytes, password: str, key_password: str) -> KeyAndChain:
    """Return the first key of a PKCS12 or JKS store.

    Args:
        key_password: Password of the key if it differs from the store's.

    Raises:
        StoreError: The store cannot be read.
    """
    if data.startswith(MAGIC):
        try:
            key_der, chain = read_java_key_store(data, password).first_key(key_password or password)
            key = serialization.load_der_private_key(key_der, None)
            return KeyAndChain(key, [x509.load_der_x509_certificate(entry) for entry in chain])
        except JavaKeyStoreError as problem:
            raise StoreError(str(problem)) from None
        except (ValueError, UnsupportedAlgorithm):
            raise StoreError("holds a key or a certificate that cannot be read") from None
    loaded = _pkcs12(data, password)
    if loaded.key is None or loaded.cert is None:
        raise StoreError("holds no key with its certificate")
    certificates = [loaded.cert.certificate]
    more = [entry.certificate for entry in loaded.additional_certs]
    while True:
        matching = certificates[-1].issuer
        issuer = next((entry for entry in more if entry.subject == matching and entry not in certificates), None)
        if issuer is None:
            break
        certificates.append(issuer)
    return KeyAndChain(loaded.key, certificates)


def certificates_of_store(data: bytes, password: str) -> list[x509.Certificate]:
    """Return the trusted certificates of a PKCS12 or JKS store.

    Raises:
        StoreError: The store cannot be read.
    """
    if data.startswith(MAGIC):
        try:
            certificates = read_java_key_store(data, password).certificates
            trusted = [x509.load_der_x509_certificate(entry) for entry in certificates]
        except JavaKeyStoreError as problem:
            raise StoreError(str(problem)) from None
        except ValueError:
            raise StoreError("holds a certificate that cannot be read") from None
    else:
        trusted = [entry.certificate for entry in _pkcs12(data, password).additional_certs]
    if not trusted:
        raise StoreError("holds no trusted certificate")
    return trusted


def _pkcs12(data: bytes, password: str) -> pkcs12.PKCS12KeyAndCertificates:
    if b"-----BEGIN " in data:
        raise StoreError("is a PEM file; set its type to PEM")
    try:
        return pkcs12.load_pkcs12(data, password.encode() or None)
    except (ValueError, UnsupportedAlgorithm):
        raise StoreError("cannot be opened; it is no PKCS12 or JKS store, or its password is another one") from None
