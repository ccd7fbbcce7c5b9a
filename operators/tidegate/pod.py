"""The entry of the image: an executor when Spark asks for one, else the ``tidegate`` command.

Spark makes the pods of executors from the driver's image, with the one argument ``executor``. Where
an operator of Spark makes the driver's pod, its arguments are those of ``spark-submit`` behind the
word ``driver``: of them only the application's own matter, which are the command's.
"""

from __future__ import annotations

import os
import sys

from tidegate.cli import main as command_line
from tidegate.errors import RunError


def main() -> None:
    """Becomes what the arguments say."""
    if sys.argv[1:2] == ["driver"]:
        sys.argv[1:] = _of_application(sys.argv[2:])
    if sys.argv[1:] != ["executor"]:
        command_line()
        return
    from tidegate.spark.kubernetes.executor_pod import executor_command

    try:
        command = executor_command(os.environ)
    except RunError as error:
        raise SystemExit(error.render()) from None
    os.execv(command[0], command)


def _of_application(submitted: list[str]) -> list[str]:
    """The application's arguments: behind its file, which is behind options with a value each."""
    while submitted[:1] and submitted[0].startswith("--"):
        submitted = submitted[2:]
    return submitted[1:]


if __name__ == "__main__":
    main()
