"""Invalid batches of producers and the responses to them."""

import pytest

from kohort.protocol.compression import MAX_DECOMPRESSED_BYTES
from kohort.protocol.errors import ErrorCode
from kohort.storage.topic_configs import LogConfig
from kohort.storage.validation import Accepted, Rejection, Verdict, check_batch, only_batch
from tests.storage import odd_batches
from tests.support.batches import batch, contents

NOW_MS = 1_700_000_000_000
HOUR_MS = 3_600_000


def verdict(data: bytes, version: int = 9, **config: object) -> Verdict:
    found = only_batch(data, version)
    if isinstance(found, Rejection):
        return found
    return check_batch(*found, LogConfig(**config), ("topic", 0), NOW_MS, MAX_DECOMPRESSED_BYTES)  # type: ignore[arg-type]


def judged(data: bytes, version: int = 9, **config: object) -> Rejection | None:
    found = verdict(data, version, **config)
    return found if isinstance(found, Rejection) else None


def test_valid_batch_is_unchanged() -> None:
    data = batch(b"a", b"b", at=NOW_MS)
    found = verdict(data)
    assert isinstance(found, Accepted)
    assert found.batch is data


def test_ignores_short_trailing_bytes() -> None:
    data = batch(b"a", at=NOW_MS)
    found = only_batch(data + b"\0\0\0", 9)
    assert not isinstance(found, Rejection)
    assert found[0] == data


@pytest.mark.parametrize(
    ("data", "error_code", "has_log_start"),
    [
        (None, ErrorCode.invalid_record, False),
        (b"", ErrorCode.invalid_record, False),
        (b"123", ErrorCode.invalid_record, False),
        (bytes(40), ErrorCode.corrupt_message, False),
        (bytes(8) + b"\0\0\0\x31" + bytes(20), ErrorCode.invalid_record, False),
        (bytes(8) + b"\0\0\0\x0f" + bytes(4) + b"\2" + bytes(20), ErrorCode.corrupt_message, False),
        (bytes(8) + b"\xff\xff\xff\xff" + bytes(60), ErrorCode.corrupt_message, False),
        (bytes(8) + b"\x7f\xff\xff\xff" + bytes(60), ErrorCode.unknown_server_error, False),
        (bytes(8) + b"\x7f\xff\xff\x00" + bytes(60), ErrorCode.invalid_record, False),
        (batch(b"x")[:-1], ErrorCode.invalid_record, False),
        (batch(b"x") + batch(b"y"), ErrorCode.invalid_record, False),
        (batch(b"x") * 100_000, ErrorCode.invalid_record, False),
        (batch(b"x") + bytes(20), ErrorCode.corrupt_message, False),
        (batch(b"x", magic=0), ErrorCode.invalid_record, False),
        (batch(b"x", magic=1), ErrorCode.invalid_record, False),
        (batch(b"x", magic=3), ErrorCode.corrupt_message, False),
        (batch(b"x", crc_off_by=1), ErrorCode.corrupt_message, False),
        (batch(b"x", base_offset=5), ErrorCode.invalid_record, True),
        (batch(b"x", count=2), ErrorCode.invalid_record, True),
        (batch(b"x", last_offset_delta=5), ErrorCode.invalid_record, True),
        (batch(b"x", last_offset_delta=-1), ErrorCode.invalid_record, True),
        (batch(), ErrorCode.invalid_record, True),
        (batch(b"x", attributes=0x20), ErrorCode.invalid_record, True),
        (batch(b"x", producer=(5, 0, -1)), ErrorCode.invalid_record, True),
        (batch(b"x" * (1 << 20)), ErrorCode.message_too_large, False),
    ],
)
def test_rejection_codes_and_messages(data: bytes, error_code: ErrorCode, has_log_start: bool) -> None:
    rejection = judged(data)
    assert rejection is not None
    assert (rejection.error_code, rejection.has_log_start) == (error_code, has_log_start)


def test_zstd_needs_version_7() -> None:
    data = odd_batches.batch(odd_batches.zstd(odd_batches.record()), now=NOW_MS, attributes=4)
    assert judged(data, version=6) == Rejection(ErrorCode.unsupported_compression_type)
    assert judged(data, version=7) is None


def test_rejects_future_timestamp() -> None:
    assert judged(batch(b"x", at=NOW_MS + HOUR_MS)) is None
    rejection = judged(batch(b"x", b"y", at=(NOW_MS, NOW_MS + HOUR_MS + 1)))
    assert rejection is not None
    assert rejection.error_code == ErrorCode.invalid_timestamp
    assert rejection.message == "One or more records have been rejected due to invalid timestamp"
    ((number, problem),) = rejection.record_errors
    assert number == 1
    assert problem.startswith(f"Timestamp {NOW_MS + HOUR_MS + 1} of message with offset 1 is out of range.")


def test_old_timestamps_are_accepted_by_default() -> None:
    assert judged(batch(b"x", at=-1)) is None
    assert judged(batch(b"x", at=0)) is None
    assert judged(batch(b"x", at=0), timestamp_before_max_ms=1_000) is not None
    assert judged(batch(b"x", at=0), timestamp_before_max_ms=1_000, log_append_time=True) is None


@pytest.mark.parametrize("attributes", [0, 1])
def test_compacted_topic_requires_keys(attributes: int) -> None:
    assert judged(batch((b"k", b"v"), at=NOW_MS, attributes=attributes), compact=True) is None
    rejection = judged(batch((b"k", b"v"), b"v", b"w", at=NOW_MS, attributes=attributes), compact=True)
    assert rejection is not None
    assert rejection.error_code == ErrorCode.invalid_record
    assert [number for number, _ in rejection.record_errors] == [1, 2]
    assert rejection.message is not None
    assert rejection.message.startswith("One or more records have been rejected due to 2 record errors in total")


def test_malformed_records_are_rejected_when_read() -> None:
    assert judged(batch(b"x", at=NOW_MS, attributes=1)[:61] + bytes(30), compact=True) is not None


def test_log_append_time_replaces_timestamps() -> None:
    data = batch(b"a", b"b", at=5)
    found = verdict(data, log_append_time=True)
    assert isinstance(found, Accepted)
    assert (found.max_timestamp, found.append_time_ms) == (NOW_MS, NOW_MS)
    stamped = found.batch
    assert contents([stamped]) == contents([data])
    assert int.from_bytes(stamped[35:43], "big") == NOW_MS
    assert stamped[22] & 8


def test_decompressed_size_is_limited() -> None:
    # The topic has the limit in max.decompressed.message.bytes.
    data = bytes.fromhex(  # three records in gzip, recorded from Kafka 4.4.0
        "00000000000000000000005d00000000028b901ac40001000000020000018bcfe568000000018bcfe56802ffffffffffffffffffffffff"
        "ffff000000031f8b0800b64d026b02ff4b616060600c4824123031653095a530303191ac858585442d008ee7943199000000"
    )
    assert judged(data, max_decompressed_bytes=40) == Rejection(ErrorCode.invalid_record, has_log_start=True)
    assert judged(data, max_decompressed_bytes=4_000) is None
