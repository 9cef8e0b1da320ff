"""Which clusters the plugin's fixtures start, and for how many tests."""

from __future__ import annotations

from inspect import signature

import pytest

from kohort.testing import Cluster
from kohort.testing.plugin import OPTIONS
from tests.testing.user_file import run

pytest_plugins = ["pytester"]
pytestmark = [pytest.mark.clients, pytest.mark.timeout(180)]


@pytest.mark.parametrize("scope", ["module", "package", "session"])
def test_several_tests_share_a_cluster(pytester: pytest.Pytester, scope: str) -> None:
    pytester.makepyfile(
        test_third=f"""
        def test_three(kafka_{scope}):
            names = {{each.name for each in kafka_{scope}.laboratory._inner.cluster.topics}}
            assert ("orders" in names) is {scope != "module"}
        """
    )
    result = run(
        pytester,
        f"""
        def test_one(kafka_{scope}):
            kafka_{scope}.topics.create("orders")
            kafka_{scope}.faults.on("Heartbeat").drop()

        def test_two(kafka_{scope}):
            assert kafka_{scope}.topics.end("orders") == 0
            assert len(kafka_{scope}.faults) == 0
        """,
    )
    result.assert_outcomes(passed=3)


def test_module_mark_configures_its_cluster(pytester: pytest.Pytester) -> None:
    result = run(
        pytester,
        """
        import pytest

        pytestmark = pytest.mark.kafka(nodes=2)

        def test_one(kafka_module):
            assert kafka_module.nodes == [1, 2]

        @pytest.mark.kafka(nodes=3)
        def test_two(kafka_module):
            pass
        """,
    )
    result.assert_outcomes(passed=1, errors=1)
    result.stdout.fnmatch_lines(["*A mark of the module can*"])


def test_factory_creates_several_clusters(pytester: pytest.Pytester) -> None:
    result = run(
        pytester,
        """
        def test_two_clusters(kafka_factory):
            one, other = kafka_factory(nodes=2), kafka_factory(3, settings={"group.max.size": 2})
            assert (one.nodes, other.nodes) == ([1, 2], [1, 2, 3])
            one.topics.create("orders")
            other.topics.create("orders")
            other.gates.hold("join-complete")
            assert False, "as I said"
        """,
    )
    result.assert_outcomes(failed=1, warnings=1)
    assert result.stdout.str().count("(repeat with --kafka-seed") == 2


def test_cluster_options_come_from_three_places(pytester: pytest.Pytester) -> None:
    pytester.makeini(
        """
        [pytest]
        kafka_nodes = 2
        kafka_profile = faithful
        kafka_settings =
            group.max.size=7
            offsets.topic.num.partitions = 3
        """
    )
    result = run(
        pytester,
        """
        import pytest

        def settings(kafka):
            return kafka.laboratory._inner.cluster.settings

        def test_configured(kafka, kafka_session):
            for each in (kafka, kafka_session):
                assert each.nodes == [1, 2]
                assert settings(each).group_max_size == 7
                assert settings(each).offsets_topic_num_partitions == 3
                assert settings(each).group_initial_rebalance_delay_ms == 3000

        @pytest.mark.kafka(nodes=3, settings={"group.max.size": 5})
        def test_marked(kafka):
            assert (kafka.nodes, settings(kafka).group_max_size) == ([1, 2, 3], 5)

        @pytest.mark.kafka(nodes=3)
        @pytest.mark.parametrize("kafka", [1, {"nodes": 4, "profile": "test"}], indirect=True)
        def test_of_a_parameter(kafka, request):
            assert len(kafka.nodes) == (4 if settings(kafka).group_initial_rebalance_delay_ms == 50 else 1)
        """,
    )
    result.assert_outcomes(passed=4)


@pytest.mark.parametrize(
    ("line", "advice"),
    [
        ("kafka_nodes = three", "must be an integer, got 'three'"),
        ("kafka_settings = group.max.size", "must be NAME=VALUE, got 'group.max.size'"),
        ("kafka_settings = group.max.sice=3", "group.max.size"),
        ("kafka_profile = tests", "did you mean test[?]"),
    ],
)
def test_invalid_configuration_is_rejected(pytester: pytest.Pytester, line: str, advice: str) -> None:
    pytester.makeini(f"[pytest]\n{line}\n")
    result = run(
        pytester,
        """
        def test_orders(kafka):
            pass
        """,
    )
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines([f"*{advice}*"])
    assert "plugin.py" not in result.stdout.str()


def test_failing_test_prints_only_its_events(pytester: pytest.Pytester) -> None:
    result = run(
        pytester,
        """
        from kafka import KafkaConsumer

        def consume(kafka, group):
            consumer = KafkaConsumer("orders", bootstrap_servers=kafka.bootstrap, group_id=group)
            while not kafka.group(group).members:
                consumer.poll(100)
            consumer.close()

        def test_one(kafka_session):
            kafka_session.topics.create("orders")
            consume(kafka_session, "shipping")

        def test_two(kafka_session):
            consume(kafka_session, "billing")
            assert False, "as I said"
        """,
    )
    result.assert_outcomes(passed=1, failed=1)
    result.stdout.fnmatch_lines(["group billing (Empty, *"])
    assert "\ngroup shipping" not in result.stdout.str()


def test_mark_takes_options_of_cluster(pytester: pytest.Pytester) -> None:
    assert set(OPTIONS) == set(signature(Cluster).parameters)
    result = run(
        pytester,
        """
        import pytest

        @pytest.mark.kafka(as_kafka="2.8")
        def test_marked(kafka):
            assert kafka._inner.laboratory.cluster.settings.kohort_as_kafka == "2.8"

        @pytest.mark.parametrize("kafka", [{"as_kafka": "3.9"}], indirect=True)
        def test_of_a_parameter(kafka):
            assert kafka._inner.laboratory.cluster.settings.kohort_as_kafka == "3.9"

        def test_made(kafka_factory):
            assert kafka_factory(as_kafka="1.1")._inner.laboratory.cluster.settings.kohort_as_kafka == "1.1"

        @pytest.mark.kafka(as_kafka="2.9")
        def test_unknown(kafka): ...
        """,
    )
    result.assert_outcomes(passed=3, errors=1)
