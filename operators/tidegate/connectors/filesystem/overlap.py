"""Whether a job would read what it writes: paths of sources against paths of sinks.

Only names are compared, nothing is asked of a file system but the symbolic links of a local path:
the sink's directory may not be there yet.
"""

from __future__ import annotations

import os
import posixpath
from typing import Final
from urllib.parse import unquote

from tidegate.connectors.filesystem.files import fixed_prefix, matches_below
from tidegate.connectors.locations import absolute, one_spelling

_PART: Final = "part-0001-0000000001-0000"


def overlaps(written: str, format_: str, read: str) -> bool:
    """Whether a source's path ``read`` is a sink's path ``written``, or lies below or above it.

    As a glob: whether it matches a file of ``format_`` that the sink would write there.
    """
    place, out = _components(written)
    other, into = _components(read)
    if place != other:
        return False
    if out[: len(into)] == into:
        return True  # a directory may be named as a glob is written, too
    base, pattern = fixed_prefix("/".join(into))
    if not pattern:
        return out == into[: len(out)]
    depth = len([part for part in base.split("/") if part])
    file = (*out, f"{_PART}.{format_}")
    return file[:depth] == into[:depth] and matches_below(file[depth:], pattern)


def lies_in(path: str, directory: str) -> bool:
    """Whether ``path`` is ``directory``, or lies below it."""
    (place, inner), (other, outer) = _components(path), _components(directory)
    return place == other and inner[: len(outer)] == outer


def would_read(path: str, format_: str, directory: str) -> bool:
    """Whether a source's ``path`` has ``directory`` in it; not if it lies below that."""
    below = lies_in(path, directory) and not lies_in(directory, path)
    return not below and overlaps(directory, format_, path)


def _components(path: str) -> tuple[str, tuple[str, ...]]:
    """The store, "" for local files, and the path there in components."""
    path = one_spelling(path)
    place, separator, inner = path.partition("://")
    if separator and place != "file":
        head, _, query = inner.partition("?")
        normal = posixpath.normpath("/" + unquote(head if "=" in query else inner))
    else:
        place, normal = "", os.path.realpath(absolute(unquote(inner) if separator else path))
    return place, tuple(part for part in normal.split("/") if part)
