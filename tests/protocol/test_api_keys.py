"""The table of APIs against what it is a table of."""

import json
from pathlib import Path

import pytest
from kio.static.constants import EntityType

from kohort.protocol.api_keys import API_BY_KEY, APIS, ApiSpec
from kohort.protocol.releases import apis_of
from tests.protocol.messages import VERSIONS, load


@pytest.mark.parametrize(("release", "version"), [("4.3", 4), ("4.4", 5)])
def test_ranges_are_those_of_kafka(release: str, version: int) -> None:
    lines = (Path(__file__).parent / "golden" / "api_versions.jsonl").read_text().splitlines()
    frames = [
        frame for frame in map(json.loads, lines) if (frame["direction"], frame["version"]) == ("response", version)
    ]
    responses = [load("api_versions").read_response(version, bytes.fromhex(frame["hex"]))[1] for frame in frames]
    response = max(responses, key=lambda response: len(response.api_keys))
    kafka = {api.api_key: (api.min_version, api.max_version) for api in response.api_keys}
    served = {api.key: (api.min_version, api.max_version) for api in apis_of(release)}
    assert served == {key: kafka[key] for key in API_BY_KEY if key in kafka}


@pytest.mark.parametrize("api", APIS, ids=lambda api: api.name)
def test_each_api_has_its_messages(api: ApiSpec) -> None:
    message = load(api.name)
    assert message.api is api
    words = "".join(word.capitalize() for word in api.name.split("_"))
    assert (message.request.__name__, message.response.__name__) == (f"{words}Request", f"{words}Response")


@pytest.mark.parametrize(("name", "version"), VERSIONS)
def test_flexible_versions(name: str, version: int) -> None:
    message = load(name)
    for kind in (EntityType.request, EntityType.response):
        assert message.entity(version, kind).__flexible__ == (version >= message.api.first_flexible)
