"""Creation of listeners from `listeners` and related settings. Loaded only if that setting is present.

Errors in stores, keys, users or rules are reported here, before the broker starts.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterable
from typing import TYPE_CHECKING

from kohort.broker.runtime.listener import Listener
from kohort.broker.settings.listeners import ListenerOptions, ListenerSettings, read_advertised, read_listeners
from kohort.broker.settings.setting import SettingError
from kohort.storage.disk.ownership import DataDirectoryError

if TYPE_CHECKING:
    from kohort.broker.cluster.broker_cluster import BrokerCluster
    from kohort.broker.settings.broker_settings import Settings
    from kohort.security.new_user import NewUser
    from kohort.security.sasl.scram import ScramCredential, ScramMechanism


def _new_users(texts: Iterable[str]) -> Iterable[NewUser]:
    for text in texts:
        from kohort.security.new_user import NewUserError, parse_new_user

        try:
            yield parse_new_user(text, secrets.token_bytes(20))
        except NewUserError as error:
            raise SettingError(f"--add-scram {error}") from None


class Securing:
    """The listeners of a cluster that is created later."""

    def __init__(self, settings: Settings, nodes: int, now_s: float, users: Iterable[str] = ()) -> None:
        """Read and check the settings.

        Args:
            now_s: Seconds since 1970, for certificates.
            users: Initial SCRAM users, such as `SCRAM-SHA-256=[name=alice,password=…]`.

        Raises:
            SettingError: If a setting is invalid.
        """
        self._users = list(_new_users(users))
        self._cluster: BrokerCluster | None = None
        configured = read_listeners(settings, nodes)
        self.advertised = read_advertised(settings, configured, nodes)  # the nodes' advertised addresses by listener
        self._listeners = [self._listener(listener, settings, now_s) for listener in configured]

    def listeners(self, cluster: BrokerCluster) -> list[Listener]:
        """Return the listeners of a cluster, whose credentials they use.

        Raises:
            DataDirectoryError: If the initial users cannot be written.
        """
        self._cluster = cluster
        for user in self._users:
            try:
                cluster.scram_credentials.put(user.name, user.mechanism, user.credential)
            except OSError as error:
                raise DataDirectoryError(f"cannot write the SCRAM users: {error.strerror or error}") from None
        return self._listeners

    def _listener(self, listener: ListenerSettings, settings: Settings, now_s: float) -> Listener:
        options = ListenerOptions(listener, settings.explicit)
        new_login = tls = principal_of = None
        if listener.asks_login:
            from kohort.broker.runtime.mechanisms import new_logins

            new_login = new_logins(options, self._credential)
        if listener.speaks_tls:
            from kohort.broker.runtime.tls import principal_from, tls_context

            tls = tls_context(options, now_s)
            principal_of = None if listener.asks_login else principal_from(options)
        return Listener(listener.name, listener.protocol, listener.host, listener.port, new_login, tls, principal_of)

    def _credential(self, mechanism: ScramMechanism, user: str) -> ScramCredential | None:
        assert self._cluster is not None, "logins start after `listeners`"
        return self._cluster.scram_credentials.find(mechanism, user)
