"""The player's own reading and writing of bytes, against kio's."""

from io import BytesIO
from random import Random
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from kio.serial import entity_reader, entity_writer

from kohort.protocol.api_keys import APIS, ApiSpec
from tests.differential.codec import Unreadable, read_answer, request_of, response_of, write_request
from tests.differential.making import make_version
from tests.differential.sides import Known
from tests.protocol.strategies import entities
from tests.support.effort import examples, some_versions
from tests.talk.values import fill

VERSIONS = [
    (api, version)
    for api in APIS
    for version in some_versions(max(api.min_version, api.readable_from), api.max_version)
]
CLIENT_ID = "ada"


def name_of(api: ApiSpec) -> str:
    return "".join(word.title() for word in api.name.split("_"))


@pytest.mark.parametrize(("api", "version"), VERSIONS, ids=lambda value: getattr(value, "name", value))
def test_kio_decodes_requests_completely(api: ApiSpec, version: int) -> None:
    entity = request_of(name_of(api), version)
    for seed in range(5):
        step = make_version(name_of(api), version, Random(seed), oddly=0.0)
        step.values.pop("cluster_id", None)  # kio does not take the null that Kafka's schema allows here
        frame = write_request(name_of(api), version, 7, CLIENT_ID, fill(step.values, Known()))
        flexible = version >= api.first_flexible
        body = frame[4 + 8 + 2 + len(CLIENT_ID) + flexible :]
        request: Any
        request, size = entity_reader(entity)(body, 0)
        assert size == len(body)
        for field, value in step.values.items():
            if isinstance(value, str) and "$" not in value and isinstance(getattr(request, field), str):
                assert getattr(request, field) == value


@pytest.mark.parametrize(("api", "version"), VERSIONS, ids=lambda value: getattr(value, "name", value))
def test_responses_are_decoded_completely(api: ApiSpec, version: int) -> None:
    name = name_of(api)

    @settings(examples(0.05, without=HealthCheck), database=None)
    @given(st.data())
    def check(data: Any) -> None:
        response = data.draw(entities(response_of(name, version)))
        body = BytesIO()
        entity_writer(type(response))(body, response)
        header = b"\0\0\0\7" + (b"\0" if version >= api.first_flexible and name != "ApiVersions" else b"")
        frame = header + body.getvalue()
        if name == "ApiVersions" and frame[4:6] == b"\0\x23":
            return  # the refusal, which has another form
        values = read_answer(name, version, frame)
        if hasattr(response, "error_code"):
            assert values["error_code"] == response.error_code.name.upper()
        with pytest.raises(Unreadable):
            read_answer(name, version, frame + b"x")

    check()
