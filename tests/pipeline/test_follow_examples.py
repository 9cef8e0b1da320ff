"""Files that ship with `kohort follow`: dashboard, alert rules, compose file, Kubernetes manifest."""

from __future__ import annotations

import json
import re
import subprocess
import urllib.request
from collections import defaultdict
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Lock
from typing import Any, NamedTuple
from urllib.parse import urlencode

import pytest
import yaml

from kohort.pipeline.live.follow_metrics import FollowMetrics
from kohort.pipeline.live.group_log import JOINED, GroupLog
from kohort.pipeline.live.group_metrics import GroupMetrics
from kohort.pipeline.live.sampled_ends import LogEnds
from tests.pipeline.follow_story import BEGIN_MS, STEP_MS, STEPS, FollowStory

ROOT = Path(__file__).parents[2]
SHIPPED, DOCS = ROOT / "examples" / "follow", ROOT / "docs"


def exported() -> dict[str, set[str]]:
    """Return the labels by metric."""
    metrics: dict[str, set[str]] = {}
    collectors = FollowMetrics().registry._collector_to_names
    families = [(family, getattr(c, "_labelnames", ())) for c in collectors for family in c.collect()]
    of_groups = GroupMetrics(GroupLog(), LogEnds(), dict, lambda: 0, Lock()).collect()
    families += [(family, getattr(family, "_labelnames", ())) for family in of_groups]
    for family, labels in families:
        metrics[f"{family.name}_total" if family.type == "counter" else family.name] = set(labels)
    return metrics


def queries() -> Iterable[str]:
    dashboard = json.loads((SHIPPED / "grafana" / "groups.json").read_text())
    yield from (target["expr"] for panel in dashboard["panels"] for target in panel["targets"])
    yield from (variable["query"] for variable in dashboard["templating"]["list"] if variable["type"] == "query")
    for group in rules():
        yield from (rule["expr"] for rule in group["rules"])


def rules() -> list[dict[str, Any]]:
    groups: list[dict[str, Any]] = yaml.safe_load((SHIPPED / "alerts.yml").read_text())["groups"]
    return groups


@pytest.mark.parametrize("query", list(queries()))
def test_query_uses_exported_names(query: str) -> None:
    names = set(re.findall(r"\b(?:kafka|kohort)_\w+", query))
    metrics = exported()
    assert names
    assert names <= metrics.keys()
    labels = set[str]().union(*(metrics[name] for name in names))
    used = set(re.findall(r"(\w+)\s*(?:=~|!~|!=|=)\s*\"", query))
    for listed in re.findall(r"(?:by|on|without)\s*\(([^)]*)\)", query):
        used.update(word.strip() for word in listed.split(",") if word.strip())
    for label in re.findall(r"label_values\(\w+, (\w+)\)", query):
        used.add(label)
    assert used <= labels


def test_legends_use_exported_labels() -> None:
    dashboard = json.loads((SHIPPED / "grafana" / "groups.json").read_text())
    for panel in dashboard["panels"]:
        for target in panel["targets"]:
            name, *_ = re.findall(r"\b(?:kafka|kohort)_\w+", target["expr"])
            assert set(re.findall(r"{{(\w+)}}", target["legendFormat"])) <= exported()[name], panel["title"]


def test_alert_links_lead_to_headings() -> None:
    base = "{{ $externalLabels.kohort_docs }}/"
    for rule in rules()[0]["rules"]:
        url = rule["annotations"]["runbook_url"]
        page, _, anchor = url.removeprefix(base).partition("/#")
        text = (DOCS / f"{page}.md").read_text()
        headings = {line.strip("# ").lower() for line in text.splitlines() if line.startswith("## ")}
        ids = set(re.findall(r'<a id="(\w+)"></a>', text))
        expected = {"r45"} if "{{" in anchor else {anchor}
        assert url.startswith(base)
        assert expected <= headings | ids, rule["alert"]


def test_compose_mounts_shipped_files() -> None:
    services = yaml.safe_load((SHIPPED / "compose.yaml").read_text())["services"]
    for name, service in services.items():
        assert service.keys() <= {
            "image", "build", "command", "volumes", "depends_on", "restart", "ports", "environment", "healthcheck",
        }, name  # fmt: skip
        for volume in service.get("volumes", ()):
            source = volume.split(":")[0]
            assert not source.startswith("./") or (SHIPPED / source).is_file(), volume
    (image_volume,) = json.loads(re.findall(r"VOLUME (.*)", (ROOT / "docker" / "Dockerfile").read_text())[0])
    follow = services["follow"]
    assert follow["volumes"] == [f"follow:{image_volume}"], "only there the user of the image may write"
    assert Path(follow["command"][-1]).is_relative_to(image_volume)
    assert (SHIPPED / follow["build"]["context"] / follow["build"]["dockerfile"]).is_file()
    assert follow["build"]["args"] == {"EXTRAS": "analyze"}
    assert [document["kind"] for document in yaml.safe_load_all((SHIPPED / "kubernetes.yaml").read_text())] == [
        "PersistentVolumeClaim",
        "Deployment",
        "Service",
    ]


class Firing(NamedTuple):
    """An alert of the story."""

    not_before_minute: float
    minute: float
    labels: dict[str, str]
    summary: str
    page: str


