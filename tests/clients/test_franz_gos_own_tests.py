"""franz-go's own tests of share groups, as its module brings them, asked of kohort."""

from __future__ import annotations

import os
import re
import subprocess

import pytest

from tests.clients.libraries import HERE, Missing, fresh_folder, run
from tests.support.lacking import lacks

TESTS = "ShareGroup|AuditShare|RegexShare|BuildAckRanges|DrainPurgedAcks"
WITH_A_BROKER = {
    "TestShareGroup",
    "TestShareGroupETL",
    "TestShareGroupAckOnClose",
    "TestShareGroupOffsetsAdmin",
    "TestConsumeRegexShareSkipsInternal",
}  # tests that need a broker; the others test the library alone, and show that it is complete
RECORDS = 20_000  # records in the chain of two groups; franz-go's own number, 500,000, takes minutes
TIMEOUT_S = 300
RESULT = re.compile(r"^--- (PASS|FAIL|SKIP): (\w+)", re.MULTILINE)


@pytest.mark.libraries
def test_franz_go_share_group_suite_passes(bootstrap: str) -> None:
    environment = os.environ | {
        "KGO_SEEDS": bootstrap,
        "KGO_TEST_RF": "1",
        "KGO_TEST_RECORDS": str(RECORDS),
        "KGO_LOG_LEVEL": "none",
    }
    done = subprocess.run(
        [_tests(), "-test.v", "-test.run", TESTS, "-test.timeout", f"{TIMEOUT_S}s"],
        capture_output=True,
        text=True,
        timeout=2 * TIMEOUT_S,
        check=False,
        env=environment,
    )
    results = {name: result for result, name in RESULT.findall(done.stdout)}
    assert set(results.values()) == {"PASS"}, done.stdout + done.stderr
    assert results.keys() > WITH_A_BROKER
    assert done.returncode == 0, done.stdout + done.stderr


def _tests() -> str:
    """Return the test program that Go builds; the module's archive contains the test files, too."""
    built = fresh_folder("franz_go", HERE / "franz_go") / "own-tests"
    try:
        if not built.exists():
            run(["go", "test", "-c", "-o", str(built), "github.com/twmb/franz-go/pkg/kgo"], HERE / "franz_go")
    except Missing as reason:
        lacks("program", f"franz-go's own tests: {reason}")
    return str(built)
