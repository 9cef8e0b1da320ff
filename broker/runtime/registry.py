"""Registry of the APIs. Their modules are imported at the first use; ApiVersions responds from the table."""

from __future__ import annotations

from collections.abc import Callable, Generator
from importlib import import_module
from typing import TYPE_CHECKING, Any

from kohort.protocol.api_keys import ApiSpec
from kohort.protocol.messages import message_of
from kohort.protocol.releases import CURRENT, apis_of

if TYPE_CHECKING:
    from kohort.broker.cluster.node import Node
    from kohort.broker.ticket import Ticket
    from kohort.protocol.codec import Frame


class Api:
    """One API: how to decode its requests, handle them, and encode its responses."""

    __slots__ = (
        "error_response",
        "handle",
        "highest",
        "is_short",
        "lowest",
        "may_be_abandoned",
        "read",
        "readers",
        "request",
        "response",
        "spec",
        "write",
        "write_in_steps",
        "writers",
    )

    def __init__(self, spec: ApiSpec) -> None:
        self.spec = spec
        message = message_of(spec.name)
        module = import_module(f"kohort.broker.apis.{spec.name}")
        self.lowest = max(spec.min_version, spec.readable_from)
        self.highest = spec.max_version
        self.read: Callable[[int, bytes, int, int], Any] = message.read
        self.write: Callable[[int, int, Any], Frame] = message.write
        self.readers = message.readers
        self.writers = message.writers
        self.write_in_steps: Callable[[int, int, Any, int], Generator[None, None, Frame]] = message.write_in_steps
        # None if every response is
        self.is_short: Callable[[int, Any], bool] | None = None if message.always_short else message.is_short
        self.may_be_abandoned = spec.may_be_abandoned
        self.request: type = message.request
        self.response: type = message.response
        self.handle: Callable[[Node, Any, Ticket], Any] = module.handle
        self.error_response: Callable[[Any, Any], Any] | None = getattr(module, "error_response", None)


class Registry:
    """The APIs by key."""

    def __init__(self, release: str = CURRENT) -> None:
        """Create the registry of a release.

        Args:
            release: Release of Kafka whose versions are served.
        """
        self._specs = {spec.key: spec for spec in apis_of(release)}
        self.loaded: dict[int, Api] = {}  # APIs that have been looked up

    def find(self, key: int) -> Api | None:
        """Return the API with this key, or None if it is not served."""
        api = self.loaded.get(key)
        if api is None:
            spec = self._specs.get(key)
            if spec is None:
                return None
            api = self.loaded[key] = Api(spec)
        return api
