"""Plays all incidents and records what a broker wrote of them, with what really happened.

    python -m tests.pipeline.incidents.record kafka consumer OUT.tar.gz     # a real Kafka 4.3; needs Java 17 and Maven
    python -m tests.pipeline.incidents.record kohort classic OUT.tar.gz

It takes four minutes (loss: ten, streams: eleven, lookalike and share: two to five). At the end the broker restarts (consumer), or stands still for 8 s
(classic). The result holds `segments/` (the offsets topic, and what share coordinators keep), `broker.log` or `events/`,
`log-ends.jsonl`, `topics.json`, and `truth.jsonl`.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import signal
import subprocess
import sys
import tarfile
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import Protocol

from confluent_kafka import TopicCollection
from confluent_kafka.admin import AdminClient

from tests import restarting
from tests.clients.kafkas_own import class_path
from tests.pipeline.incidents import (
    classic_stories,
    lookalike_stories,
    loss_stories,
    share_stories,
    stories,
    streams_stories,
)
from tests.pipeline.incidents.stage import PATIENCE_S, Stage, play
from tests.pipeline.incidents.truth import Truth
from tests.support.shared_folder import SHARED

SETTINGS = {
    "group.consumer.session.timeout.ms": "6000",
    "group.consumer.min.session.timeout.ms": "1000",
    "group.consumer.heartbeat.interval.ms": "1000",
    "group.consumer.min.heartbeat.interval.ms": "100",
    "group.min.session.timeout.ms": "1000",
    "group.initial.rebalance.delay.ms": "500",
    "offsets.topic.num.partitions": "4",
}
MORE_SETTINGS = {
    "loss": {"group.consumer.migration.policy": "disabled"},
    "streams": {
        "group.streams.session.timeout.ms": "6000",
        "group.streams.min.session.timeout.ms": "1000",
        "group.streams.heartbeat.interval.ms": "1000",
        "group.streams.min.heartbeat.interval.ms": "100",
    },
    "share": {
        "group.share.session.timeout.ms": "6000",
        "group.share.min.session.timeout.ms": "1000",
        "group.share.heartbeat.interval.ms": "1000",
        "group.share.min.heartbeat.interval.ms": "100",
        "group.share.record.lock.duration.ms": "2000",
        "group.share.min.record.lock.duration.ms": "1000",
        "group.share.delivery.count.limit": "3",
        "share.coordinator.state.topic.num.partitions": "4",
    },
}
"""Of the broker, for one set of stories."""
AFTERWARDS_S = 15
"""Duration for which the unchanged groups continue after the restart."""
STANDS_STILL_S = 8
LAYOUT = "[%d] %p %m (%c)%n"
"""As in the log4j2.yaml that Kafka comes with."""


class Cluster(Protocol):
    """A broker that can be restarted, and what it writes."""

    bootstrap: str

    def restart(self) -> None:
        pass

    def signal(self, number: signal.Signals) -> None:
        pass

    def copy(self, out: Path) -> None:
        pass


class Kafka:
    """The real one."""

    def __init__(self, port: int, more: Mapping[str, str]) -> None:
        self._port = port
        self._script = SHARED / "conformance" / "kafka"
        settings = [word for name, value in (SETTINGS | dict(more)).items() for word in ("--set", f"{name}={value}")]
        self.bootstrap = self._run("start", *settings).strip()
        (place,) = (self._cluster() / "node-1").glob("log4j2.properties")
        pattern = "appender.file.layout.pattern = "
        lines = [pattern + LAYOUT if line.startswith(pattern) else line for line in place.read_text().splitlines()]
        place.write_text("\n".join(lines) + "\n")
        self.restart()

    def restart(self) -> None:
        self._run("restart")

    def signal(self, number: signal.Signals) -> None:
        os.kill(int((self._cluster() / "node-1" / "pid").read_text()), number)

    def copy(self, out: Path) -> None:
        node = self._cluster() / "node-1"
        _copy_segments(node / "data", out)
        lines = [line for line in (node / "server.log").open() if "[GroupCoordinator" in line and line.startswith("[")]
        (out / "broker.log").write_text("".join(lines))

    def stop(self) -> None:
        self._run("stop")

    def _run(self, action: str, *options: str) -> str:
        return subprocess.check_output(
            [sys.executable, str(self._script), action, "--port", str(self._port), *options], text=True
        )

    def _cluster(self) -> Path:
        return Path.home() / ".cache" / "kohort-reference" / "clusters" / str(self._port)


class Kohort:
    """This project's."""

    def __init__(self, folder: Path, more: Mapping[str, str]) -> None:
        self._folder = folder
        settings = [word for name, value in (SETTINGS | dict(more)).items() for word in ("--set", f"{name}={value}")]
        command = [sys.executable, "-m", "kohort.cli", "serve", "--event-log", str(folder / "events"), *settings]
        self.bootstrap = restarting.start(folder, command)

    def restart(self) -> None:
        restarting.kill(self._folder, signal.SIGTERM)
        command = json.loads((self._folder / "command").read_text())
        restarting.start(self._folder, command, (self._folder / "address").read_text())

    def signal(self, number: signal.Signals) -> None:
        os.kill(int((self._folder / "pid").read_text()), number)

    def copy(self, out: Path) -> None:
        _copy_segments(self._folder / "data", out)
        shutil.copytree(self._folder / "events", out / "events")

    def stop(self) -> None:
        restarting.kill(self._folder, signal.SIGTERM)


