"""Many runs of the command line in one process, on one Spark: a start costs more than a small job.

Reads ``[args, cwd, environment]`` as JSON lines from stdin; answers each with ``[exit code, stdout,
stderr]``. Only the start and the stop of Spark are replaced; whatever else ``tidegate`` does, it
does.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from unittest.mock import patch

from pyspark.sql import SparkSession

from tidegate import cli
from tidegate.connectors import secrets
from tidegate.spark.launch import gateway, own_spark

_sessions: list[SparkSession] = []


def start_spark(
    name: str, master: str, parallelism: int, settings: Mapping[str, str], log: Path | None
) -> SparkSession:
    if not _sessions:
        log = Path(os.environ["WARM_LOG"])
        # The place of this job's sockets goes with it.
        kept = {name: value for name, value in settings.items() if not name.endswith("socket.dir")}
        _sessions.append(gateway.start_spark("warm", "local[4]", parallelism, kept, log))
    session = _sessions[0]
    session.conf.set("spark.sql.shuffle.partitions", str(parallelism))
    return session


@contextlib.contextmanager
def left_running(spark: SparkSession) -> Iterator[SparkSession]:
    yield spark


def run(args: list[str]) -> tuple[int, str, str]:
    secrets._seen.clear()  # another run's
    out, err = io.StringIO(), io.StringIO()
    code = 0
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            cli.app(args)
        except SystemExit as end:
            code = end.code if isinstance(end.code, int) else 1
    return code, out.getvalue(), err.getvalue()


def main() -> None:
    vars(own_spark).update(start_spark=start_spark, stopped_after=left_running)
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    for line in sys.stdin:
        args, cwd, environment = json.loads(line)
        os.chdir(cwd)
        with patch.dict(os.environ, environment):
            answer = run(args)
        answers.write(json.dumps(answer) + "\n")
        answers.flush()


if __name__ == "__main__":
    main()
