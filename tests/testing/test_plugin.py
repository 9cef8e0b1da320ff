"""The fixtures, as a user's test file has them."""

from __future__ import annotations

from pathlib import Path
from textwrap import dedent

import pytest

pytest_plugins = ["pytester"]
pytestmark = [pytest.mark.clients, pytest.mark.timeout(60)]


def run(pytester: pytest.Pytester, text: str, *options: str) -> pytest.RunResult:
    """A user's test file, in a process of its own."""
    pytester.makepyfile(dedent(text))
    return pytester.runpytest_subprocess("-p", "no:cacheprovider", "-o", "asyncio_mode=auto", *options)


def test_a_test_has_a_cluster_of_its_own(pytester: pytest.Pytester) -> None:
    result = run(
        pytester,
        """
        def test_one(kafka):
            kafka.topics.create("orders")
            kafka.group("billing").wait_for(lambda: True)

        def test_another(kafka):
            kafka.topics.create("orders")
        """,
    )
    result.assert_outcomes(passed=2)


def test_a_coroutine_awaits_the_same_words(pytester: pytest.Pytester) -> None:
    result = run(
        pytester,
        """
        import pytest

        @pytest.mark.kafka(nodes=3, settings={"group.max.size": 2})
        async def test_orders(kafka):
            assert kafka.nodes == [1, 2, 3]
            await kafka.clock.advance(seconds=45)
            assert kafka.clock.now_ms >= 45_000
            with pytest.raises(TimeoutError):
                await kafka.group("billing").wait_stable(timeout=0.01)
        """,
    )
    result.assert_outcomes(passed=1)


def test_the_cluster_of_a_run_is_the_same_in_every_test(pytester: pytest.Pytester) -> None:
    result = run(
        pytester,
        """
        def test_one(kafka_session):
            kafka_session.topics.create("orders")

        def test_another(kafka_session):
            assert kafka_session.topics.end("orders") == 0
        """,
    )
    result.assert_outcomes(passed=2)


def test_a_failing_test_tells_its_seed_and_its_groups(pytester: pytest.Pytester) -> None:
    result = run(
        pytester,
        """
        from kafka import KafkaConsumer

        def test_orders(kafka):
            consumer = KafkaConsumer("orders", bootstrap_servers=kafka.bootstrap, group_id="billing")
            consumer.poll(100)
            kafka.group("billing").wait_stable()
            consumer.close()
            assert False, "as I said"
        """,
        "--kafka-seed",
        "11",
    )
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*kafka, seed 11 (repeat with --kafka-seed 11)*", "group billing (Empty, *"])


def test_a_gate_that_is_still_held_is_opened_and_reported(pytester: pytest.Pytester) -> None:
    result = run(
        pytester,
        """
        def test_orders(kafka):
            kafka.gates.hold("join-complete")
        """,
    )
    result.assert_outcomes(passed=1, warnings=1)
    result.stdout.fnmatch_lines(["*gate join-complete was still held; there waited nobody*"])


def test_so_is_one_of_the_whole_run(pytester: pytest.Pytester) -> None:
    result = run(
        pytester,
        """
        def test_orders(kafka_session):
            kafka_session.gates.hold("offsets-loaded")
        """,
    )
    result.assert_outcomes(passed=1, warnings=1)
    result.stdout.fnmatch_lines(["*gate offsets-loaded was still held; there waited nobody*"])


def test_workers_of_xdist_do_not_meet(pytester: pytest.Pytester) -> None:
    pytester.copy_example(str(Path(__file__).with_name("in_use.py")))
    result = run(pytester, "", "-n", "2", "in_use.py")
    result.assert_outcomes(passed=6)
