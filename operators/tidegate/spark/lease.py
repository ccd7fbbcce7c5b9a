"""The lease: at most one driver may commit for a checkpoint (design §2 "Sinks", T3, T4).

Every holder has a term, a number that only rises. Taking the lease creates ``lease/<term>.json``,
which must not exist, so of two drivers that try at once one wins. The holder touches its file every
few seconds. A lease whose process is dead, on this host, may be taken over at once; another one
only when it has not been touched for `EXPIRY_S`. Before each commit the holder checks that no
higher term exists: a driver that was stopped past its lease is refused.
"""

from __future__ import annotations

import json
import os
import socket
import threading
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path

from tidegate.clock import Clock
from tidegate.errors import LeaseHeldError, TrustError
from tidegate.spark.checkpoint import write_new

EXPIRY_S = 15.0
RENEWAL_S = 3.0


@dataclass(frozen=True, slots=True)
class Holder:
    """Who holds a lease. ``started`` tells a process from a later one with the same pid.

    ``boot`` tells a machine from another one of the same name, as a pod's that moved has: what
    runs there is not to be seen from here.
    """

    host: str
    boot: str
    pid: int
    started: str

    @classmethod
    def me(cls) -> Holder:
        return cls(socket.gethostname(), _boot(), os.getpid(), _process_start(os.getpid()))

    @property
    def is_dead(self) -> bool:
        """True only when it ran on this host and no longer does."""
        here = (self.host, self.boot) == (socket.gethostname(), _boot())
        return here and _process_start(self.pid) != self.started


def _boot() -> str:
    """The kernel's name for this run of this machine; empty where it gives none."""
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    except OSError:
        return ""


def _process_start(pid: int) -> str:
    """The start time of a process in clock ticks since boot; empty when there is none."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return ""
    fields = stat.rpartition(")")[2].split()
    return "" if fields[0] in ("Z", "X") else fields[19]


class Lease:
    """Held from `acquire` to `release`, renewed by a thread of its own."""

    def __init__(self, directory: Path, clock: Clock) -> None:
        self._directory = directory
        self._clock = clock
        self._term = 0
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None

    def acquire(self, takeover: bool = False) -> str:
        """Takes the lease; gives a line for the log when it was taken from another.

        Raises LeaseHeldError while another driver holds it.
        """
        self._directory.mkdir(parents=True, exist_ok=True)
        term, note = self._last_term(), ""
        if term:
            note = self._judge(term, takeover)
        try:
            self._write(term + 1)
        except FileExistsError as error:
            raise LeaseHeldError(
                "another driver took the checkpoint's lease at the same moment"
            ) from error
        self._term = term + 1
        self._thread = threading.Thread(target=self._renew, name="lease", daemon=True)
        self._thread.start()
        return note

    def check(self) -> None:
        """Raises LeaseHeldError when another driver has taken over."""
        if self._last_term() > self._term:
            raise LeaseHeldError(
                "another driver has taken over this checkpoint; this one stops without committing"
            )

    def release(self) -> None:
        """Gives the lease back."""
        self._stop.set()
        if self._thread is not None:
            self._thread.join()
        if self._term and self._last_term() == self._term:
            self._path(self._term).write_text("{}")

    def _judge(self, term: int, takeover: bool) -> str:
        path = self._path(term)
        try:
            document = json.loads(path.read_text())
        except ValueError:
            document = {}  # cut short by the death of its writer
        if not document:
            return ""
        try:
            holder = Holder(*(document[name] for name in ("host", "boot", "pid", "started")))
        except (KeyError, TypeError) as error:
            raise TrustError(f"{path} names no holder of the checkpoint") from error
        age = self._clock.now_us() / 1e6 - path.stat().st_mtime
        who = f"process {holder.pid} on {holder.host}"
        if holder.is_dead:
            return f"taking over the checkpoint from {who}, which is dead"
        if takeover:
            return f"taking over the checkpoint from {who}, as --takeover says"
        if age >= EXPIRY_S:
            return f"taking over the checkpoint from {who}, silent for {age:.0f} s"
        raise LeaseHeldError(
            f"another driver holds the checkpoint: {who}",
            detail=f"it renewed its lease {max(age, 0):.0f} s ago",
            hint=f"stop it, wait {EXPIRY_S:.0f} s after its end, or force it with --takeover",
        )

    def _write(self, term: int) -> None:
        write_new(self._path(term), asdict(Holder.me()))  # whole at once: nobody reads half of it

    def _renew(self) -> None:
        while not self._stop.wait(RENEWAL_S):
            with suppress(OSError):  # gone with its checkpoint: the next commit says so
                os.utime(self._path(self._term))

    def _last_term(self) -> int:
        stems = (path.stem for path in self._directory.glob("*.json"))
        return max((int(stem) for stem in stems if stem.isdigit()), default=0)

    def _path(self, term: int) -> Path:
        return self._directory / f"{term:06d}.json"
