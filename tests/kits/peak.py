"""How much memory a call takes at its height, in a process of its own.

The process is forked from one that has imported the product, as Spark's workers are, so what is
measured is the call's. A call that takes more than `LIMIT_BYTES` is refused memory, as in a
container, which spares the machine that tests it.
"""

from __future__ import annotations

import multiprocessing
import resource
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final, NamedTuple, TypeVar

LIMIT_BYTES: Final = 4 << 30
_PATIENCE_S: Final = 120

_T = TypeVar("_T")

_forks = multiprocessing.get_context("forkserver")
_forks.set_forkserver_preload(["tidegate.connectors.registry", "unit.connectors.files_kit"])


class Peak(NamedTuple):
    """What a call gave, or the exception that it raised, and the most that it had in memory."""

    result: Any
    bytes: int


def peak(call: Callable[..., Any], *args: Any) -> Peak:
    """Calls ``call``, a function of a module, with what can be pickled."""
    ours, theirs = _forks.Pipe()
    process = _forks.Process(target=_measured, args=(theirs, call, args), daemon=True)
    process.start()
    theirs.close()
    try:
        assert ours.poll(_PATIENCE_S), "it does not end"
        return Peak(*ours.recv())
    except EOFError:
        process.join(_PATIENCE_S)
        raise AssertionError(f"the process has ended by itself, with {process.exitcode}") from None
    finally:
        process.kill()
        process.join(_PATIENCE_S)


def _measured(answers: Any, call: Callable[..., Any], args: tuple[Any, ...]) -> None:
    before = _memory("VmRSS")
    _, hard = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (_memory("VmSize") + LIMIT_BYTES, hard))
    result: Any
    try:
        result = call(*args)
    except Exception as error:
        result = error
    answers.send((result, _memory("VmHWM") - before))


def _memory(name: str) -> int:
    """Not ``getrusage``, whose maximum is that of the process before `exec`, too."""
    status = Path("/proc/self/status").read_text()
    line = next(line for line in status.splitlines() if line.startswith(f"{name}:"))
    return int(line.split()[1]) << 10
