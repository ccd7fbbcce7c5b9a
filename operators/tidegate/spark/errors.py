"""Our errors across Spark: a worker's exception reaches the driver only as text.

`carried` writes a TidegateError into its text in a form that `recovered` finds again in whatever
Spark and Java wrapped around it, so that the user sees one clear message and the right exit code.
"""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from tidegate import errors
from tidegate.connectors.secrets import without_secrets
from tidegate.refusals import refusal_in, refusals_told

_MARK = re.compile(r"@tidegate\[([A-Za-z0-9+/=]+)\]")

_DAMAGED = re.compile(
    r"Checksum error: |\[CANNOT_LOAD_STATE_STORE|\[STREAMING_STATEFUL_OPERATOR_MISSING_STATE"
    r"|\[STDS_FAILED_TO_READ|File \S+/_stateSchema/\S+ does not exist|No usable value for \w"
    r"|java\.util\.zip\.ZipException|RocksDBException: Corruption|block checksum mismatch: "
)
"""How Hadoop and Spark say that a file of the checkpoint is gone, or not what was written."""


_DIED = re.compile(r"Python worker exited unexpectedly|java\.io\.EOFException")
_FATAL = re.compile(r"Fatal Python error: (.+)")
_FRAME = re.compile(r"at [\w.$<>/@-]+\(|\.\.\. \d+ (more|common frames)")
_CAUSE = "Caused by:"
_TRACE = "Traceback (most recent call last):"


class WorkerLostError(errors.RunError):
    """A Python worker died while it ran an epoch."""


class CarriedError(Exception):
    """A TidegateError on its way through Spark."""


@contextmanager
def carried() -> Iterator[None]:
    """Makes a TidegateError that leaves the block recoverable on the driver. Spark writes whatever
    leaves it into its log: it tells no secret."""
    try:
        with without_secrets(), refusals_told():
            yield
    except errors.TidegateError as error:
        document = [type(error).__name__, error.message, error.detail, error.hint]
        mark = base64.b64encode(json.dumps(document).encode()).decode()
        raise CarriedError(f"{error.message} @tidegate[{mark}]") from error


def explained(text: str, log: str = "", places: Iterable[str] = ()) -> errors.TidegateError:
    """What Spark's error ``text`` says: our error if one was carried, else its innermost cause.

    ``log`` is the file that has Spark's own words, if anybody knows it; ``places`` are those into
    which Spark writes.
    """
    ours = recovered(text)
    if ours is not None:
        return ours
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    damaged = next((found for line in lines if (found := _DAMAGED.search(line))), None)
    if damaged is not None:
        return errors.TrustError(
            "the checkpoint is corrupt: a file of Spark's is gone, or was changed after it was"
            " written",
            detail=damaged.string[damaged.start() :][:500],
            hint=errors.RESTORE,
        )
    refused = refusal_in("\n".join(line for line in lines if not _FRAME.match(line)), places)
    if refused is not None:
        return refused
    if worker_was_late(text):
        return errors.RunError(
            "a Python worker of Spark's did not come within ten seconds",
            hint="the machine is too busy to start one: run again, with fewer"
            " tidegate.parallelism or a smaller --master local[N]",
        )
    if _DIED.search(text) is not None:
        fatal = _FATAL.search(text)
        return WorkerLostError(
            "a Python worker was killed",
            detail=fatal[1] if fatal else "by a signal: the machine may be short of memory",
            hint="run again: it goes on from the checkpoint",
        )
    words = f"; Spark's own words are in {log}" if log else ""
    return errors.RunError(
        "the job failed while running",
        detail=(innermost(text) or "no detail")[:500],
        hint="run again: it goes on from the checkpoint; with --debug the whole trace is shown"
        + words,
    )


def innermost(text: str) -> str:
    """The line of ``text`` that names what is at the bottom of it: of Java's causes the last one,
    of a Python trace its last line; never one of a stack's frames."""
    lines = [line for line in text.splitlines() if line.strip() and not _FRAME.match(line.strip())]
    causes = [at for at, line in enumerate(lines) if line.strip().startswith(_CAUSE)]
    inner = lines[causes[-1] :] if causes else lines
    traces = [at for at, line in enumerate(inner) if line.rstrip().endswith(_TRACE)]
    if traces:
        plain = [line for line in inner[traces[-1] + 1 :] if not line.startswith(" ")]
        if plain:
            return plain[0].strip()
    if causes:
        return inner[0].strip().removeprefix(_CAUSE).strip()
    telling = [line for line in lines if "Error" in line or "Exception" in line] or lines[:1]
    return telling[-1].strip() if telling else ""


def worker_was_late(text: str) -> bool:
    """Whether a Python worker of Spark's has not started in the ten seconds that Spark gives it."""
    return "Python worker failed to connect back" in text


def recovered(text: str) -> errors.TidegateError | None:
    """The TidegateError in Spark's error text, if there is one."""
    match = _MARK.search(text)
    if match is None:
        return None
    name, message, detail, hint = json.loads(base64.b64decode(match[1]))
    kind = getattr(errors, name, errors.RunError)
    if not issubclass(kind, errors.TidegateError) or issubclass(kind, errors.SqlError):
        kind = errors.RunError
    error = kind(message, detail=detail, hint=hint)
    assert isinstance(error, errors.TidegateError)
    return error