ALERTS = {
    "KafkaFollowerDown": Firing(
        17.5, 18.5, {"stream": "log"}, "kohort follow cannot read the offsets topic", "how-to/following/#interruptions"
    ),
    "KafkaRebalanceOpen": Firing(
        3.5, 4.5, {}, "Rebalances that have been open for more than two minutes: 1", "how-to/following/#alerts"
    ),
    "KafkaConsumerLag": Firing(
        15, 16, {"consumergroup": "reports", "topic": "orders"},
        "Records of orders wait for group reports for 16m 0s", "reference/findings/#r45",
    ),
    "KafkaRebalanceStorm": Firing(
        2.5, 12, {"consumergroup": "flaky"}, "Group flaky has rebalanced 20 times in ten minutes",
        "reference/findings/#r26",
    ),
    "KafkaGroupWithoutMembers": Firing(
        9.5, 11, {"consumergroup": "reports"}, "Group reports has no members, and records wait for it",
        "reference/findings/#r29",
    ),
    "KafkaGroupFinding": Firing(
        -1, 1, {"group": "reports", "rule": "R29"}, "Finding R29 about group reports", "reference/findings/#r29"
    ),
}  # fmt: skip


@contextmanager
def prometheus(folder: Path) -> Iterator[str]:
    """Start a Prometheus with the metrics of the story; yield its address."""
    text = folder / "metrics.txt"
    lines = [f"{name} {value} {at_ms / 1000}\n" for at_ms, name, value in FollowStory().samples()]
    text.write_text("".join(lines) + "# EOF\n")
    run = ["promtool", "tsdb", "create-blocks-from", "openmetrics", str(text), str(folder / "tsdb")]
    subprocess.run(run, check=True, capture_output=True)
    (folder / "prometheus.yml").write_text("{}")
    command = ["prometheus", f"--config.file={folder}/prometheus.yml", f"--storage.tsdb.path={folder}/tsdb"]
    command += ["--storage.tsdb.retention.time=100y", "--web.listen-address=127.0.0.1:0"]
    server = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    try:
        assert server.stderr is not None
        address = ""
        for line in server.stderr:
            if listening := re.search(r"Listening on\"? address=([\w.]+:\d+)", line):
                address = f"http://{listening[1]}"
            if "ready to receive" in line:
                break
        yield address
    finally:
        server.kill()
        server.communicate()


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with prometheus(tmp_path_factory.mktemp("prometheus")) as address:
        yield address


def series_of(target: dict[str, str], address: str) -> list[dict[str, Any]]:
    """Return the series that a panel shows for the story, a value a minute."""
    query = target["expr"].replace("$group", ".*").replace("$__rate_interval", "1m")
    period = {"start": BEGIN_MS / 1000, "end": (BEGIN_MS + STEPS * STEP_MS) / 1000, "step": 60}
    with urllib.request.urlopen(f"{address}/api/v1/query_range?{urlencode({'query': query} | period)}") as reply:
        series: list[dict[str, Any]] = json.load(reply)["data"]["result"]
    return series


@pytest.mark.needs("prometheus")
def test_panels_show_data(address: str) -> None:
    dashboard = json.loads((SHIPPED / "grafana" / "groups.json").read_text())
    for panel in dashboard["panels"]:
        for target in panel["targets"]:
            values = {float(value) for entry in series_of(target, address) for _, value in entry["values"]}
            assert values, panel["title"]
            assert panel["title"] == "Series beyond the limit" or max(values) > 0, panel["title"]


@pytest.mark.needs("prometheus")
def test_first_rebalance_of_client_is_counted(address: str) -> None:
    dashboard = json.loads((SHIPPED / "grafana" / "groups.json").read_text())
    (panel,) = (panel for panel in dashboard["panels"] if panel["title"] == "Rebalances by cause and client")
    series = series_of(panel["targets"][0], address)
    joined = {entry["metric"]["client"]: entry["values"] for entry in series if entry["metric"]["cause"] == JOINED}
    assert len(joined) == 20
    assert all(sum(float(value) for _, value in values) == 1 for values in joined.values())


@pytest.mark.needs("prometheus")
def test_each_alert_fires(tmp_path: Path) -> None:
    assert ALERTS.keys() == {rule["alert"] for rule in rules()[0]["rules"]}
    values: dict[str, list[str]] = defaultdict(lambda: ["_"] * STEPS)
    for at_ms, name, value in FollowStory().samples():
        values[name][(at_ms - BEGIN_MS) // STEP_MS] = str(value)
    series = [{"series": name, "values": " ".join(column)} for name, column in values.items()]
    rules_of = [
        {"alertname": name, "eval_time": f"{minute * 60:.0f}s", "exp_alerts": expected}
        for name, firing in ALERTS.items()
        for minute, expected in ((firing.not_before_minute, []), (firing.minute, [_expected(firing)]))
        if minute >= 0
    ]
    story = {
        "interval": f"{STEP_MS // 1000}s", "input_series": series, "alert_rule_test": rules_of,
        "external_labels": yaml.safe_load((SHIPPED / "prometheus.yml").read_text())["global"]["external_labels"],
    }  # fmt: skip
    cases = {"rule_files": [str(SHIPPED / "alerts.yml")], "evaluation_interval": "15s", "tests": [story]}
    (tmp_path / "cases.yml").write_text(json.dumps(cases))
    ended = subprocess.run(
        ["promtool", "test", "rules", tmp_path / "cases.yml"], capture_output=True, text=True, check=False
    )
    assert ended.returncode == 0, ended.stdout + ended.stderr


def _expected(firing: Firing) -> dict[str, Any]:
    return {
        "exp_labels": firing.labels | {"severity": "warning"},
        "exp_annotations": {"summary": firing.summary, "runbook_url": f"http://127.0.0.1:8000/{firing.page}"},
    }
