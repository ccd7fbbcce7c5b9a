"""State whose bytes were changed: never other rows, always an error that says so (S16, T8).

On a local disk Hadoop has checksums beside the files. On S3 nobody has, so they are removed here:
what tells is in the files themselves (Spark's blocks of LZ4, Zip's and RocksDB's checksums).
"""

from __future__ import annotations

import random
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Final

import pytest

from kits.many import seeds
from oracle.jobs import expected, write
from spark.orders import BEGIN_US, SECOND_US, order_lines, orders_job, problems_of
from spark.processes import Finished, Warm

UNBOUNDED: Final = "'source.monitor-interval' = '1 s'"
FIRST: Final = {"a": [order_lines(51, 200)], "b": [order_lines(52, 200)]}
LATER: Final = order_lines(53, 200, BEGIN_US + 280 * SECOND_US)
SPEC: Final = orders_job({s: [*files, LATER] for s, files in FIRST.items()}, UNBOUNDED, False)
KINDS: Final = {
    "changelog": "spark/state/*/*/[2-9].changelog",
    "snapshot": "spark/state/*/*/*.zip",
    "table": "spark/state/*/*/SSTs/*.sst",
    "metadata": "spark/state/*/_metadata/v2/*",
    "schema": "spark/state/*/_stateSchema/*/*",
}
Change = Callable[[random.Random, bytes], bytes | None]


def _flip(rng: random.Random, content: bytes) -> bytes:
    at = rng.randrange(len(content))
    return content[:at] + bytes([content[at] ^ 1 << rng.randrange(8)]) + content[at + 1 :]


def _cut(rng: random.Random, content: bytes) -> bytes:
    return content[: rng.randrange(len(content))]


CHANGES: Final[tuple[Change, ...]] = (_flip, lambda *_: None, _cut)


@pytest.fixture(scope="module")
def halfway(warm: Warm, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory with a job that has read the half of its files."""
    directory = tmp_path_factory.mktemp("halfway")
    file = write(orders_job(FIRST, UNBOUNDED, False), directory)
    ran = warm.run(
        *("run", file, "--checkpoint", directory / "checkpoint", "--available-now"),
        *("--set", "tidegate.epoch.rows.max=100"),
        cwd=directory,
    )
    assert ran.code == 0, ran.err
    for split in FIRST:
        (directory / "in/orders" / split / "001.json").write_bytes(LATER)
    (directory / "out").rename(directory / "before")
    return directory


@pytest.mark.parametrize(("kind", "turn"), [(kind, turn) for kind in KINDS for turn in seeds(4)])
def test_changed_state_is_told(
    kind: str, turn: int, warm: Warm, halfway: Path, tmp_path: Path
) -> None:
    rng, checkpoint = random.Random(f"{kind} {turn}"), _copied(halfway, tmp_path)
    path = rng.choice(sorted(checkpoint.glob(KINDS[kind])))
    change = CHANGES[(list(KINDS).index(kind) + turn) % len(CHANGES)]
    changed = change(rng, path.read_bytes())
    path.unlink()
    if changed is not None:
        path.write_bytes(changed)
    _goes_on_or_tells(warm, halfway, checkpoint, "the checkpoint is corrupt: ")


@pytest.mark.parametrize("kind", ["older", "of another task", "all of another task"])
def test_state_that_is_whole_and_another_is_told(
    kind: str, warm: Warm, halfway: Path, tmp_path: Path
) -> None:
    checkpoint = _copied(halfway, tmp_path)
    stage = checkpoint / "spark/state/0"
    last = max(int(path.stem) for path in stage.glob("0/*.changelog"))
    if kind == "older":
        for task in "01":
            shutil.copy(stage / task / f"{last - 1}.changelog", stage / task / f"{last}.changelog")
    elif kind == "of another task":
        shutil.copy(stage / f"0/{last}.changelog", stage / f"1/{last}.changelog")
    else:
        (stage / "0").rename(stage / "2")
        (stage / "1").rename(stage / "0")
        (stage / "2").rename(stage / "1")
    ran = _gone_on(warm, halfway, checkpoint)
    assert ran.code == 4, ran.err
    assert "spark/state/0/" in ran.err


def _copied(halfway: Path, tmp_path: Path) -> Path:
    """A copy of the checkpoint without Hadoop's checksums, as on S3."""
    checkpoint = tmp_path / "checkpoint"
    shutil.copytree(halfway / "checkpoint", checkpoint, ignore=shutil.ignore_patterns("*.crc"))
    shutil.rmtree(halfway / "out", ignore_errors=True)
    shutil.copytree(halfway / "before", halfway / "out")
    return checkpoint


def _gone_on(warm: Warm, halfway: Path, checkpoint: Path) -> Finished:
    return warm.run(
        *("run", halfway / "job.sql", "--checkpoint", checkpoint, "--available-now"), cwd=halfway
    )


def _goes_on_or_tells(warm: Warm, halfway: Path, checkpoint: Path, told: str) -> None:
    ran = _gone_on(warm, halfway, checkpoint)
    if ran.code == 0:  # nobody reads what was changed
        assert problems_of(SPEC, expected(SPEC), halfway, checkpoint) == []
    else:
        assert ran.code == 4, ran.err
        assert told in ran.err
