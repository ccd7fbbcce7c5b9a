"""Makes goldens with a release: its checkpoint in the middle of a job, and what it goes on to.

    PYTHONPATH=tests python -m goldens.make --python RELEASE/.venv/bin/python NAME …

A golden is made once, by the release whose checkpoints it stands for, and is never made anew by a
later one: that it can be resumed is what it tests. So this is for new goldens, which want another
folder and `goldens.golden.GOLDENS`.
"""

from __future__ import annotations

import argparse
import json
import lzma
import os
import signal
import subprocess
import tarfile
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from goldens import inputs
from goldens.golden import (
    FRAMES,
    GOLDENS,
    KAFKA,
    NO_LEDGER,
    POSTGRES,
    Golden,
    Results,
    results,
    unpack,
)
from goldens.kafka_world import KafkaWorld
from goldens.postgres_world import PostgresWorld
from goldens.world import World
from kafka.broker import Cluster
from kafka.kit import Kit
from postgres.server import Server

TIMEOUT_S: Final = 600
_WRITTEN_S: Final = 1_714_550_400
"""When the input was written: positions have that time, and whole seconds survive an archive."""
_NOT_KEPT: Final = ("checkpoint/log", "checkpoint/metrics.prom")
_INPUTS: Final = {
    "windows": inputs.windows,
    "joins": inputs.joins,
    "filters": inputs.filters,
    "filters_apart": inputs.filters,
    "frames": inputs.frames,
}
_ALL: Final = {**GOLDENS, **{golden.name: golden for golden in (FRAMES, KAFKA, POSTGRES)}}


class Release:
    """A release, by the Python in which it is installed; its command line, as processes."""

    def __init__(self, python: Path) -> None:
        self._python = python.absolute()

    def run(self, golden: Golden, directory: Path, world: World, killed: str = "") -> str:
        """Runs the job in ``directory`` to its end, or until it is ``killed`` at a failpoint."""
        env = {**world.env, "TIDEGATE_FAILPOINTS": killed}
        cli = ["-m", "tidegate.cli", *golden.args]
        command = cli if golden is not FRAMES else [FRAMES.file]
        code, printed = self._run(command, directory, env)
        assert code == (-signal.SIGKILL if killed else 0), f"{golden.name} ended with {code}"
        return printed

    def results(self, golden: Golden, directory: Path, world: World, printed: str = "") -> Results:
        ledger = NO_LEDGER
        if golden is not FRAMES:
            command = ["-m", "tidegate.cli", "ledger", "checkpoint", "--json"]
            code, ledger = self._run(command, directory, {})
            assert code == 0
        return results(golden, directory, world, printed, ledger)

    def _run(self, command: list[str], directory: Path, env: Mapping[str, str]) -> tuple[int, str]:
        with subprocess.Popen(
            [self._python, *command],
            cwd=directory,
            env={**os.environ, **env},
            stdout=subprocess.PIPE,
            text=True,
            start_new_session=True,
        ) as process:
            printed, _ = process.communicate(timeout=TIMEOUT_S)
        _wait_for_session(process.pid)
        return process.returncode, printed


def _wait_for_session(leader: int) -> None:
    """Until the JVM of a killed driver has ended too, which writes no more then."""
    for _ in range(600):
        if not any(_sessions(leader)):
            return
        time.sleep(0.1)
    raise AssertionError(f"processes of session {leader} do not end")


def _sessions(leader: int) -> Iterator[int]:
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = path.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if int(fields[3]) == leader and fields[0] not in "ZX":
            yield int(path.parent.name)


def make(golden: Golden, release: Release, scratch: Path) -> None:
    """Writes the golden's archive."""
    first, given = scratch / "first", _INPUTS.get(golden.name, inputs.nothing)()
    assert given.removed == golden.removed
    first.mkdir()
    write(first, given.first)
    write(first / "later", given.later)
    with _worlds(golden, scratch) as world:
        world.begin()
        golden.write_job(first, world)
        release.run(golden, first, world, golden.killed)
        world.keep(first)
        begun = release.results(golden, first, world)
    (first / "expected.json").write_text(Results().to_json())
    pack(golden, first)
    ends = [resumed(golden, release, scratch / name) for name in ("second", "third")]
    for name, rows in ends[0].sinks.items():
        assert rows == ends[1].sinks[name], f"{golden.name}: {name} differs from run to run"
        assert rows != begun.sinks.get(name), f"{golden.name}: {name} does not go on"
    assert ends[0] == ends[1], f"{golden.name}: the ledger differs from run to run"
    (first / "expected.json").write_text(ends[0].to_json())
    pack(golden, first)
    tell(golden, begun, ends[0])


def resumed(golden: Golden, release: Release, directory: Path) -> Results:
    """What comes of the golden that is packed; twice the same, or it must not be recorded."""
    directory.mkdir()
    with _worlds(golden, directory) as world:
        unpack(golden, directory, world)
        return release.results(golden, directory, world, release.run(golden, directory, world))


@contextmanager
def _worlds(golden: Golden, scratch: Path) -> Iterator[World]:
    """A new world in which the golden's job runs."""
    if golden is KAFKA:
        with Cluster(scratch / "kafka") as cluster:
            yield KafkaWorld(Kit(cluster.bootstrap))
    elif golden is POSTGRES:
        with Server() as server:
            yield PostgresWorld(server)
    else:
        yield World()


def write(directory: Path, files: Mapping[str, bytes]) -> None:
    for number, (name, content) in enumerate(files.items()):
        path = directory / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
        os.utime(path, (_WRITTEN_S + number, _WRITTEN_S + number))


def pack(golden: Golden, directory: Path) -> None:
    kept = ("in", "out", "later", "checkpoint", "kafka.json", "postgres.json", "expected.json")
    with (
        lzma.open(golden.archive, "wb", preset=9 | lzma.PRESET_EXTREME) as packed,
        tarfile.open(fileobj=packed, mode="w") as archive,
    ):
        for name in kept:
            if (directory / name).exists():
                archive.add(directory / name, name, filter=_kept)


def _kept(member: tarfile.TarInfo) -> tarfile.TarInfo | None:
    if member.name.startswith(_NOT_KEPT):
        return None
    member.uid = member.gid = 0
    member.uname = member.gname = ""
    member.mtime = int(member.mtime)
    return member


def tell(golden: Golden, begun: Results, ended: Results) -> None:
    reasons = sorted({row["reason"] for row in ended.ledger["rows"]})
    counts, before, after = ended.ledger["counts"], begun.ledger["rows"], ended.ledger["rows"]
    print(f"{golden.name}: {golden.archive.stat().st_size:,} bytes; {json.dumps(counts)}")
    print(f"  {len(before)} of {len(after)} rows refused: {', '.join(reasons)}")
    for name, rows in ended.sinks.items():
        print(f"  {name}: {len(begun.sinks.get(name, []))} of {len(rows)} rows")


def main() -> None:
    parser = argparse.ArgumentParser(prog="goldens.make")
    parser.add_argument("--python", type=Path, required=True, help="that of the release")
    parser.add_argument("names", nargs="+", choices=_ALL, metavar="NAME", help=", ".join(_ALL))
    given = parser.parse_args()
    for name in given.names:
        with tempfile.TemporaryDirectory(prefix="tidegate-golden-") as scratch:
            make(_ALL[name], Release(given.python), Path(scratch))


if __name__ == "__main__":
    main()
