"""The lease: at most one driver may commit for a checkpoint (design §2 "Sinks", T3, T4).

Every holder has a term, a number that only rises. Taking the lease creates ``lease/<term>.json``,
which must not exist, so of two drivers that try at once one wins. The holder touches its file every
few seconds. A lease whose process is dead, on this host, may be taken over at once; another one
only when it has not been touched for `EXPIRY_S`. Before each commit the holder checks that no
higher term exists: a driver that was stopped past its lease is refused.

The same on Kubernetes, where a Lease of its API is the usual way: that one is kept beside what it
protects, and knows drivers of one cluster only. This one is in the same place as the checkpoint and
is created by the same conditional write, so it holds whoever can write the checkpoint; and its term
is what transactions and entries are fenced with.
"""

from __future__ import annotations

import json
import os
import socket
import threading
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from uuid import uuid4

from tidegate.clock import Clock
from tidegate.codec import decode
from tidegate.errors import LeaseHeldError, StoreError, TrustError
from tidegate.patience import Patience, patiently
from tidegate.store.base import Store

EXPIRY_S = 15.0
RENEWAL_S = 3.0


@dataclass(frozen=True, slots=True)
class Holder:
    """Who holds a lease. ``started`` tells a process from a later one with the same pid.

    ``boot`` tells a machine from another one of the same name, and a pod from another one: what
    runs there is not to be seen from here.
    """

    host: str
    boot: str
    pid: int
    started: str

    @classmethod
    def me(cls) -> Holder:
        return cls.of(os.getpid())

    @classmethod
    def of(cls, pid: int) -> Holder:
        """A process of this host, which runs."""
        return cls(socket.gethostname(), _boot(), pid, _process_start(pid))

    @property
    def is_here(self) -> bool:
        """Whether it would be seen from here."""
        return (self.host, self.boot) == (socket.gethostname(), _boot())

    @property
    def is_dead(self) -> bool:
        """True only when it ran on this host and no longer does."""
        return self.is_here and _process_start(self.pid) != self.started


def _boot() -> str:
    """The kernel's name for this run of this machine, and for those processes of it that are seen
    from here; empty where it gives none.

    Containers of one machine, and of one name, do not see each other's processes. In a pod its uid
    says that: a container that was started again in a pod sees that the one before is gone.
    """
    seen = os.environ.get("POD_UID", "")
    try:
        seen = seen or str(Path("/proc/self/ns/pid").readlink())
        return Path("/proc/sys/kernel/random/boot_id").read_text().strip() + seen
    except OSError:
        return seen


def _process_start(pid: int) -> str:
    """The start time of a process in clock ticks since boot; empty when there is none."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return ""
    fields = stat.rpartition(")")[2].split()
    return "" if fields[0] in ("Z", "X") else fields[19]


def holder_of(store: Store, clock: Clock) -> str | None:
    """Who holds the lease in ``store``, as people name it; None when nobody does."""
    term = _last_term(store)
    try:
        holder = decode(Holder, json.loads(store.read(_name(term))), more=True)
    except (OSError, ValueError):
        return None
    if holder.is_dead or store.age_s(_name(term), clock.now_us()) >= EXPIRY_S:
        return None
    return f"process {holder.pid} on {holder.host}"


class Lease:
    """Held from `acquire` to `release`, renewed by a thread of its own.

    ``store`` has its files and nothing else; it is prepared already.
    """

    def __init__(self, store: Store, clock: Clock) -> None:
        self._store = store
        self._clock = clock
        self.term = 0
        """Of the lease that is held: those of later holders are higher."""
        self._document = b""
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None

    def acquire(self, takeover: bool = False, patience_s: float = 0.0) -> str:
        """Takes the lease; gives a line for the log when it was taken from another.

        Raises LeaseHeldError when another driver holds it, and does so after ``patience_s`` still.
        """
        patience = Patience(patience_s, pause_s=1.0, passing=(LeaseHeldError,))
        return patiently(lambda _: self._take(takeover), patience, self._clock)

    def _take(self, takeover: bool) -> str:
        term, note = _last_term(self._store), ""
        if term:
            note = self._judge(term, takeover)
        # The token tells this lease from one that a thread of this process tries to take.
        document = {**asdict(Holder.me()), "token": uuid4().hex}
        self._document = json.dumps(document, sort_keys=True).encode()
        try:  # whole at once: nobody reads half of it
            self._store.create(_name(term + 1), self._document)
        except FileExistsError as error:
            raise LeaseHeldError(
                "another driver took the checkpoint's lease at the same moment"
            ) from error
        self.term = term + 1
        self._thread = threading.Thread(target=self._renew, name="lease", daemon=True)
        self._thread.start()
        return note

    def check(self) -> None:
        """Raises LeaseHeldError when another driver has taken over."""
        # Nobody skips a term: one question answers it, where a listing would be a dear one.
        if self._store.exists(_name(self.term + 1)):
            raise LeaseHeldError(
                "another driver has taken over this checkpoint; this one stops without committing"
            )

    def release(self) -> None:
        """Gives the lease back."""
        self._stop.set()
        if self._thread is not None:
            self._thread.join()
        with suppress(OSError, StoreError):  # then it expires
            if self.term and _last_term(self._store) == self.term:
                self._store.write(_name(self.term), b"{}")

    def _judge(self, term: int, takeover: bool) -> str:
        where = self._store.where(_name(term))
        try:
            document = json.loads(self._store.read(_name(term)))
        except ValueError:
            document = {}  # cut short by the death of its writer
        if not document:
            return ""
        try:
            holder = decode(Holder, document, more=True)
        except ValueError as error:
            raise TrustError(f"{where} does not name a holder of the checkpoint") from error
        who = f"process {holder.pid} on {holder.host}"
        if holder.is_dead:
            return f"taking over the checkpoint from {who}, which is dead"
        if takeover:
            return f"taking over the checkpoint from {who}, as --takeover says"
        age = self._store.age_s(_name(term), self._clock.now_us())
        if age >= EXPIRY_S:
            return f"taking over the checkpoint from {who}, silent for {age:.0f} s"
        raise LeaseHeldError(
            f"another driver holds the checkpoint: {who}",
            detail=f"it renewed its lease {max(age, 0):.0f} s ago",
            hint=f"stop it (kill {holder.pid}), or force it with --takeover"
            if holder.is_here
            else f"stop it, wait {EXPIRY_S:.0f} s after its end, or force it with --takeover",
        )

    def _renew(self) -> None:
        while not self._stop.wait(RENEWAL_S):
            # Gone with its checkpoint, or not to be reached: the next commit says so.
            with suppress(OSError, StoreError):
                self._store.touch(_name(self.term), self._document)


def _last_term(store: Store) -> int:
    stems = (name.partition(".")[0] for name in store.names(""))
    return max((int(stem) for stem in stems if stem.isdigit()), default=0)


def _name(term: int) -> str:
    return f"{term:06d}.json"
