"""How much memory and processor time a process and all its children take, looked at while they run."""

from __future__ import annotations

import threading

import psutil


class TreeMemory:
    """Peaks over a `with` block, in bytes. The processes share pages: `rss` counts them in each, `pss` once."""

    def __init__(self, pid: int, every_s: float = 0.2) -> None:
        self._process, self._every_s = psutil.Process(pid), every_s
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)
        self.rss = self.pss = 0
        self._used_s: dict[int, float] = {}

    @property
    def processor_s(self) -> float:
        """Processor time of all processes up to their last check, since Spark's workers lose their parent."""
        return sum(self._used_s.values())

    def __enter__(self) -> TreeMemory:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()

    def _watch(self) -> None:
        while not self._over.wait(self._every_s):
            rss = pss = 0
            try:
                tree = [self._process, *self._process.children(recursive=True)]
            except psutil.NoSuchProcess:
                return
            for process in tree:
                try:
                    found, used = process.memory_full_info(), process.cpu_times()
                except (psutil.NoSuchProcess, psutil.AccessDenied):
                    continue
                self._used_s[process.pid] = used.user + used.system
                rss += found.rss
                pss += getattr(found, "pss", found.rss)
            self.rss, self.pss = max(self.rss, rss), max(self.pss, pss)
