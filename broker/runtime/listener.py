"""A listener of the broker: its name, where it listens, and what it asks of those who connect."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple, Protocol

if TYPE_CHECKING:
    from ssl import SSLContext, SSLObject

    from kohort.broker.address import Advertised
    from kohort.broker.cluster.broker_cluster import BrokerCluster
    from kohort.security.principal import Principal
    from kohort.security.sasl.login import Login


class Listener(NamedTuple):
    """One of `listeners`. Without a login and TLS everybody who connects is ANONYMOUS."""

    name: str = "PLAINTEXT"
    protocol: str = "PLAINTEXT"
    host: str = ""
    port: int = 0
    """The first node's; 0: any free one."""
    new_login: Callable[[], Login] | None = None
    """Makes the login of each connection; None: nobody is asked to log in."""
    tls: SSLContext | None = None
    principal_of: Callable[[SSLObject], Principal] | None = None
    """Whom a client certificate names. Raises ValueError."""


PLAINTEXT_LISTENER = Listener()
"""What a broker has without the setting `listeners`."""


class Entrances(Protocol):
    """Where clients come in: one plain listener, or those of the setting `listeners`."""

    @property
    def advertised(self) -> Mapping[str, Advertised]:
        """The nodes' addresses as clients get them, by listener."""
        ...

    def listeners(self, cluster: BrokerCluster) -> Sequence[Listener]:
        """The listeners of a cluster."""
        ...


class PlainEntrance(NamedTuple):
    """One listener where nobody is asked who they are."""

    host: str
    port: int
    advertised_as: Advertised

    @property
    def advertised(self) -> Mapping[str, Advertised]:
        """See `Entrances`."""
        return {PLAINTEXT_LISTENER.name: self.advertised_as}

    def listeners(self, cluster: BrokerCluster) -> Sequence[Listener]:
        """See `Entrances`."""
        return [Listener(host=self.host, port=self.port)]
