"""A standard output that nobody reads any more: a real pipe whose other end is closed."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from io import TextIOWrapper

import pytest


@contextmanager
def unread_output() -> Iterator[None]:
    """Takes the place of ``sys.stdout``."""
    reader, writer = os.pipe()
    os.close(reader)
    pipe = os.fdopen(writer, "wb", buffering=0)
    with TextIOWrapper(pipe, write_through=True) as closed, pytest.MonkeyPatch.context() as patched:
        patched.setattr("sys.stdout", closed)
        yield
