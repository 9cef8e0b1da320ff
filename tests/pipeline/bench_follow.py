"""Budget of `kohort follow`: `python -m tests.pipeline.bench_follow [SECONDS]`.

A broker has 50,000 partitions; 1,000 groups commit 2,000 partitions a second. Prints processor time and memory of the
follower without its reports, and the times until the first metrics and until a requested report.
"""

from __future__ import annotations

import signal
import subprocess
import sys
import tempfile
import time
import urllib.request
from pathlib import Path

import psutil
from confluent_kafka import ConsumerGroupTopicPartitions, TopicPartition
from confluent_kafka.admin import AdminClient

from tests.clients.serving import serving

GROUPS, TOPICS, PARTITIONS, COMMITS_PER_S = 1_000, 100, 500, 2_000
PER_GROUP = TOPICS * PARTITIONS // GROUPS
STEP_S = 0.5


def commit(admin: AdminClient, number: int, offset: int) -> None:
    topic, first = f"topic-{number % TOPICS}", number // TOPICS * PER_GROUP
    offsets = [TopicPartition(topic, first + n, offset) for n in range(PER_GROUP)]
    admin.alter_consumer_group_offsets([ConsumerGroupTopicPartitions(f"group-{number}", offsets)])


def main() -> None:
    seconds = float(sys.argv[1]) if len(sys.argv) > 1 else 120.0
    topics = [word for n in range(TOPICS) for word in ("--topic", f"topic-{n}:{PARTITIONS}")]
    with tempfile.TemporaryDirectory() as folder, serving(options=tuple(topics)) as line:
        address = line.split()[0]
        admin = AdminClient({"bootstrap.servers": address})
        for number in range(GROUPS):
            commit(admin, number, 0)
        time.sleep(5)
        begun = time.monotonic()
        out, metrics_port = Path(folder) / "out", 9_464
        command = [sys.executable, "-m", "kohort", "follow", address, "--out", str(out)]
        follower = subprocess.Popen([*command, "--every", "1d", "--metrics-port", str(metrics_port)])
        process, most = psutil.Process(follower.pid), 0
        while True:
            try:
                text = urllib.request.urlopen(f"http://127.0.0.1:{metrics_port}/metrics").read()
                if b"kafka_consumergroup_lag{" in text:
                    break
            except OSError:
                pass
            time.sleep(0.1)
        print(f"first lags after {time.monotonic() - begun:.1f} s", flush=True)
        time.sleep(15)
        start, used, at, offset, scraped = time.monotonic(), process.cpu_times(), 0, 1, 0
        while time.monotonic() - start < seconds:
            for _ in range(round(COMMITS_PER_S * STEP_S / PER_GROUP)):
                commit(admin, at % GROUPS, offset)
                at += 1
                offset += at % GROUPS == 0
            if time.monotonic() - start > 15 * scraped:
                scraped += 1
                urllib.request.urlopen(f"http://127.0.0.1:{metrics_port}/metrics").read()
            most = max(most, process.memory_info().rss)
            time.sleep(max(0.0, start + at * PER_GROUP / COMMITS_PER_S - time.monotonic()))
        now, took = process.cpu_times(), time.monotonic() - start
        cpu = (now.user + now.system - used.user - used.system) / took
        print(f"{at * PER_GROUP / took:.0f} commits/s, {cpu:.1%} of a core, at most {most / 2**20:.0f} MB", flush=True)
        begun = time.monotonic()
        report = out / "report" / "report.html"
        written = report.stat().st_mtime if report.exists() else 0.0
        follower.send_signal(signal.SIGUSR1)
        while not report.exists() or report.stat().st_mtime == written:
            time.sleep(0.1)
        print(f"report on request after {time.monotonic() - begun:.1f} s", flush=True)
        follower.send_signal(signal.SIGINT)
        print(f"exit code {follower.wait(600)}", flush=True)


if __name__ == "__main__":
    main()
