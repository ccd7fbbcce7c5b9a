"""Bytes of a checkpoint's documents on a real MinIO, changed: as `unit.epochs.test_bytes` (S16).

There are no files beside them with checksums of Hadoop's, and nothing is written in place.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from random import Random

from pyarrow import fs

from kits.many import MANY
from kits.on_disk import OnDisk, restorer
from s3.minio import Minio
from tidegate.epochs.lease import Holder
from unit.epochs.test_bytes import changes, judged

FLIPS = 40 if MANY else 1
"""Bytes of each document that are changed; beside that it is cut, empty, or gone."""


class Objects:
    """All that lies below a job's checkpoint."""

    def __init__(self, minio: Minio, uri: str) -> None:
        self._store = minio.client()
        self._prefix = uri.removeprefix("s3://")

    def read(self) -> dict[str, bytes]:
        selector = fs.FileSelector(self._prefix, recursive=True)
        found = [each for each in self._store.get_file_info(selector) if each.is_file]
        return {each.path: self._content(each.path) for each in found}

    def restore(self, wanted: dict[str, bytes], now: dict[str, bytes]) -> None:
        for path in now.keys() - wanted.keys():
            self._store.delete_file(path)
        for path, content in wanted.items():
            if now.get(path) != content:
                self.write(path, content)

    def write(self, path: str, content: bytes | None) -> None:
        if content is None:
            self._store.delete_file(path)
            return
        with self._store.open_output_stream(path) as stream:
            stream.write(content)

    def _content(self, path: str) -> bytes:
        with self._store.open_input_file(path) as file:
            return bytes(file.read())


def test_changed_bytes(minio: Minio, bucket: str, tmp_path: Path) -> None:
    job = OnDisk(tmp_path, f"{bucket}/job")
    job.die("after-entry", 3)
    holder = {**asdict(Holder.me()), "started": "1", "token": "7"}
    job.checkpoint.store.write("lease/000002.json", json.dumps(holder).encode())
    objects, restore = Objects(minio, job.checkpoint.uri), restorer(job)
    before = objects.read()
    documents = sorted(path for path, content in before.items() if content)
    assert {path.split("/")[2] for path in documents} >= {"job.json", "epochs", "ledger", "spark"}
    job.run()
    whole, wrong, rng = job.results(), list[str](), Random(7)
    for path in documents:
        for what, data in tried(before[path], rng):
            objects.restore(before, objects.read())
            restore()
            objects.write(path, data)
            if fault := judged(job, Path(path), whole):
                wrong.append(f"{path}, {what}: {fault}")
    assert not wrong, f"{len(wrong)}:\n" + "\n".join(wrong[:40])


def tried(data: bytes, rng: Random) -> Iterator[tuple[str, bytes | None]]:
    for _ in range(FLIPS):
        yield rng.choice(list(changes(data, rng.randrange(len(data)))))
    at = rng.randrange(len(data))
    ends: list[tuple[str, bytes | None]] = [(f"cut at {at}", data[:at]), ("empty", b"")]
    ends.append(("gone", None))
    yield from ends if MANY else rng.sample(ends, 1)
