"""Jobs whose checkpoint is on a real MinIO: killed, cut off from it, counted."""

from __future__ import annotations

import json
import re
import signal
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Final, get_args

import pytest

from kits.many import MANY
from oracle.jobs import JobSpec, expected, write
from s3.minio import Minio, Request
from s3.proxy import Proxy, Trouble
from spark.orders import BEGIN_US, SECOND_US, order_lines, orders_job, problems_of
from spark.processes import TIMEOUT_S, Commands, Finished, wait_until
from spark.shared_jvm import SharedJvm
from tidegate.clock import SystemClock
from tidegate.epochs.checkpoint import Checkpoint
from tidegate.epochs.lease import EXPIRY_S

SPLITS = {"a": [order_lines(21, 400)], "b": [order_lines(22, 900)]}
"""1,300 rows: 10 epochs of at most 130."""
ROWS = "tidegate.epoch.rows.max=130"
PARTITIONS = 2
AWAY_S = EXPIRY_S + 2.0
"""Longer than the lease is valid, and than a request waits for its answer."""
TROUBLED_S: Final = 60.0 if MANY else 1.0
"""How long each trouble with the store lasts, at least; a request is tried for 90 s."""
NOT_FOUND = 404
OPTIONS_ARE_WRONG = 2
SECOND_RUN_US = BEGIN_US + 280 * SECOND_US
STAGES = 2
"""Windows and customers, then all in one order."""


@dataclass(frozen=True)
class Ran:
    """A job that was killed twice, cut off once and troubled in each way, and has ended; then run
    again, in vain.

    ``requests`` are all until it had ended, ``steady`` two epochs behind all that was done to it.
    """

    spec: JobSpec
    directory: Path
    place: str
    ended: Finished
    requests: Sequence[Request]
    steady: range
    again: Finished


@pytest.fixture(scope="module")
def ran(
    tmp_path_factory: pytest.TempPathFactory,
    audited_minio: Minio,
    proxy: Proxy,
    proxied: dict[str, str],
    s3_jvm: SharedJvm,
) -> Iterator[Ran]:
    spec, directory = orders_job(SPLITS), tmp_path_factory.mktemp("killed")
    place = f"{audited_minio.bucket('killed')}/orders"
    args = ["run", write(spec, directory), "--checkpoint", place, "--json", "--set", ROWS]
    with Commands(directory, proxied, s3_jvm) as drivers:
        for point in ("after-entry:2", "after-staging:4"):
            command = drivers.start(*args, TIDEGATE_FAILPOINTS=point)
            ended = command.wait()
            assert ended.code == -signal.SIGKILL, f"not killed {point}: {ended.err}"
        command = drivers.start(*args)
        command.wait_for_line('"epoch": 5')
        audited_minio.stop(signal.SIGKILL)
        SystemClock().sleep(AWAY_S)
        audited_minio.start()
        for mode in get_args(Trouble):
            with proxy.trouble(mode):
                SystemClock().sleep(TROUBLED_S)
                wait_until(partial(proxy.has_met, mode), f"trouble by {mode} is met")
        behind = max(json.loads(line)["epoch"] for line in command.out.splitlines()) + 2
        ended = command.wait(2 * TIMEOUT_S)
        assert ended.code == 0, ended.err
        assert "taking over the checkpoint" in ended.err
        requests = audited_minio.requests()
        steady = range(behind, behind + 2)
        assert json.loads(ended.out.splitlines()[-1])["epoch"] > max(steady)
        yield Ran(spec, directory, place, ended, requests, steady, drivers.run(*args))


def test_killed_and_cut_off(ran: Ran, audited_minio: Minio) -> None:
    assert problems_of(ran.spec, expected(ran.spec), ran.directory, ran.place) == []
    assert ran.again.code == 0, ran.again.err
    assert f"the job has finished: {ran.place} is at the end" in ran.again.err
    secret = audited_minio.environment["AWS_SECRET_ACCESS_KEY"]
    assert not [r for r in audited_minio.requests() if secret in r.key]
    assert secret not in "".join((ran.ended.out, ran.ended.err, ran.again.out, ran.again.err))


