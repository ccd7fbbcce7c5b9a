"""The entry of the image: an executor when Spark asks for one, else the ``tidegate`` command.

Spark makes the pods of executors from the driver's image, with the one argument ``executor``.
"""

from __future__ import annotations

import os
import sys

from tidegate.cli import main as command_line
from tidegate.errors import RunError


def main() -> None:
    """Becomes what the arguments say."""
    if sys.argv[1:] != ["executor"]:
        command_line()
        return
    from tidegate.spark.executor_pod import executor_command

    try:
        command = executor_command(os.environ)
    except RunError as error:
        raise SystemExit(error.render()) from None
    os.execv(command[0], command)


if __name__ == "__main__":
    main()
