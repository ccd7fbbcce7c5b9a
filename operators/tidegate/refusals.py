"""Places that are full, read-only or refuse who asks: an error with exit code 5, in words (T19).

What the operating system says of a path, and what Java and S3 say in texts.
"""

from __future__ import annotations

import errno
import os
import re
import stat
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from tidegate.errors import RefusedError

_FULL: Final = (errno.ENOSPC, errno.EDQUOT)
_WHAT: Final = {
    errno.ENOSPC: "is full",
    errno.EDQUOT: "is over its quota",
    errno.EROFS: "is read-only",
    errno.EACCES: "refuses this user",
    errno.EPERM: "refuses this user",
}
_CODES: Final = re.compile(
    r"AccessDenied|AllAccessDisabled|InvalidAccessKeyId|SignatureDoesNotMatch|ExpiredToken"
    r"|InvalidToken|TokenRefreshRequired|AccountProblem|XMinioStorageFull|QuotaExceeded"
    r"|XMinioAdminBucketQuotaExceeded|MethodNotAllowed"
    r"|ACCESS_DENIED|INVALID_ACCESS_KEY_ID|SIGNATURE_DOES_NOT_MATCH"
)
"""By which S3 says that it will not, whoever asks again."""
_TEXT: Final = re.compile(
    r"No space left on device|Disk quota exceeded|Read-only file system|Permission denied"
    rf"|AccessDeniedException|{_CODES.pattern}"
)
_PATH: Final = re.compile(r"(?:file:)?(/[^\s:'\"()\[\]]+|s3a?://[^\s:'\"()\[\]]+)")
_LITTLE: Final = 16 << 20
"""So few bytes are none, for files as large as Spark's."""
AGAIN: Final = "run again then: the job goes on from its checkpoint"


def refusal(
    error: OSError, path: str = "", action: str = "", kind: type[RefusedError] = RefusedError
) -> RefusedError | None:
    """What ``error`` means, if it is one of a place that refuses: of which ``path``, if known, and
    what could not be done there."""
    what = _WHAT.get(error.errno or 0)
    if what is None:
        return None
    where = path or str(error.filename or "a directory of the job's")
    made = "make room there" if error.errno in _FULL else "let this user write there"
    return kind(
        f"cannot {action} '{where}': it {what}" if action else f"'{where}' {what}",
        detail=f"{os.strerror(error.errno or 0)}{_found(where, error.errno or 0)}",
        hint=f"{made}; {AGAIN}",
    )


def refusal_in(text: str, places: Iterable[str] = ()) -> RefusedError | None:
    """What a text of Java's means, if it tells of a place that refuses.

    Java seldom says which disk is full: then it is the one of ``places`` that has the least room.
    """
    line = next((line.strip() for line in text.splitlines() if _TEXT.search(line)), None)
    if line is None:
        return None
    room = [(found, place) for place in places if (found := _room(place)) is not None]
    if "No space" in line and room and min(room)[0] < _LITTLE:
        refused = refusal(OSError(errno.ENOSPC, ""), min(room)[1])
        assert refused is not None
        return refused
    place = _PATH.search(line)
    where = f"'{place[1]}'" if place else "a directory that Spark writes into"
    return RefusedError(
        f"{where} is full, read-only, or refuses this user",
        detail=line[:500],
        hint=f"make room, or let this user write there; {AGAIN}",
    )


def is_refused_by_store(reason: str) -> bool:
    """Whether ``reason``, which a store gives, is one that waiting does not change."""
    return _CODES.search(reason) is not None


@contextmanager
def refusals_told() -> Iterator[None]:
    """Turns what the operating system says in the block into a RefusedError, if it is one."""
    try:
        yield
    except OSError as error:
        told = refusal(error)
        if told is None:
            raise
        raise told from error


@contextmanager
def resumes(command: str) -> Iterator[None]:
    """Names ``command``, if there is one, as what to do behind a RefusedError from the block."""
    try:
        yield
    except RefusedError as error:
        if command:
            error.hint = f"{error.hint.removesuffix(f'; {AGAIN}')}; then go on with: {command}"
        raise


def _room(place: str) -> int | None:
    """The bytes that are free where ``place`` is."""
    try:
        space = os.statvfs(place)
    except OSError:
        return None
    return space.f_bavail * space.f_frsize


def _found(where: str, number: int) -> str:
    """What is free, or whose it is."""
    place = Path(where.removeprefix("file://"))
    while not place.exists() and place != place.parent:
        place = place.parent
    try:
        if number in _FULL:
            space = os.statvfs(place)
            free, size = space.f_bavail * space.f_frsize, space.f_blocks * space.f_frsize
            return f": {free:,} of {size:,} bytes are free, {space.f_favail:,} files may be made"
        status = place.stat()
    except OSError:
        return ""
    mode = stat.filemode(status.st_mode)
    return f": {place} is {mode}, of user {status.st_uid}; this is user {os.geteuid()}"
