"""What a process and all below it use, read from /proc while they run."""

from __future__ import annotations

import os
import threading
from pathlib import Path
from typing import Final

INTERVAL_S: Final = 0.5
_TICKS: Final = os.sysconf("SC_CLK_TCK")


class Usage:
    """CPU seconds and peak memory (proportional set size) of a process tree.

    Of a process that ends between two looks, the CPU time as of the last look counts.
    """

    def __init__(self, pid: int) -> None:
        self._pid = pid
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._ticks: dict[int, int] = {}
        self._names: dict[int, str] = {}
        self.peak_bytes = 0

    def __enter__(self) -> Usage:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def stop(self) -> None:
        """Looks for a last time."""
        if not self._stop.is_set():
            self._look()
            self._stop.set()
            self._thread.join()

    @property
    def cpu_s(self) -> float:
        """As of the last look, `INTERVAL_S` ago at most."""
        return sum(list(self._ticks.values())) / _TICKS

    @property
    def cpu_s_by_program(self) -> dict[str, float]:
        """`cpu_s`, by the name of the program."""
        spent: dict[str, float] = {}
        for pid, ticks in list(self._ticks.items()):
            name = self._names[pid]
            spent[name] = spent.get(name, 0.0) + ticks / _TICKS
        return spent

    def _run(self) -> None:
        while not self._stop.wait(INTERVAL_S):
            self._look()

    def _look(self) -> None:
        pids = tree(self._pid)
        for pid in pids:
            ticks = _cpu_ticks(pid)
            if ticks:
                self._names[pid] = name_of(pid) or self._names.get(pid, "")
                self._ticks[pid] = ticks
        self.peak_bytes = max(self.peak_bytes, sum(map(memory, pids)))


def tree(root: int) -> list[int]:
    """``root`` and all below it."""
    children: dict[int, list[int]] = {}
    for path in Path("/proc").iterdir():
        if path.name.isdigit():
            fields = _stat(int(path.name))
            if fields:
                children.setdefault(int(fields[1]), []).append(int(path.name))
    found, open_ = [], [root]
    while open_:
        pid = open_.pop()
        found.append(pid)
        open_ += children.get(pid, [])
    return found


def name_of(pid: int) -> str:
    """The name of a process' program; "" if it is gone."""
    try:
        return Path(f"/proc/{pid}/comm").read_text().strip()
    except OSError:
        return ""


def _cpu_ticks(pid: int) -> int:
    fields = _stat(pid)
    return int(fields[11]) + int(fields[12]) if fields else 0


def _stat(pid: int) -> list[str]:
    """The fields behind the name; none if the process is gone."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return []


def memory(pid: int) -> int:
    """The proportional set size of a process, in bytes; 0 if it is gone."""
    try:
        text = Path(f"/proc/{pid}/smaps_rollup").read_text()
    except OSError:
        return 0
    for line in text.splitlines():
        if line.startswith("Pss:"):
            return int(line.split()[1]) * 1024
    return 0
