"""A listener of the broker: its name, its address, and its authentication."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple, Protocol

if TYPE_CHECKING:
    from ssl import SSLContext, SSLObject

    from kohort.base.address import Advertised
    from kohort.broker.cluster.broker_cluster import BrokerCluster
    from kohort.security.principal import Principal
    from kohort.security.sasl.login import Login


class Listener(NamedTuple):
    """One of `listeners`. Without a login and TLS every client is ANONYMOUS."""

    name: str = "PLAINTEXT"
    protocol: str = "PLAINTEXT"
    host: str = ""
    port: int = 0  # port of the first node; 0 selects a free one
    # creates the login of a connection; None if the listener requires none
    new_login: Callable[[], Login] | None = None
    tls: SSLContext | None = None
    # Returns the principal of a client certificate. Raises ValueError.
    principal_of: Callable[[SSLObject], Principal] | None = None


PLAINTEXT_LISTENER = Listener()  # the default without the setting `listeners`


class Entrances(Protocol):
    """The listeners of a broker: one plain listener, or those of the setting `listeners`."""

    @property
    def advertised(self) -> Mapping[str, Advertised]: ...

    def listeners(self, cluster: BrokerCluster) -> Sequence[Listener]: ...


class PlainEntrance(NamedTuple):
    """One listener without authentication."""

    host: str
    port: int
    advertised_as: Advertised

    @property
    def advertised(self) -> Mapping[str, Advertised]:
        return {PLAINTEXT_LISTENER.name: self.advertised_as}

    def listeners(self, cluster: BrokerCluster) -> Sequence[Listener]:
        return [Listener(host=self.host, port=self.port)]
