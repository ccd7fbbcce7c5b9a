"""Keyed runs on this host: files that are mapped into memory, named by what they hold.

What is durable of a run lies in Spark's state store, compressed, and behind the JVM. An epoch looks
up a few rows of each: that is cheap in a file that is mapped, whose pages all workers of the host
share and the kernel drops when it needs them. A run never changes, and its name says what is in it,
so no file is ever stale: it is there or it is not, and then the store has it. Without room on the
disk a run is used as it is, in memory.
"""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from tempfile import NamedTemporaryFile
from zlib import crc32

import pyarrow as pa

from tidegate.engine.limits import local_directory
from tidegate.epochs.job import WireJob


class RunCache:
    """The files of one job in ``directory``, which is private. One is for one epoch: what it has
    mapped takes room on the disk, also when another worker has dropped it since."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._open: dict[str, pa.Table] = {}

    def find(self, digest: str) -> pa.Table | None:
        """The run with that digest, if it is here."""
        if digest in self._open:
            return self._open[digest]
        try:
            with pa.memory_map(str(self._directory / digest)) as file:
                self._open[digest] = pa.ipc.open_file(file).read_all()
        except OSError:
            return None
        return self._open[digest]

    def keep(self, digest: str, run: pa.Table) -> pa.Table:
        """``run``, of one chunk a column, from the file that now has it if there is room."""
        run = run.combine_chunks()
        with suppress(OSError):
            self._directory.mkdir(mode=0o700, exist_ok=True)
            with NamedTemporaryFile(dir=self._directory, delete=False) as draft:
                try:
                    with pa.ipc.new_file(draft, run.schema) as writer:
                        writer.write_table(run)
                    draft.flush()
                    Path(draft.name).replace(self._directory / digest)
                except OSError:
                    Path(draft.name).unlink(missing_ok=True)
                    raise
            found = self.find(digest)
            assert found is not None
            return found
        return run

    def drop(self, digest: str) -> None:
        """Nobody needs it any more: whoever does after all finds it in the store."""
        self._open.pop(digest, None)
        with suppress(OSError):
            (self._directory / digest).unlink()


def run_cache(job: WireJob) -> RunCache:
    """One for an epoch: beside the driver's own files where it is on this machine, which go with
    the run, else where Spark has room for such."""
    driver = Path(job.stop_mark).parent
    if job.stop_mark and driver.is_dir():
        return RunCache(driver / "runs")
    return RunCache(Path(local_directory()) / f"tidegate-runs-{crc32(job.stop_mark.encode()):08x}")