def test_requests_of_an_epoch(ran: Ran) -> None:
    """The formula of docs/performance.md; what goes by the clock is not in it."""
    epochs = by_epoch(ran.requests)
    for number in ran.steady:
        found = epochs[number]
        files = found["CopyObject ledger"]
        assert found == Counter(
            {
                "PutObject epochs": 1,
                "GetObject epochs": 1,
                "PutObject offsets": 1,
                "GetObject offsets": 1,  # its digest goes into the entry
                "PutObject commits": 1,
                "PutObject state": STAGES * PARTITIONS,
                # Spark looks whether a file is there: by its name, then as a directory, by a list.
                "HeadObject offsets": 3,
                "HeadObject commits": 3,
                "HeadObject state": STAGES * PARTITIONS,
                "PutObject ledger": files,
                "CopyObject ledger": files,
                "DeleteMultipleObjects ledger": files,
            }
        )


def test_rescaled(drivers: Commands, audited_minio: Minio, tmp_path: Path) -> None:
    """Killed when both logs have its epoch, and undone; then again, up and at last done."""
    unbounded = "'source.monitor-interval' = '1 s'"
    first = orders_job({"a": [order_lines(23, 700)], "b": [order_lines(24, 700)]}, unbounded, False)
    place = f"{audited_minio.bucket('rescaled')}/job"
    args = ["run", write(first, tmp_path), "--checkpoint", place, "--available-now"]
    ended = drivers.run(*args, "--set", "tidegate.epoch.rows.max=700")
    assert ended.code == 0, ended.err
    epoch = Checkpoint(place).last_epoch() + 1
    assert epoch > STAGES
    dead = drivers.run(
        *("rescale", place, "--parallelism", 4),
        TIDEGATE_FAILPOINTS=f"rescale-entered:{epoch}",
    )
    assert dead.code == -signal.SIGKILL, dead.err
    refused = drivers.run(*args)
    assert refused.code == OPTIONS_ARE_WRONG
    assert "half way from 2 parallel tasks to 4" in refused.err
    undone = drivers.run("rescale", place, "--parallelism", PARTITIONS)
    assert undone.code == 0, undone.err
    assert Checkpoint(place).planned_epoch() == epoch - 1

    done = drivers.run("rescale", place, "--parallelism", 4)
    assert done.code == 0, done.err
    assert f"the state of {STAGES} stage(s) from {PARTITIONS} to 4 partitions" in done.err
    splits = {split: [*files, order_lines(25, 700, SECOND_RUN_US)] for split, files in
              first.splits.items()}  # fmt: skip
    spec = orders_job(splits, unbounded, False)
    for split, (_, content) in splits.items():
        (tmp_path / "in/orders" / split / "001.json").write_bytes(content)
    ended = drivers.run(*args)
    assert ended.code == 0, ended.err
    assert "running 4 parallel tasks, as the checkpoint has it" in ended.err
    assert problems_of(spec, expected(spec), tmp_path, place) == []


_KINDS = re.compile(
    r"orders/(?:(epochs)/|spark/(offsets|commits)/|(ledger)/.*?(?:part-\d+-|/)|"
    r"spark/(state)/.*/(?=\d+\.changelog))"
    r"(\d+)(?:$|-|\.json|\.changelog)"
)


def by_epoch(requests: Iterable[Request]) -> dict[int, Counter[str]]:
    """What was written, or read, of each epoch."""
    found: dict[int, Counter[str]] = {}
    for request in requests:
        kind = _KINDS.search(request.key)
        if kind is None or request.api == "DeleteObject":
            continue
        if request.api == "HeadObject" and request.status != NOT_FOUND:
            continue  # before it is removed, many epochs later
        name = next(group for group in kind.groups() if group)
        # Spark counts its batches from 0, and versions of its state from 1.
        epoch = int(kind[5]) + (name in ("offsets", "commits"))
        found.setdefault(epoch, Counter())[f"{request.api} {name}"] += 1
    return found
