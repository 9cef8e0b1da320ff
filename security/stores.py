"""Keys and certificates from the files that Kafka's settings name: PEM, PKCS12, and Java's own JKS. Needs cryptography.

A store's type is looked for in its bytes as well: Java opens a PKCS12 file under the type JKS, and so does this.
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
    """A store that cannot be used. The text is the rest of a sentence that names the setting. It shows no password."""


@dataclass(frozen=True, slots=True)
class KeyAndChain:
    """What a broker shows: its certificate, those that vouch for it, and its key."""

    key: PrivateKeyTypes = field(repr=False)
    chain: list[x509.Certificate]

    def pem(self) -> bytes:
        """Both as PEM, the key without a password: for a file that nobody else may read."""
        key = self.key.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        )
        return key + b"".join(each.public_bytes(serialization.Encoding.PEM) for each in self.chain)

    def check(self, now: datetime) -> None:
        """Raises StoreError for a certificate of another key, or one that does not hold at `now` (with a time zone)."""
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
    """A private key and its certificates, in any order of the two. Raises StoreError."""
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
    """Raises StoreError."""
    try:
        return x509.load_pem_x509_certificates(data)
    except ValueError:
        raise StoreError("holds no certificate in PEM") from None


def key_and_chain_of_store(data: bytes, password: str, key_password: str) -> KeyAndChain:
    """The first key of a PKCS12 or JKS store. `key_password`: that of the key, where it differs. Raises StoreError."""
    if data.startswith(MAGIC):
        try:
            key_der, chain = read_java_key_store(data, password).first_key(key_password or password)
            key = serialization.load_der_private_key(key_der, None)
            return KeyAndChain(key, [x509.load_der_x509_certificate(each) for each in chain])
        except JavaKeyStoreError as problem:
            raise StoreError(str(problem)) from None
        except (ValueError, UnsupportedAlgorithm):
            raise StoreError("holds a key or a certificate that cannot be read") from None
    loaded = _pkcs12(data, password)
    if loaded.key is None or loaded.cert is None:
        raise StoreError("holds no key with its certificate")
    certificates = [loaded.cert.certificate]
    others = [each.certificate for each in loaded.additional_certs]
    while True:
        wanted = certificates[-1].issuer
        issuer = next((each for each in others if each.subject == wanted and each not in certificates), None)
        if issuer is None:
            break
        certificates.append(issuer)
    return KeyAndChain(loaded.key, certificates)


def certificates_of_store(data: bytes, password: str) -> list[x509.Certificate]:
    """All that a PKCS12 or JKS store trusts. Raises StoreError."""
    if data.startswith(MAGIC):
        try:
            certificates = read_java_key_store(data, password).certificates
            found = [x509.load_der_x509_certificate(each) for each in certificates]
        except JavaKeyStoreError as problem:
            raise StoreError(str(problem)) from None
        except ValueError:
            raise StoreError("holds a certificate that cannot be read") from None
    else:
        found = [each.certificate for each in _pkcs12(data, password).additional_certs]
    if not found:
        raise StoreError("holds no trusted certificate")
    return found


def _pkcs12(data: bytes, password: str) -> pkcs12.PKCS12KeyAndCertificates:
    if b"-----BEGIN " in data:
        raise StoreError("is a PEM file; set its type to PEM")
    try:
        return pkcs12.load_pkcs12(data, password.encode() or None)
    except (ValueError, UnsupportedAlgorithm):
        raise StoreError("cannot be opened; it is no PKCS12 or JKS store, or its password is another one") from None
