"""Keys and certificates out of files. Java 17's keytool wrote those in `stores/`, until the year 2126."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import pytest
import trustme
from cryptography import x509
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import pkcs12

from kohort.security.distinguished_name import owner_of
from kohort.security.stores import (
    StoreError,
    certificates_of_pem,
    certificates_of_store,
    key_and_chain_of_pem,
    key_and_chain_of_store,
)

STORES = Path(__file__).parent / "stores"
KEY_STORE = (STORES / "key.jks").read_bytes()
NOW = datetime.now(UTC)


@pytest.fixture(scope="module")
def made() -> trustme.LeafCert:
    return trustme.CA().issue_cert("localhost", common_name="broker")


def pem(made: trustme.LeafCert) -> bytes:
    return made.private_key_and_cert_chain_pem.bytes()


def test_javas_own_store_gives_its_key() -> None:
    store = key_and_chain_of_store(KEY_STORE, "store-pass", "key-pass")
    store.check(NOW)
    assert [each.subject.rfc4514_string() for each in store.chain] == ["CN=localhost"]
    assert b"PRIVATE KEY" in store.pem()
    assert "PRIVATE" not in repr(store)


@pytest.mark.parametrize("name", ["trusted.jks", "trusted.p12"])
def test_java_trust_stores(name: str) -> None:
    (certificate,) = certificates_of_store((STORES / name).read_bytes(), "store-pass")
    assert certificate.subject.rfc4514_string() == "CN=localhost"


def test_pkcs12_key_and_chain_order(made: trustme.LeafCert) -> None:
    key = serialization.load_pem_private_key(made.private_key_pem.bytes(), None)
    assert isinstance(key, ec.EllipticCurvePrivateKey)
    chain = x509.load_pem_x509_certificates(pem(made))
    extra = [*chain[1:], *certificates_of_pem((trustme.CA()).cert_pem.bytes())]
    data = pkcs12.serialize_key_and_certificates(
        b"broker",
        key,
        chain[0],
        extra,
        serialization.BestAvailableEncryption(b"pass"),
    )
    assert key_and_chain_of_store(data, "pass", "").chain == chain
    with pytest.raises(StoreError, match="its password is another one"):
        key_and_chain_of_store(data, "wrong", "")


def test_encrypted_pem_key(made: trustme.LeafCert) -> None:
    key = key_and_chain_of_pem(pem(made), "").key
    hidden = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.BestAvailableEncryption(b"pass")
    )
    both = hidden + pem(made)[pem(made).index(b"-----BEGIN CERT") :]
    assert key_and_chain_of_pem(both, "pass").chain
    for password, sentence in (("", "has a key with a password"), ("wrong", "is its password right?")):
        with pytest.raises(StoreError, match=sentence):
            key_and_chain_of_pem(both, password)


def test_rejects_mismatched_or_expired_certificate(made: trustme.LeafCert) -> None:
    other = trustme.CA().issue_cert("localhost")
    mixed = other.private_key_pem.bytes() + made.cert_chain_pems[0].bytes()
    with pytest.raises(StoreError, match="does not belong to its key"):
        key_and_chain_of_pem(mixed, "").check(NOW)
    expired = trustme.CA().issue_cert("localhost", not_after=datetime(2020, 1, 2, tzinfo=UTC))
    with pytest.raises(StoreError, match="expired on 2020-01-02 00:00 UTC"):
        key_and_chain_of_pem(pem(expired), "").check(NOW)


READERS: dict[str, Callable[[bytes], object]] = {
    "keys of a store": lambda data: key_and_chain_of_store(data, "", ""),
    "certificates of a store": lambda data: certificates_of_store(data, ""),
    "keys of PEM": lambda data: key_and_chain_of_pem(data, ""),
    "certificates of PEM": certificates_of_pem,
}


@pytest.mark.parametrize("reader", READERS)
@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\x30\x82",
        KEY_STORE[:300],
        KEY_STORE[:12] + b"\xff" * 400,
        b"-----BEGIN CERTIFICATE-----\nAAAA\n",
        bytes(99),
    ],
    ids=["nothing", "DER cut short", "JKS cut short", "JKS damaged", "PEM damaged", "zeros"],
)
def test_rejects_unreadable_key_store(reader: str, data: bytes) -> None:
    with pytest.raises(StoreError):
        READERS[reader](data)


def test_wrong_passwords_of_javas_own_store() -> None:
    with pytest.raises(StoreError, match="damaged, or its password is another one"):
        key_and_chain_of_store(KEY_STORE, "wrong", "key-pass")
    with pytest.raises(StoreError, match=r"a key with another password \(ssl.key.password\)"):
        key_and_chain_of_store(KEY_STORE, "store-pass", "wrong")


def test_owners_as_java_writes_them() -> None:
    authority = trustme.CA()
    made = authority.issue_cert(
        common_name='Al"ice, the\\#1 +', organization_name=" O", organization_unit_name="#people"
    )
    der = x509.load_pem_x509_certificate(made.cert_chain_pems[0].bytes()).public_bytes(serialization.Encoding.DER)
    assert owner_of(der) == r"CN=Al\"ice\, the\\#1 \+,OU=\#people,O=\ O"
