"""Formats the subject of a certificate as Java does (`X500Principal.getName`, RFC 2253).

The most specific part is first, without spaces, and types without a short name in RFC 2253 are written as numbers.
Needs cryptography.
"""

from __future__ import annotations

from cryptography import x509

_SHORT = {
    "2.5.4.3": "CN",
    "2.5.4.6": "C",
    "2.5.4.7": "L",
    "2.5.4.8": "ST",
    "2.5.4.9": "STREET",
    "2.5.4.10": "O",
    "2.5.4.11": "OU",
    "0.9.2342.19200300.100.1.25": "DC",
    "0.9.2342.19200300.100.1.1": "UID",
}


def owner_of(certificate: bytes) -> str:
    """Return the subject of a DER certificate, as in `CN=alice,OU=people,O=kohort,C=DE`.

    Raises:
        ValueError: The certificate cannot be parsed.
    """
    subject = x509.load_der_x509_certificate(certificate).subject
    return ",".join("+".join(map(_part, part)) for part in reversed(subject.rdns))


def _part(attribute: x509.NameAttribute[str | bytes]) -> str:
    short = _SHORT.get(attribute.oid.dotted_string)
    if short is None or not isinstance(attribute.value, str):
        return f"{attribute.oid.dotted_string}=#{_der(attribute).hex()}"
    return f"{short}={_escaped(attribute.value)}"


def _der(attribute: x509.NameAttribute[str | bytes]) -> bytes:
    """Return the DER value with its type and length."""
    value = attribute.value if isinstance(attribute.value, bytes) else attribute.value.encode(_coding(attribute))
    size = len(value)
    length = (
        bytes([size]) if size < 128 else bytes([0x80 | (n := (size.bit_length() + 7) // 8)]) + size.to_bytes(n, "big")
    )
    return bytes([attribute._type.value]) + length + value


def _coding(attribute: x509.NameAttribute[str | bytes]) -> str:
    return {"BMPString": "utf-16-be", "UniversalString": "utf-32-be"}.get(attribute._type.name, "utf-8")


def _escaped(value: str) -> str:
    text = "".join("\\" + letter if letter in ',+"\\<>;' else letter for letter in value)
    if text.startswith(("#", " ")):
        text = "\\" + text
    if text.endswith(" ") and len(value) > 1:
        text = text[:-1] + "\\ "
    return text
