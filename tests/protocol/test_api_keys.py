"""The table of APIs against what it is a table of."""

import json
from pathlib import Path

import pytest
from kio.static.constants import EntityType

from kohort.protocol.api_keys import API_BY_KEY, APIS, ApiSpec
from tests.protocol.messages import VERSIONS, load


def test_ranges_are_those_of_kafka() -> None:
    lines = (Path(__file__).parent / "golden" / "api_versions.jsonl").read_text().splitlines()
    newest = [frame for frame in map(json.loads, lines) if frame["direction"] == "response" and frame["version"] == 4]
    _, response = load("api_versions").read_response(4, bytes.fromhex(newest[-1]["hex"]))
    kafka = {api.api_key: (api.min_version, api.max_version) for api in response.api_keys}
    assert {api.key: (api.min_version, api.max_version) for api in APIS} == {key: kafka[key] for key in API_BY_KEY}


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
