"""Each byte of each document of a checkpoint, changed in several ways: a job that goes on gives
what it would have given, or is refused with the name of the file (S16)."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from random import Random
from typing import Any, Final

import pytest

from kits.many import MANY
from kits.on_disk import OnDisk, restorer
from tidegate.epochs.lease import Holder
from tidegate.epochs.parallelism import Rescale, Rescales
from tidegate.errors import TrustError

pytestmark = pytest.mark.slow

TRIED: Final = 2
"""So many bytes of each document are tried in `make test`."""


def changes(data: bytes, at: int) -> Iterator[tuple[str, bytes]]:
    """All changes of one byte of a document, each with what was done."""
    byte = data[at]
    flipped = {byte ^ 1 << bit for bit in range(8)}
    for other in sorted({*flipped, 0, ord("9"), ord(" ")} - {byte}):
        yield f"byte {at} is {other}", data[:at] + bytes([other]) + data[at + 1 :]
    yield f"byte {at} is gone", data[:at] + data[at + 1 :]
    yield f"byte {at} is doubled", data[: at + 1] + data[at:]
    yield f"cut at {at}", data[:at]


def tried(data: bytes, rng: Random) -> Iterator[tuple[str, bytes]]:
    """Some bytes, or all of them, each changed in one way."""
    places = range(len(data))
    for at in places if MANY else rng.sample(places, min(TRIED, len(data))):
        yield rng.choice(list(changes(data, at)))
    yield "empty", b""


@pytest.fixture(autouse=True)
def _nothing_waits_for_the_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "fsync", lambda _: None)


def died(directory: Path, point: str) -> OnDisk:
    """A job whose driver died in epoch 3, as the lease tells; it was rescaled long ago."""
    job = OnDisk(directory)
    job.die("after-publish", 1)
    Rescales(job.checkpoint).begin(Rescale(2, 1, 0, 7))
    job.die(point, 3)
    holder = {**asdict(Holder.me()), "started": "1", "token": "7"}
    job.path("lease/000002.json").write_text(json.dumps(holder))
    return job


def documents(job: OnDisk) -> list[Path]:
    """All files but for inputs, published outputs, and marks that hold no byte."""
    found = {path: data for path, data in job.files().items() if data}
    outside = (job.directory / "in", job.directory / "out")
    return sorted(
        path
        for path in found
        if not path.is_relative_to(outside[0])
        and not (path.is_relative_to(outside[1]) and path.name.startswith("part-"))
    )


def judged(job: OnDisk, path: Path, whole: Any) -> str:
    """What is wrong with how a job went on; nothing is."""
    try:
        job.run()
        found = job.results()
    except TrustError as error:
        named = path.name in error.render()
        return "" if named else f"{path.name} is not named: {error.render()}"
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return "" if found == whole else "other rows"


@pytest.mark.parametrize("point", ["after-staging", "after-entry", "after-publish"])
def test_every_byte(tmp_path: Path, point: str) -> None:
    (tmp_path / "whole").mkdir()
    job = died(tmp_path / "whole", point)
    restore = restorer(job)
    names = documents(job)
    job.run()
    whole, wrong, rng = job.results(), list[str](), Random(point)
    for path in names:
        restore()
        for what, data in tried(path.read_bytes(), rng):
            restore()
            path.write_bytes(data)
            fault = judged(job, path, whole)
            if fault:
                wrong.append(f"{path.relative_to(job.directory)}, {what}: {fault}")
    restore()
    assert not wrong, f"{len(wrong)}:\n" + "\n".join(wrong[:40])
