"""Comparison of records that are written by hand with the table of layouts."""

from kohort.protocol.records.layouts import CONSUMER_OFFSETS
from kohort.protocol.records.record_reader import decode
from kohort.protocol.records.record_writer import encode_key, encode_value
from kohort.protocol.records.schema import TopicLayouts


def assert_follows_table(key: bytes, value: bytes | None, topic: TopicLayouts = CONSUMER_OFFSETS) -> None:
    """Check that the table reads a record completely and writes the same bytes."""
    decoded = decode(key, value, topic)
    assert not decoded.unknown_tags
    assert not decoded.dialect
    assert encode_key(decoded.type, decoded.key, topic) == key
    if value is None:
        assert decoded.value is None
    else:
        assert decoded.version is not None
        assert decoded.value is not None
        assert encode_value(decoded.type, decoded.version, decoded.value, topic=topic) == value
