"""From a path or URI to its store."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final
from urllib.parse import unquote, urlparse

from tidegate.errors import OptionsError
from tidegate.store.base import Store
from tidegate.store.local import LocalStore

_S3_SCHEMES: Final = ("s3", "s3a", "s3n")
_USER: Final = re.compile(r"://.*@")
_S3: Final = re.compile(r"(?:s3|s3a|s3n)://([a-z0-9][a-z0-9.-]{1,61}[a-z0-9])(?:/([\w./=+@,-]*))?")


def open_store(uri: str) -> Store:
    """The store at ``uri``: a path, ``file:///path`` or ``s3://bucket/path``.

    Nothing is asked of it yet. Raises OptionsError when the URI means none.
    """
    if "://" not in uri:
        return LocalStore(uri)
    scheme = urlparse(uri).scheme
    if scheme == "file":
        return LocalStore(_local(uri))
    if scheme not in _S3_SCHEMES:
        raise OptionsError(
            f"'{uri}': {scheme}:// is not a place for files",
            hint="give a path, a file:/// URI, or s3://BUCKET/PATH",
        )
    found = _S3.fullmatch(uri)
    steps = (found[2] or "").strip("/").split("/") if found else ["."]
    if found is None or any(step in (".", "..") for step in steps):
        raise OptionsError(
            f"'{_USER.sub('://***@', uri)}' is not a place in a bucket",
            hint="it is s3://BUCKET/PATH, of letters, digits and the signs . _ / = + @ , -",
        )
    # Only who keeps something there loads the client.
    from tidegate.store.s3 import S3Store

    return S3Store(found[1], "/".join(step for step in steps if step))


def _local(uri: str) -> Path:
    """The path that a file:// URI means; as in a source's path, ``%20`` is a space."""
    parsed = urlparse(uri)
    if parsed.netloc or parsed.query or parsed.fragment:
        raise OptionsError(
            f"'{uri}': a URI of a local directory is file:/// and its path",
            hint="write '?' and '#' in it as %3F and %23, or give a plain path",
        )
    return Path(unquote(parsed.path))
