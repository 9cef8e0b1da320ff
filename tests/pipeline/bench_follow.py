"""Budget of `kohort follow`: `python -m tests.pipeline.bench_follow [SECONDS [KMINION]]`.

A broker has 50,000 partitions; 1,000 groups commit 2,000 partitions a second. Prints processor time and memory of the
follower without its reports, and the times until the first metrics and until a requested report. KMINION is the program
of github.com/redpanda-data/kminion; it then reads the same cluster at the same time, once in each of its two modes.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Thread

import psutil
from confluent_kafka import ConsumerGroupTopicPartitions, TopicPartition
from confluent_kafka.admin import AdminClient

from tests.clients.serving import serving

GROUPS, TOPICS, PARTITIONS, COMMITS_PER_S = 1_000, 100, 500, 2_000
PER_GROUP = TOPICS * PARTITIONS // GROUPS
STEP_S, SCRAPE_S = 0.5, 15
FOLLOWER_PORT, KMINION_PORT = 9_464, 9_465
MORE_ELEMENTS = ("--set", "kohort.request.max.elements=200000")  # kminion lists the ends of all partitions at once
KMINION_MODES = ("offsetsTopic", "adminApi")


class Measured:
    """Processor time and memory of a process that serves metrics, from now on."""

    def __init__(self, name: str, process: subprocess.Popen[bytes], port: int) -> None:
        self.name, self._url = name, f"http://127.0.0.1:{port}/metrics"
        self._process = psutil.Process(process.pid)
        self._used, self._scrapes_s, self._bytes, self._most = self._cpu_s(), list[float](), 0, 0

    def scrape(self) -> None:
        begun = time.monotonic()
        with urllib.request.urlopen(self._url, timeout=60) as response:
            self._bytes = len(response.read())
        self._scrapes_s.append(time.monotonic() - begun)

    def look(self) -> None:
        self._most = max(self._most, self._process.memory_info().rss)

    def report(self, seconds: float) -> str:
        cpu = (self._cpu_s() - self._used) / seconds
        scrape = f"a scrape takes up to {max(self._scrapes_s):.1f} s, {self._bytes / 2**20:.1f} MB"
        return f"{self.name}: {cpu:.1%} of a core, at most {self._most / 2**20:.0f} MB; {scrape}"

    def _cpu_s(self) -> float:
        times = self._process.cpu_times()
        return float(times.user + times.system)


def commit(admin: AdminClient, number: int, offset: int) -> None:
    topic, first = f"topic-{number % TOPICS}", number // TOPICS * PER_GROUP
    offsets = [TopicPartition(topic, first + n, offset) for n in range(PER_GROUP)]
    admin.alter_consumer_group_offsets([ConsumerGroupTopicPartitions(f"group-{number}", offsets)])


def wait_for(series: bytes, port: int) -> float:
    """Return the seconds until a series is exported."""
    begun = time.monotonic()
    while True:
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics") as response:
                if series in response.read():
                    return time.monotonic() - begun
        except OSError:
            pass
        time.sleep(0.1)


@contextmanager
def kminion(program: str, address: str, mode: str) -> Iterator[Measured]:
    """Start kminion with all groups by partition, and the lag of topics in sum."""
    settings = {
        "KAFKA_BROKERS": address, "EXPORTER_PORT": str(KMINION_PORT), "MINION_CONSUMERGROUPS_SCRAPEMODE": mode,
        "MINION_TOPICS_GRANULARITY": "topic", "MINION_LOGDIRS_ENABLED": "false", "LOGGER_LEVEL": "error",
    }  # fmt: skip
    process = subprocess.Popen([program], env=os.environ | settings, stdout=subprocess.DEVNULL)
    try:
        first_s = wait_for(b"kminion_kafka_consumer_group_topic_lag{", KMINION_PORT)
        print(f"kminion with {mode}: first lags after {first_s:.1f} s", flush=True)
        time.sleep(SCRAPE_S)
        yield Measured(f"kminion with {mode}", process, KMINION_PORT)
    finally:
        process.kill()
        process.wait()


class Load:
    """Commits of all groups in turn."""

    def __init__(self, admin: AdminClient) -> None:
        self._admin, self._count, self._offset = admin, 0, 0

    def run(self, seconds: float, measured: list[Measured]) -> None:
        begun, count, scrapes = time.monotonic(), 0, 0
        threads: list[Thread] = []
        while (took := time.monotonic() - begun) < seconds:
            for _ in range(round(COMMITS_PER_S * STEP_S / PER_GROUP)):
                self._offset += self._count % GROUPS == 0
                commit(self._admin, self._count % GROUPS, self._offset)
                self._count += 1
                count += 1
            if took > SCRAPE_S * scrapes:
                scrapes += 1
                threads += [Thread(target=process.scrape) for process in measured]
                for thread in threads[-len(measured) :]:
                    thread.start()  # kminion takes long for a scrape
            for process in measured:
                process.look()
            time.sleep(max(0.0, begun + count * PER_GROUP / COMMITS_PER_S - time.monotonic()))
        took = time.monotonic() - begun
        for thread in threads:
            thread.join()
        print(f"{count * PER_GROUP / took:.0f} commits/s")
        for process in measured:
            print(process.report(took), flush=True)


def main() -> None:
    seconds = float(sys.argv[1]) if len(sys.argv) > 1 else 120.0
    topics = [word for n in range(TOPICS) for word in ("--topic", f"topic-{n}:{PARTITIONS}")]
    with tempfile.TemporaryDirectory() as folder, serving(options=(*topics, *MORE_ELEMENTS)) as line:
        address = line.split()[0]
        admin = AdminClient({"bootstrap.servers": address})
        for number in range(GROUPS):
            commit(admin, number, 0)
        time.sleep(5)
        out, load = Path(folder) / "out", Load(admin)
        command = [sys.executable, "-m", "kohort", "follow", address, "--out", str(out)]
        follower = subprocess.Popen([*command, "--every", "1d", "--metrics-port", str(FOLLOWER_PORT)])
        print(f"first lags after {wait_for(b'kafka_consumergroup_lag{', FOLLOWER_PORT):.1f} s", flush=True)
        report = out / "report" / "report.html"
        wait_until(report.exists)  # the first report is made at the start
        time.sleep(SCRAPE_S)

        def measured() -> Measured:
            return Measured("kohort follow", follower, FOLLOWER_PORT)

        load.run(seconds, [measured()])
        for mode in KMINION_MODES if len(sys.argv) > 2 else ():
            with kminion(sys.argv[2], address, mode) as other:
                load.run(seconds, [measured(), other])
        begun, written = time.monotonic(), report.stat().st_mtime
        follower.send_signal(signal.SIGUSR1)
        wait_until(lambda: report.stat().st_mtime != written)
        print(f"report on request after {time.monotonic() - begun:.1f} s", flush=True)
        follower.send_signal(signal.SIGINT)
        print(f"exit code {follower.wait(600)}", flush=True)


def wait_until(condition: Callable[[], bool]) -> None:
    while not condition():
        time.sleep(0.1)


if __name__ == "__main__":
    main()
