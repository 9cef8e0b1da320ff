"""The fixtures, as a user's test file has them."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.testing.user_file import run

pytest_plugins = ["pytester"]
pytestmark = [pytest.mark.clients, pytest.mark.timeout(180)]


def test_each_test_has_own_cluster(pytester: pytest.Pytester) -> None:
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


def test_coroutine_awaits_same_methods(pytester: pytest.Pytester) -> None:
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


def test_session_cluster_is_shared(pytester: pytest.Pytester) -> None:
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


def test_failing_test_prints_seed_and_groups(pytester: pytest.Pytester) -> None:
    result = run(
        pytester,
        """
        from kafka import KafkaConsumer

        def test_orders(kafka):
            consumer = KafkaConsumer("orders", bootstrap_servers=kafka.bootstrap, group_id="billing")
            while not kafka.group("billing").members:
                consumer.poll(100)
            consumer.close()
            assert False, "as I said"
        """,
        "--kafka-seed",
        "11",
    )
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*kafka, seed 11 (repeat with --kafka-seed 11)*", "group billing (Empty, *"])


def test_held_gate_is_opened_and_reported(pytester: pytest.Pytester) -> None:
    result = run(
        pytester,
        """
        def test_orders(kafka):
            kafka.gates.hold("join-complete")
        """,
    )
    result.assert_outcomes(passed=1, warnings=1)
    result.stdout.fnmatch_lines(["*gate join-complete was still held; waiting: none*"])


def test_session_gate_is_opened(pytester: pytest.Pytester) -> None:
    result = run(
        pytester,
        """
        def test_orders(kafka_session):
            kafka_session.gates.hold("offsets-loaded")
        """,
    )
    result.assert_outcomes(passed=1, warnings=1)
    result.stdout.fnmatch_lines(["*gate offsets-loaded was still held; waiting: none*"])


def test_workers_of_xdist_do_not_meet(pytester: pytest.Pytester) -> None:
    pytester.copy_example(str(Path(__file__).with_name("in_use.py")))
    result = run(pytester, "", "-n", "2", "in_use.py", plugins=("xdist.plugin", "pytest_timeout"))
    result.assert_outcomes(passed=6)


def test_sync_and_async_fixtures(pytester: pytest.Pytester) -> None:
    result = run(
        pytester,
        """
        import asyncio
        import pytest
        from aiokafka import AIOKafkaConsumer

        @pytest.fixture
        def later(kafka):
            kafka.clock.advance(seconds=45)
            return kafka

        @pytest.fixture
        async def much_later(later):
            await later.clock.advance(seconds=45)

        async def test_a_coroutine(kafka, later, much_later):
            assert kafka.clock.now_ms >= 90_000

        def test_any_other(kafka, later, much_later):
            assert kafka.clock.now_ms >= 90_000

        async def test_a_client_in_the_same_loop_goes_on_meanwhile(kafka_session):
            kafka_session.topics.create("orders")
            consumer = AIOKafkaConsumer("orders", bootstrap_servers=kafka_session.bootstrap, group_id="billing")
            starting = asyncio.create_task(consumer.start())
            await kafka_session.group("billing").wait_stable(members=1)
            await starting
            await consumer.stop()
        """,
    )
    result.assert_outcomes(passed=3)


def test_session_cluster_is_cleaned(pytester: pytest.Pytester) -> None:
    result = run(
        pytester,
        """
        def test_one(kafka_session):
            kafka_session.gates.hold("join-received")
            kafka_session.faults.on("Heartbeat").drop()
            kafka_session.clock.pause()

        def test_another(kafka_session):
            assert [*kafka_session.gates, *kafka_session.faults] == []
            assert not kafka_session.laboratory._inner.clock.paused
        """,
    )
    result.assert_outcomes(passed=2, warnings=1)
    result.stdout.fnmatch_lines(["*::test_one", "*gate join-received was still held; waiting: none*"])


@pytest.mark.parametrize("kafka", ["kafka", "kafka_session"])
def test_violation_fails_test(pytester: pytest.Pytester, kafka: str) -> None:
    result = run(
        pytester,
        f"""
        def test_orders({kafka}):
            {kafka}.laboratory._inner.safety.violations.append("orders-0 belongs to ada and bob")

        def test_another({kafka}):
            pass
        """,
        "--kafka-seed",
        "11",
    )
    result.assert_outcomes(passed=2, errors=1)
    result.stdout.fnmatch_lines(["safety violation: orders-0 *", "*kafka, seed 11 (*", "no groups"])


@pytest.mark.parametrize("kafka", ["kafka", "kafka_session"])
def test_failing_fixture_prints_groups(pytester: pytest.Pytester, kafka: str) -> None:
    result = run(
        pytester,
        f"""
        import pytest

        @pytest.fixture
        def stable({kafka}):
            {kafka}.group("billing").wait_stable(timeout=0.01)

        def test_orders(stable):
            pass
        """,
        "--kafka-seed",
        "11",
    )
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(["*kafka, seed 11 (*", "no groups"])


WRONG_MARKS = {
    "node=3": "did you mean nodes[?]",
    "3, 'faithful'": "pass 'faithful' by name",
    "profile='tests'": "did you mean test[?]",
    "nodes=0": "nodes must be an integer of at least 1, got 0",
    "safety=True": "safety must be a Budget",
}
"""With the advice that each brings."""


def test_invalid_mark_is_rejected(pytester: pytest.Pytester) -> None:
    result = run(
        pytester,
        "import pytest\n"
        + "".join(
            f"@pytest.mark.kafka({mark})\ndef test_{number}(kafka):\n    pass\n"
            for number, mark in enumerate(WRONG_MARKS)
        ),
    )
    result.assert_outcomes(errors=len(WRONG_MARKS))
    for number, advice in enumerate(WRONG_MARKS.values()):
        result.stdout.fnmatch_lines([f"*ERROR at setup of test_{number} *", f"*{advice}*"])
    assert "plugin.py" not in result.stdout.str()


def test_fixtures_end_after_rules_and_gates(pytester: pytest.Pytester) -> None:
    result = run(
        pytester,
        """
        import pytest

        @pytest.fixture
        def rules(kafka):
            yield
            assert len(kafka.faults) == 0
            assert len(list(kafka.gates)) == 0

        @pytest.mark.usefixtures("rules")
        def test_orders(kafka):
            kafka.clock.pause()
            kafka.faults.freeze(group="billing")
            kafka.gates.hold("join-complete")
        """,
    )
    result.assert_outcomes(passed=1, warnings=1)
    result.stdout.fnmatch_lines(["*join-complete* was still held; waiting: none"])


def test_failing_test_lists_unused_rules(pytester: pytest.Pytester) -> None:
    result = run(
        pytester,
        """
        def test_orders(kafka):
            with kafka.faults.freeze(group="billing", member="bob"):
                kafka.topics.create("orders")
            kafka.faults.hide_node(1)
            assert False, "as I said"
        """,
    )
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(
        [
            "rule 1: any request with group billing, member bob: * has never acted; no requests matched",
            "rule 2: Metadata: * has never acted; no requests matched",
        ]
    )


def test_forgotten_await_warns_with_line(pytester: pytest.Pytester) -> None:
    result = run(
        pytester,
        """
        async def test_orders(kafka):
            kafka.clock.advance(seconds=1)
        """,
    )
    result.assert_outcomes(passed=1, warnings=1)
    result.stdout.fnmatch_lines(["*:2: RuntimeWarning: coroutine 'Clock.advance' was never awaited"])


def test_both_clusters_in_one_test(pytester: pytest.Pytester) -> None:
    result = run(
        pytester,
        """
        def test_orders(kafka, kafka_session):
            kafka.topics.create("orders")
            kafka_session.topics.create("orders")
            assert False, "as I said"
        """,
    )
    result.assert_outcomes(failed=1)
    assert result.stdout.str().count("(repeat with --kafka-seed") == 2


def test_mark_does_not_change_session_cluster(pytester: pytest.Pytester) -> None:
    result = run(
        pytester,
        """
        import pytest

        @pytest.mark.kafka(nodes=3)
        def test_orders(kafka_session):
            pass
        """,
    )
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(["*configures the fixture `kafka`*"])


def test_timeout_hides_internal_frames(pytester: pytest.Pytester) -> None:
    result = run(
        pytester,
        """
        def test_orders(kafka):
            kafka.group("billing").wait_stable(timeout=0.01)
        """,
    )
    result.assert_outcomes(failed=1)
    text = result.stdout.str()
    assert "TimeoutError" in text
    assert "no running event loop" not in text
    assert "remote.py" not in text
    assert "futures" not in text


def test_late_clients_reach_closed_fixture(pytester: pytest.Pytester) -> None:
    # without a cluster aiokafka retries the commit forever, and librdkafka the leave for 45 s
    result = run(
        pytester,
        """
        import time

        import pytest
        from aiokafka import AIOKafkaConsumer
        from confluent_kafka import Consumer

        @pytest.fixture
        async def started():
            made = []
            yield made
            for each in made:
                await each.stop()

        @pytest.fixture
        def subscribed():
            made = []
            yield made
            began = time.monotonic()
            for each in made:
                each.close()
            assert time.monotonic() - began < 30

        async def test_with_a_commit_to_make(started, kafka):
            kafka.topics.create("orders")
            kafka.topics.append("orders", "a")
            consumer = AIOKafkaConsumer(
                "orders", bootstrap_servers=kafka.bootstrap, group_id="billing", auto_offset_reset="earliest"
            )
            await consumer.start()
            started.append(consumer)
            await consumer.getone()

        def test_with_a_group_to_leave(subscribed, kafka):
            kafka.topics.create("orders")
            kafka.topics.append("orders", "a")
            settings = {"group.id": "billing", "auto.offset.reset": "earliest"}
            consumer = Consumer({"bootstrap.servers": kafka.bootstrap} | settings)
            subscribed.append(consumer)
            consumer.subscribe(["orders"])
            assert consumer.poll(60).value() == b"a"
        """,
    )
    result.assert_outcomes(passed=2)
