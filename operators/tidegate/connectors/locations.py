"""Places of files: local paths, ``file://``, and URIs that pyarrow's file systems know."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
from pyarrow import fs

from tidegate.connectors.connector import with_option
from tidegate.errors import OptionsError
from tidegate.plan.nodes import Table

_QUOTES: Final = {"[": "%5B", "]": "%5D", "?": "%3F"}


def absolute(path: str) -> str:
    """``path`` as every process understands it: a relative local one becomes absolute."""
    return path if "://" in path else str(Path(path).absolute())


def resolved(table: Table) -> Table:
    """``table`` with a relative ``path`` made absolute."""
    path = table.option("path")
    return with_option(table, "path", absolute(path)) if path else table


def one_spelling(path: str) -> str:
    """``path``, in which ``s3a://`` and ``s3n://`` are ``s3://``."""
    return re.sub("^s3[an]://", "s3://", path)


def open_location(path: str) -> tuple[Any, str]:
    """The file system and the path within it. Raises OptionsError on an unknown scheme."""
    uri = one_spelling(path)
    if "://" not in uri:
        return fs.LocalFileSystem(), absolute(uri)
    try:
        filesystem, inner = fs.FileSystem.from_uri(_quoted_wildcards(uri))
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError, OSError) as error:
        raise OptionsError(
            f"cannot open path '{path}'",
            detail=str(error),
            hint="use a local path, file://, s3://, gs:// or hdfs://",
        ) from None
    return filesystem, _unquoted_wildcards(inner).rstrip("/") or "/"


def _quoted_wildcards(uri: str) -> str:
    """Wildcards that a URI may not hold, as percent codes; a query (``?a=b``) stays."""
    head, mark, query = uri.partition("?")
    if mark and "=" not in query:
        head, mark, query = uri, "", ""
    for character, code in _QUOTES.items():
        head = head.replace(character, code)
    return head + mark + query


def _unquoted_wildcards(path: str) -> str:
    for character, code in _QUOTES.items():
        path = path.replace(code, character)
    return path
