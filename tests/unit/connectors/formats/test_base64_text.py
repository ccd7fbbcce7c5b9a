"""Texts that are bytes, and those that nobody wrote as base64."""

from __future__ import annotations

import pyarrow as pa
import pytest

from tidegate.connectors.formats.base64_text import read_base64
from unit.connectors.files_kit import ENGINE


def test_bytes() -> None:
    texts = pa.array(["", "YQ==", "YWI=", "YWJj", None, "+/8="])
    read, misfit = read_base64(texts, ENGINE)
    assert read.to_pylist() == [b"", b"a", b"ab", b"abc", None, b"\xfb\xff"]
    assert read.type == pa.binary()
    assert misfit is None


@pytest.mark.parametrize(
    "text", ["YQ", "YQ=", "Y===", "=", "YQ==YQ==", "Y Q=", "YWJj\n", "-_8=", "YR==", "é", "\\xC3"]
)
def test_texts_that_are_none(text: str) -> None:
    read, misfit = read_base64(pa.array(["YQ==", text, None]), ENGINE)
    assert read.to_pylist() == [b"a", None, None]
    assert misfit is not None
    assert misfit.tolist() == [False, True, False]
