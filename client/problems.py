"""Messages for connection errors that say what to do."""

from __future__ import annotations

import socket
import ssl

from kohort.client.security import OPEN, Security


def hung_up(security: Security) -> str:
    """Return the message for a connection that the broker closed instead of responding."""
    if security == OPEN:
        return "the broker closed the connection; if it requires TLS or SASL, use --command-config"
    return f"it hung up; does security.protocol={security.protocol} suit this port?"


def in_words(error: OSError) -> str:
    """Return the message for any connection error."""
    if isinstance(error, ConnectionRefusedError):
        return "nothing listens there; is this the broker's address, and does it run?"
    if isinstance(error, socket.gaierror):
        return "no such host"
    if isinstance(error, TimeoutError):
        return "no answer; does a firewall stand between?"
    return error.strerror or str(error)


def tls_in_words(error: OSError | ValueError) -> str:
    """Return the message for an error of the TLS handshake."""
    if isinstance(error, ssl.SSLCertVerificationError):
        reason = error.verify_message or str(error)
        if "match" in reason.lower() and "certificate is not valid for" in reason.lower():
            return f"{reason} (ssl.endpoint.identification.algorithm= turns the check off)"
        return (
            f"the broker's certificate isn't trusted: {reason}; name its authority with ssl.truststore.location (PEM)"
        )
    if isinstance(error, ssl.SSLError):
        if isinstance(error, ssl.SSLEOFError) or error.reason in ("WRONG_VERSION_NUMBER", "RECORD_LAYER_FAILURE"):
            return "this port doesn't speak TLS; try security.protocol=PLAINTEXT or SASL_PLAINTEXT"
        return f"no TLS connection: {error.reason or error}"
    return f"no TLS connection: {error}"
