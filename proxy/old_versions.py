"""What an older release of Kafka offers, before a cluster that is not ours: the versions that both know."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from kohort.control.faults.actions import OldApiVersions
from kohort.protocol.errors import ErrorCode
from kohort.protocol.messages.api_versions import ApiVersion, ApiVersionsResponse
from kohort.protocol.releases import CURRENT, apis_of
from kohort.protocol.shape import changed
from kohort.proxy.heard import Heard


@dataclass(frozen=True)
class OldVersionsThere(OldApiVersions):
    """ApiVersions is answered as an older release would, as far as the cluster serves its versions."""

    def offered(self, version: int, response: Any) -> Any:
        """See `OldApiVersions`. An API of which the cluster has dropped all versions of that time is not offered."""
        there = response.read if isinstance(response, Heard) else None
        if there is None or there.error_code != ErrorCode.none:
            return response
        api_keys = tuple(_common(there.api_keys, self.release))
        if self.release == CURRENT:
            return changed(ApiVersionsResponse, there, api_keys=api_keys)
        return ApiVersionsResponse(error_code=ErrorCode.none, api_keys=api_keys)


def _common(served: tuple[ApiVersion, ...], release: str) -> list[ApiVersion]:
    known = {api.key: api for api in apis_of(release)}
    both = [
        ApiVersion(
            api_key=each.api_key,
            min_version=max(each.min_version, known[each.api_key].min_version),
            max_version=min(each.max_version, known[each.api_key].max_version),
        )
        for each in served
        if each.api_key in known
    ]
    return [each for each in both if each.min_version <= each.max_version]
