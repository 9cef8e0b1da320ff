"""ApiVersions (key 18): what is served."""

import pytest

from kohort.protocol.errors import ErrorCode
from kohort.protocol.releases import apis_of
from tests.support.broker import Broker


@pytest.mark.parametrize("release", ["4.3", "4.4"])
@pytest.mark.parametrize("version", range(5))
def test_it_answers_the_table(version: int, release: str) -> None:
    software = {"client_software_name": "kohort", "client_software_version": "1.0"} if version >= 3 else {}
    client = Broker(kohort_as_kafka=release).client()
    for _ in range(2):
        response = client.asks("api_versions", version, **software)
        assert response.error_code is ErrorCode.none
        told = [(api_key.api_key, api_key.min_version, api_key.max_version) for api_key in response.api_keys]
        assert told == [(api.key, api.min_version, api.max_version) for api in apis_of(release)]


@pytest.mark.parametrize(("name", "version"), [("", "1.0"), ("kohort", ""), ("two words", "1.0"), ("-dash", "1.0")])
def test_software_name_and_version_are_validated(name: str, version: str) -> None:
    client = Broker().client()
    response = client.asks("api_versions", 3, client_software_name=name, client_software_version=version)
    assert response.error_code is ErrorCode.invalid_request
    assert response.api_keys == ()


@pytest.mark.parametrize("request_", ["0012 0063 0000004d 0003616461 00 02610262", "0012 0006 0000004d ffff 00"])
def test_unsupported_version_is_answered_with_v0(request_: str) -> None:
    client = Broker().client()
    body = bytes.fromhex(request_)
    client.says(len(body).to_bytes(4, "big") + body)
    ((correlation_id, response),) = client.hears("api_versions", 0)
    assert correlation_id == 77
    assert response.error_code is ErrorCode.unsupported_version
    assert [(api_key.api_key, api_key.min_version, api_key.max_version) for api_key in response.api_keys] == [
        (18, 0, 5)
    ]
    assert not client.closed


@pytest.mark.parametrize("correlation_id", [-(2**31), -1, 0, 2**31 - 1])
def test_correlation_id_is_returned(correlation_id: int) -> None:
    client = Broker().client()
    body = bytes.fromhex("0012 0000") + correlation_id.to_bytes(4, "big", signed=True) + bytes.fromhex("ffff")
    client.says(len(body).to_bytes(4, "big") + body)
    assert client.hears("api_versions", 0)[0][0] == correlation_id
