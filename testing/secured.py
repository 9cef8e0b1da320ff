"""Temporary authority, certificates and users for one cluster, and the settings of their clients.

Each user's password is the name and `-secret`. With SSL a certificate replaces it. All of this is for tests only: any
process that can read the folder can act as any user.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path

from kohort.control.control_errors import ControlError, unknown
from kohort.testing.tokens import LIFE_S, aiokafka_tokens, kafka_python_tokens

PROTOCOLS = ("SSL", "SASL_PLAINTEXT", "SASL_SSL")
SCRAM = ("SCRAM-SHA-256", "SCRAM-SHA-512")
MECHANISMS = ("PLAIN", *SCRAM, "OAUTHBEARER")
USERS = ("admin", "alice", "bob")  # `admin` is a super user if there is an authorizer

CA, BROKER = "ca.pem", "broker.pem"

_PLAIN = "org.apache.kafka.common.security.plain.PlainLoginModule"
_OAUTHBEARER = "org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule"
_SCRAM = "org.apache.kafka.common.security.scram.ScramLoginModule"


class Secured:
    """Folder of certificates for a cluster and its clients."""

    def __init__(self, protocol: str, folder: Path | None = None) -> None:
        """Create the certificates. Raise ControlError if that is impossible.

        Args:
            folder: Folder of the certificates; None creates a temporary one, which `close` removes.
        """
        if protocol not in PROTOCOLS:
            raise unknown("security", protocol, PROTOCOLS)
        self.protocol = protocol
        self._is_temporary = folder is None
        self.folder = Path(tempfile.mkdtemp(prefix="kohort-")) if folder is None else folder.resolve()
        self.folder.mkdir(parents=True, exist_ok=True)
        if self._speaks_tls:
            self._make_certificates()

    @property
    def _speaks_tls(self) -> bool:
        return self.protocol.endswith("SSL")

    @property
    def _asks_login(self) -> bool:
        return self.protocol.startswith("SASL_")

    @property
    def new_users(self) -> list[str]:
        """SCRAM users in the format of `kohort serve --add-scram`."""
        if not self._asks_login:
            return []
        return [f"{mechanism}=[name={user},password={password_of(user)}]" for mechanism in SCRAM for user in USERS]

    def settings(self, listen: str, authorizer: str = "") -> dict[str, str]:
        """Return the broker's settings.

        Args:
            listen: HOST:PORT.
            authorizer: Class of the authorizer, or an empty string.
        """
        settings = {"listeners": f"{self.protocol}://{listen}"}
        if authorizer:
            settings["super.users"] = "User:admin"
        if self._asks_login:
            users = " ".join(f'user_{user}="{password_of(user)}"' for user in USERS)
            settings["sasl.enabled.mechanisms"] = ",".join(MECHANISMS)
            settings[f"listener.name.{self.protocol.lower()}.plain.sasl.jaas.config"] = f"{_PLAIN} required {users};"
        if self._speaks_tls:
            settings |= {
                "ssl.keystore.type": "PEM",
                "ssl.keystore.location": str(self.folder / BROKER),
                "ssl.truststore.type": "PEM",
                "ssl.truststore.location": str(self.folder / CA),
                "ssl.client.auth": "none" if self._asks_login else "required",
                "ssl.principal.mapping.rules": "RULE:^CN=(.*?),.*$/$1/,DEFAULT",
            }
        return settings

    def client_config(self, bootstrap: str, user: str, library: str, mechanism: str) -> dict[str, object]:
        """Return the settings of a client of `library`. Raise ControlError if the library is unknown."""
        if user not in USERS:
            raise unknown("user", user, USERS)
        if mechanism not in MECHANISMS:
            raise unknown("mechanism", mechanism, MECHANISMS)
        return LIBRARIES[library](self, bootstrap, user, mechanism)

    def write_properties(self) -> None:
        """Write Java client properties for each user, for `--command-config` of Kafka's and kohort's tools."""
        for user in USERS:
            config = _java(self, "", user, SCRAM[-1])
            del config["bootstrap.servers"]  # tools have `--bootstrap-server`
            path = self.folder / f"{user}.properties"
            path.touch(0o600)
            path.write_text("".join(f"{name}={config[name]}\n" for name in config))

    def close(self) -> None:
        """Remove a temporary folder."""
        if self._is_temporary:
            shutil.rmtree(self.folder, ignore_errors=True)

    def file(self, name: str) -> str:
        return str(self.folder / name)

    def _make_certificates(self) -> None:
        try:
            import trustme

            from kohort.security.stores import key_and_chain_of_pem
        except ModuleNotFoundError as missing:
            raise ControlError(
                f"security={self.protocol!r} needs {missing.name}; install it with pip install 'kohort[security]'"
            ) from None
        authority = trustme.CA(organization_name="kohort")
        authority.cert_pem.write_to_path(self.folder / CA)
        hosts = ("localhost", "127.0.0.1", "::1")
        certificates = {BROKER: authority.issue_cert(*hosts, common_name="localhost", organization_name="kohort")}
        for user in USERS:
            # The address is for Java, which reads no certificate with an empty list of other names.
            certificates[f"{user}.pem"] = authority.issue_cert(
                f"{user}@kohort.test", common_name=user, organization_name="kohort"
            )
        for name, certificate in certificates.items():
            path = self.folder / name
            path.touch(0o600)
            # Java reads keys in PKCS 8 only.
            path.write_bytes(key_and_chain_of_pem(certificate.private_key_and_cert_chain_pem.bytes(), "").pem())


def password_of(user: str) -> str:
    return f"{user}-secret"


def _java(secured: Secured, bootstrap: str, user: str, mechanism: str) -> dict[str, object]:
    config: dict[str, object] = {"bootstrap.servers": bootstrap, "security.protocol": secured.protocol}
    if secured.protocol.startswith("SASL_"):
        config["sasl.mechanism"] = mechanism
        if mechanism == "OAUTHBEARER":
            config["sasl.jaas.config"] = f'{_OAUTHBEARER} required unsecuredLoginStringClaim_sub="{user}";'
        else:
            module = _PLAIN if mechanism == "PLAIN" else _SCRAM
            config["sasl.jaas.config"] = f'{module} required username="{user}" password="{password_of(user)}";'
    if secured.protocol.endswith("SSL"):
        config |= {"ssl.truststore.type": "PEM", "ssl.truststore.location": secured.file(CA)}
    if secured.protocol == "SSL":
        config |= {"ssl.keystore.type": "PEM", "ssl.keystore.location": secured.file(f"{user}.pem")}
    return config


def _librdkafka(secured: Secured, bootstrap: str, user: str, mechanism: str) -> dict[str, object]:
    config: dict[str, object] = {"bootstrap.servers": bootstrap, "security.protocol": secured.protocol}
    if secured.protocol.startswith("SASL_"):
        config["sasl.mechanism"] = mechanism
        if mechanism == "OAUTHBEARER":
            config |= {
                "enable.sasl.oauthbearer.unsecure.jwt": True,
                "sasl.oauthbearer.config": f"principal={user} lifeSeconds={LIFE_S}",
            }
        else:
            config |= {"sasl.username": user, "sasl.password": password_of(user)}
    if secured.protocol.endswith("SSL"):
        config["ssl.ca.location"] = secured.file(CA)
    if secured.protocol == "SSL":
        own = secured.file(f"{user}.pem")
        config |= {"ssl.certificate.location": own, "ssl.key.location": own}
    return config


def _python(
    secured: Secured, bootstrap: str, user: str, mechanism: str, tokens: Callable[[str], object]
) -> dict[str, object]:
    config: dict[str, object] = {"bootstrap_servers": bootstrap, "security_protocol": secured.protocol}
    if secured.protocol.startswith("SASL_"):
        config["sasl_mechanism"] = mechanism
        if mechanism == "OAUTHBEARER":
            config["sasl_oauth_token_provider"] = tokens(user)
        else:
            config |= {"sasl_plain_username": user, "sasl_plain_password": password_of(user)}
    return config


def _kafka_python(secured: Secured, bootstrap: str, user: str, mechanism: str) -> dict[str, object]:
    config = _python(secured, bootstrap, user, mechanism, kafka_python_tokens)
    if secured.protocol.endswith("SSL"):
        config["ssl_cafile"] = secured.file(CA)
    if secured.protocol == "SSL":
        config["ssl_certfile"] = config["ssl_keyfile"] = secured.file(f"{user}.pem")
    return config


def _aiokafka(secured: Secured, bootstrap: str, user: str, mechanism: str) -> dict[str, object]:
    config = _python(secured, bootstrap, user, mechanism, aiokafka_tokens)
    if secured.protocol.endswith("SSL"):
        import ssl

        context = ssl.create_default_context(cafile=secured.file(CA))
        if secured.protocol == "SSL":
            context.load_cert_chain(secured.file(f"{user}.pem"))
        config["ssl_context"] = context
    return config


LIBRARIES: dict[str, Callable[[Secured, str, str, str], dict[str, object]]] = {
    "aiokafka": _aiokafka,
    "confluent-kafka": _librdkafka,
    "java": _java,
    "kafka-python": _kafka_python,
    "librdkafka": _librdkafka,
}  # functions that create the settings of each library's clients

ADDRESSES_NAME = {
    name: "bootstrap.servers" if make in (_java, _librdkafka) else "bootstrap_servers"
    for name, make in LIBRARIES.items()
}  # each library's name for the addresses, the only setting for a plaintext cluster
