from __future__ import annotations

import json
import os
import re
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from tidegate.clock import ManualClock, SystemClock
from tidegate.epochs.lease import EXPIRY_S, Holder, Lease
from tidegate.errors import LeaseHeldError, TrustError
from tidegate.store.local import LocalStore


@pytest.fixture
def held(tmp_path: Path) -> Iterator[Lease]:
    """A lease that this process holds."""
    lease = Lease(LocalStore(tmp_path), SystemClock())
    assert lease.acquire() == ""
    yield lease
    lease.release()


def rewrite(directory: Path, term: int, **holder: object) -> None:
    """Makes somebody else of the holder of ``term``."""
    path = directory / f"{term:06d}.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), **holder}))


def test_a_second_driver_is_refused(held: Lease, tmp_path: Path) -> None:
    with pytest.raises(LeaseHeldError, match=f"process {os.getpid()} on") as caught:
        Lease(LocalStore(tmp_path), SystemClock()).acquire()
    assert "--takeover" in caught.value.hint
    held.check()


def test_a_lease_that_was_given_back_is_taken_silently(held: Lease, tmp_path: Path) -> None:
    held.release()
    other = Lease(LocalStore(tmp_path), SystemClock())
    assert other.acquire() == ""
    other.check()
    with pytest.raises(LeaseHeldError, match="has taken over"):
        held.check()
    held.release()  # gives nothing back that is not its own
    other.check()
    with pytest.raises(LeaseHeldError):
        Lease(LocalStore(tmp_path), SystemClock()).acquire()
    other.release()


def test_a_dead_process_of_this_host_is_followed_at_once(held: Lease, tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", "import os; print(os.getpid())"],
        capture_output=True,
        text=True,
        check=True,
    )
    rewrite(tmp_path, 1, pid=int(done.stdout), started="12345")
    other = Lease(LocalStore(tmp_path), SystemClock())
    assert f"process {done.stdout.strip()} on" in other.acquire()
    other.release()


def test_a_later_process_with_the_same_pid_is_another(held: Lease, tmp_path: Path) -> None:
    rewrite(tmp_path, 1, started="1")
    other = Lease(LocalStore(tmp_path), SystemClock())
    assert "which is dead" in other.acquire()
    other.release()


def test_who_has_patience_follows_a_silent_driver(held: Lease, tmp_path: Path) -> None:
    rewrite(tmp_path, 1, host="elsewhere")
    clock = ManualClock(int(((tmp_path / "000001.json").stat().st_mtime + 1) * 1e6))
    with pytest.raises(LeaseHeldError):
        Lease(LocalStore(tmp_path), clock).acquire(patience_s=EXPIRY_S - 3)
    other = Lease(LocalStore(tmp_path), clock)
    assert re.search("elsewhere, silent for 1[56] s", other.acquire(patience_s=EXPIRY_S))
    other.release()


@pytest.mark.parametrize("other", [{"host": "elsewhere"}, {"boot": "another", "started": "1"}])
def test_a_driver_on_another_host_is_waited_for(
    held: Lease, tmp_path: Path, other: dict[str, str]
) -> None:
    rewrite(tmp_path, 1, pid=1, **other)
    host = other.get("host", socket.gethostname())
    with pytest.raises(LeaseHeldError, match=f"process 1 on {host}"):
        Lease(LocalStore(tmp_path), SystemClock()).acquire()
    touched = (tmp_path / "000001.json").stat().st_mtime
    clock = ManualClock(int((touched + EXPIRY_S + 2) * 1e6))
    follower = Lease(LocalStore(tmp_path), clock)
    assert f"{host}, silent for 17 s" in follower.acquire()
    follower.release()


def test_who_does_not_see_the_processes_is_elsewhere(monkeypatch: pytest.MonkeyPatch) -> None:
    """Containers of one machine and one name: by their view of processes, or the pod's uid."""
    here = Holder.me()
    monkeypatch.setattr(Path, "readlink", lambda _: Path("pid:[1]"))
    assert not here.is_here
    beside = Holder.me()
    monkeypatch.setenv("POD_UID", "one")
    assert not here.is_here
    assert not beside.is_here
    monkeypatch.setattr(Path, "readlink", lambda _: Path("pid:[2]"))
    assert Holder.me().is_here


def test_takeover_forces_it(held: Lease, tmp_path: Path) -> None:
    other = Lease(LocalStore(tmp_path), SystemClock())
    assert "as --takeover says" in other.acquire(takeover=True)
    with pytest.raises(LeaseHeldError, match="has taken over"):
        held.check()
    other.release()


def test_a_lease_cut_short_by_the_death_of_its_writer_is_free(tmp_path: Path) -> None:
    (tmp_path / "000004.json").write_text('{"ho')
    lease = Lease(LocalStore(tmp_path), SystemClock())
    assert lease.acquire() == ""
    assert (tmp_path / "000005.json").exists()
    lease.release()


def test_a_lease_that_names_nobody_is_not_trusted(tmp_path: Path) -> None:
    (tmp_path / "000004.json").write_text('{"pid": 1}')
    with pytest.raises(TrustError, match=r"000004\.json"):
        Lease(LocalStore(tmp_path), SystemClock()).acquire()


def test_of_many_at_once_one_wins(tmp_path: Path) -> None:
    leases = [Lease(LocalStore(tmp_path), SystemClock()) for _ in range(16)]
    won: list[Lease] = []
    start = threading.Barrier(len(leases))

    def race(lease: Lease) -> None:
        start.wait()
        try:
            lease.acquire()
        except LeaseHeldError:
            return
        won.append(lease)

    threads = [threading.Thread(target=race, args=(lease,)) for lease in leases]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(won) == 1
    won[0].check()
    won[0].release()


def test_a_living_process_is_not_dead() -> None:
    assert not Holder.me().is_dead
    assert Holder.me() == Holder.me()
