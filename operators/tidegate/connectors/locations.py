"""Places of files: local paths, ``file://``, and URIs that pyarrow's file systems know."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final
from urllib.parse import parse_qsl

import pyarrow as pa
from pyarrow import fs

from tidegate.connectors.connector import with_option
from tidegate.connectors.hosts import host_of, remote
from tidegate.errors import OptionsError
from tidegate.plan.tables import Table

CREDENTIALS: Final = ("AWS_ACCESS_KEY_ID", "AWS_WEB_IDENTITY_TOKEN_FILE")
"""Variables by which S3 knows who asks."""
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


def exposed_store(path: str) -> Iterator[str]:
    """See `tidegate.connectors.connector.Connector.exposes`: of a place, if it is on S3."""
    uri = one_spelling(path)
    if not uri.startswith("s3://") or not any(name in os.environ for name in CREDENTIALS):
        return
    said = dict(parse_qsl(uri.partition("?")[2]))
    at = os.environ.get("AWS_ENDPOINT_URL_S3") or os.environ.get("AWS_ENDPOINT_URL", "")
    if override := said.get("endpoint_override"):
        at = f"{said.get('scheme', 'https')}://{override.rpartition('://')[2]}"
    if at.lower().startswith("http://") and remote([host_of(at)]):
        yield (
            f"requests to the store at {host_of(at)} are signed with credentials and go without TLS"
            " (http://): whoever is on the way may read the rows, and the token of a session; use"
            " https://"
        )


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
