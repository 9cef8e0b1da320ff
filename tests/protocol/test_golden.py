"""Frames as they travelled to and from Apache Kafka 4.3.0 and 4.4.0: what we read, written again, is the same bytes."""

import json
from pathlib import Path

import pytest

from kohort.protocol.headers import read_header
from tests.protocol.messages import load

FRAMES = [
    pytest.param(path.stem, line["version"], line["direction"], bytes.fromhex(line["hex"]), id=f"{path.stem}-{number}")
    for path in sorted((Path(__file__).parent / "golden").glob("*.jsonl"))
    for number, line in enumerate(map(json.loads, path.read_text().splitlines()), 1)
]


@pytest.mark.parametrize(("name", "version", "direction", "frame"), FRAMES)
def test_golden(name: str, version: int, direction: str, frame: bytes) -> None:
    message = load(name)
    if direction == "request":
        header = read_header(frame)
        request = message.read(header.api_version, frame, header.body_offset)
        assert (header.api_key, header.api_version) == (message.api.key, version)
        assert message.write_request(version, header.correlation_id, header.client_id, request) == frame
    else:
        correlation_id, response = message.read_response(version, frame)
        written = message.write(version, correlation_id, response)
        assert b"".join(written if isinstance(written, list) else [written]) == len(frame).to_bytes(4, "big") + frame
