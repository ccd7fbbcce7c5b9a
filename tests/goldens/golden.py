"""Checkpoints that release 0.1 has made, and what it went on to with them.

A golden is a job, ``FOLDER/job.sql`` (``job.py`` of DataFrames), and an archive
``FOLDER/NAME.tar.xz`` with

    in/             the input when the checkpoint was made
    checkpoint/     as the run left it, without logs and metrics
    out/            what the sinks had by then
    later/          files that appear before the job is resumed, by their paths
    expected.json   what 0.1 gave when it was resumed: `Results`

and of jobs that talk to a server, what lay there (`world`).

`goldens.make` makes it. The job's paths begin with ``/proc/self/cwd``: a path is part of what a job
is, and that one is the same wherever a golden is unpacked.
"""

from __future__ import annotations

import json
import shutil
import tarfile
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Final

import pyarrow.parquet as pq
from deltalake import DeltaTable

from goldens.world import World

HERE: Final = Path(__file__).parent
CHECKPOINT: Final = "/proc/self/cwd/checkpoint"
"""As an epoch's entry names staged files by it, a run that was killed can be resumed elsewhere."""


@dataclass(frozen=True)
class Golden:
    """One golden: how its checkpoint was made, and how it is resumed.

    ``killed`` is the failpoint at which the first run ends; without one it is at the end of what is
    there. ``ordered`` are the sinks whose rows have an order. ``removed`` are files that are gone
    before the job is resumed.
    """

    name: str
    folder: Path
    settings: Mapping[str, str]
    killed: str = ""
    ordered: frozenset[str] = frozenset()
    removed: tuple[str, ...] = ()
    file: str = "job.sql"

    @property
    def archive(self) -> Path:
        return self.folder / f"{self.name}.tar.xz"

    def write_job(self, directory: Path, world: World) -> None:
        text = (self.folder / self.file).read_text("utf-8")
        for word, value in world.words.items():
            text = text.replace(f"{{{word}}}", value)
        (directory / self.file).write_text(text, "utf-8")

    @property
    def args(self) -> list[str]:
        """The command line's, for either run."""
        args = ["run", self.file, "--checkpoint", CHECKPOINT, "--available-now", "--json"]
        for name, value in self.settings.items():
            args += ["--set", f"{name}={value}"]
        return args


GOLDENS: Final = {
    golden.name: golden
    for golden in (
        Golden(
            "windows",
            HERE / "windows",
            {"tidegate.epoch.rows.max": "180", "tidegate.vnodes": "2"},
            ordered=frozenset({"sorted", "printed"}),
            removed=("in/orders/b/0001.json",),
        ),
        Golden(
            "joins",
            HERE / "joins",
            {"tidegate.epoch.rows.max": "110", "tidegate.vnodes": "4"},
            killed="after-entry:4",
            ordered=frozenset({"of_nexmark"}),
        ),
        Golden(
            "filters",
            HERE / "filters",
            {"tidegate.epoch.rows.max": "70", "tidegate.vnodes": "2"},
        ),
        Golden(
            "filters_apart",
            HERE / "filters",
            {
                "tidegate.epoch.rows.max": "70",
                "tidegate.vnodes": "2",
                "tidegate.watermark.pushdown": "false",
            },
        ),
    )
}
"""Those that need no server."""
FRAMES: Final = Golden("frames", HERE / "frames", {}, file="job.py")
KAFKA: Final = Golden(
    "kafka",
    HERE / "kafka",
    {"tidegate.epoch.rows.max": "100", "tidegate.vnodes": "2"},
    killed="after-staging:4",
    ordered=frozenset({"golden-copies", "golden-spent", "golden-minutes"}),
)
POSTGRES: Final = Golden(
    "postgres",
    HERE / "postgres",
    {"tidegate.epoch.rows.max": "200", "tidegate.vnodes": "2"},
    killed="sink-after-commit:4",
)


@dataclass
class Results:
    """What a run gave in all: rows by sink, the lines that the resumed run printed, the ledger."""

    sinks: dict[str, list[str]] = field(default_factory=dict)
    ledger: dict[str, Any] = field(default_factory=dict)

    def to_json(self) -> str:
        return json.dumps(asdict(self), indent=0, sort_keys=True)

    @classmethod
    def from_json(cls, text: str) -> Results:
        return cls(**json.loads(text))


def unpack(golden: Golden, directory: Path, world: World) -> Results:
    """Puts a golden into ``directory``, as it is to be resumed; gives what is expected."""
    with tarfile.open(golden.archive) as archive:
        archive.extractall(directory, filter="data")
    golden.write_job(directory, world)
    _appear(golden, directory)
    world.resume(directory)
    return Results.from_json((directory / "expected.json").read_text("utf-8"))


def _appear(golden: Golden, directory: Path) -> None:
    """What happens to the input between the two runs."""
    later = directory / "later"
    for path in sorted(later.rglob("*")):
        if path.is_file():
            target = directory / path.relative_to(later)
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, target)  # with a new time, as of a file that was written to
    for name in golden.removed:
        (directory / name).unlink()


def results(golden: Golden, directory: Path, world: World, printed: str, ledger: str) -> Results:
    """What came of a run in ``directory``; the outputs are of it and of ``tidegate ledger``."""
    found = world.sinks()
    for place in sorted([*directory.glob("out/*"), *directory.glob("checkpoint/views/*")]):
        found[place.name] = _rows(place)
    for line in printed.splitlines():
        sink, is_row, row = line.partition("> ")
        if is_row and sink.isidentifier():
            found.setdefault(sink, []).append(row)
    for name, rows in found.items():
        if name not in golden.ordered:
            rows.sort()
    document = json.loads(ledger)
    for row in document["rows"]:
        for more in ("cause", "file", "line"):  # told since 0.2
            row.pop(more, None)
    document["rows"].sort(key=lambda row: json.dumps(row, sort_keys=True))
    return Results(found, document)


NO_LEDGER: Final = '{"rows": [], "counts": {}}'
"""That of DataFrames: their rows say themselves why they are late."""


def _rows(place: Path) -> list[str]:
    """The rows of a sink: lines as they stand, or documents."""
    if (place / "_delta_log").is_dir():
        return _documents(DeltaTable(place).to_pyarrow_table().to_pylist())
    rows: list[str] = []
    for path in sorted(place.glob("part-*")):  # the order of names is that of rows
        if path.suffix == ".parquet":
            rows += _documents(pq.read_table(path).to_pylist())
        else:
            rows += path.read_text("utf-8").splitlines()
    return rows


def _documents(rows: Iterable[dict[str, Any]]) -> list[str]:
    return [json.dumps(row, default=str, ensure_ascii=False) for row in rows]