@contextmanager
def cluster(kind: str, folder: Path, port: int, more: Mapping[str, str]) -> Iterator[Cluster]:
    """Yield a running cluster with these additional settings."""
    found = Kafka(port, more) if kind == "kafka" else Kohort(folder, more)
    try:
        yield found
    finally:
        found.stop()


def record(found: Cluster, played: ModuleType, out: Path, only: frozenset[str] = frozenset()) -> None:
    """Play these stories, or all, and write the recording to a folder."""
    with (out / "truth.jsonl").open("w") as truth, (out / "log-ends.jsonl").open("w") as log_ends:
        stage = Stage(found.bootstrap, Truth(truth), log_ends)
        try:
            left = [story(stage) for story in played.TO_THE_END if not only]
            for number, wave in enumerate(played.WAVES, 1):
                chosen = [story for story in wave if not only or story.__name__ in only]
                print(f"wave {number}: {', '.join(story.__name__ for story in chosen)}", file=sys.stderr)
                play(*[partial(story, stage) for story in chosen])
            if played is classic_stories and not only:
                classic_stories.dead(stage)
                time.sleep(AFTERWARDS_S)
            for group in left:
                group.tell("broker_stops")
            if played is classic_stories and not only:
                found.signal(signal.SIGSTOP)
                time.sleep(STANDS_STILL_S)
                found.signal(signal.SIGCONT)
            elif left:
                found.restart()
            for group in left:
                group.tell("broker_is_back")
            if left:
                time.sleep(AFTERWARDS_S)
            for group in left:
                group.tell("recording_end")
            found.copy(out)
        finally:
            stage.ends()
    (out / "topics.json").write_text(json.dumps(_topics(found.bootstrap), indent=1))


def _topics(bootstrap: str) -> list[dict[str, object]]:
    admin = AdminClient({"bootstrap.servers": bootstrap})
    names = [name for name in admin.list_topics(timeout=PATIENCE_S).topics if not name.startswith("__")]
    described = admin.describe_topics(TopicCollection(names))
    return [{"name": name, "topic_id": str(described[name].result(PATIENCE_S).topic_id)} for name in sorted(names)]


def _copy_segments(data: Path, out: Path) -> None:
    logs = [*data.glob("__consumer_offsets-*/*.log"), *data.glob("__share_group_state-*/*.log")]
    for log in sorted(logs):
        place = out / "segments" / log.parent.name
        place.mkdir(parents=True, exist_ok=True)
        shutil.copy(log, place)


STORIES = {
    "consumer": stories,
    "classic": classic_stories,
    "loss": loss_stories,
    "lookalike": lookalike_stories,
    "share": share_stories,
    "streams": streams_stories,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("kind", choices=["kafka", "kohort"])
    parser.add_argument("stories", choices=STORIES)
    parser.add_argument("out", type=Path)
    parser.add_argument("--port", type=int, default=31710, help="of the real Kafka")
    parser.add_argument("--only", nargs="*", default=[], metavar="STORY", help="these stories, to try them")
    options = parser.parse_args()
    if options.stories == "streams":
        class_path()  # once: its processes take what is built
    with tempfile.TemporaryDirectory() as name:
        folder, out = Path(name) / "broker", Path(name) / "out"
        folder.mkdir()
        out.mkdir()
        with cluster(options.kind, folder, options.port, MORE_SETTINGS.get(options.stories, {})) as found:
            record(found, STORIES[options.stories], out, frozenset(options.only))
        with tarfile.open(options.out, "w:gz") as packed:
            packed.add(out, "")


if __name__ == "__main__":
    main()
