"""Blocks of whole lines, lines without their ends, and which of them are UTF-8."""

from __future__ import annotations

import io
from collections.abc import Iterable, Mapping

import duckdb
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tidegate.connectors.formats import lines, too_long
from tidegate.connectors.formats.lines import as_strings, blocks, split_lines, valid_utf8
from tidegate.connectors.option_types import CsvOptions, parsed
from tidegate.engine.engine import Engine
from tidegate.types import Column


def plain(found: Iterable[bytes | lines.LongLine]) -> list[bytes]:
    """Where no line is too long."""
    return [block for block in found if isinstance(block, bytes)]


@pytest.mark.slow
@settings(deadline=None)  # the first array that pyarrow makes imports pandas
@given(
    st.lists(st.sampled_from([b"a", b"", b" ", b"\t ", b"bc ", b" d", b"\r", b"e\r"])),
    st.booleans(),
)
def test_lines_as_python_splits_them(parts: list[bytes], terminated: bool) -> None:
    block = b"\n".join(parts) + (b"\n" if terminated else b"")
    expected = [part.removesuffix(b"\r") for part in block.split(b"\n")]
    found = split_lines(block).to_pylist()
    assert found == [line for line in expected if line.strip(b" \t")]


def test_a_file_that_is_only_a_byte_order_mark_has_no_line() -> None:
    file = pa.PythonFile(io.BytesIO(b"\xef\xbb\xbf"), mode="r")
    assert [split_lines(block).to_pylist() for block in plain(blocks(file, 0, 3))] == [[]]


def test_blank_is_what_it_is_told() -> None:
    assert split_lines(b"\t\n\n \n", blank=b"").to_pylist() == [b"\t", b" "]


@pytest.mark.slow
@given(st.lists(st.binary(max_size=9).filter(lambda line: b"\n" not in line)), st.integers(1, 20))
def test_blocks_are_whole_lines(parts: list[bytes], size: int) -> None:
    content = b"\n".join(parts)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(lines, "BLOCK_BYTES", size)
        file = pa.PythonFile(io.BytesIO(content), mode="r")
        found = plain(blocks(file, 0, len(content)))
    assert b"".join(found) == content.removeprefix(b"\xef\xbb\xbf")
    assert all(block.endswith(b"\n") for block in found[:-1] if block)


@pytest.mark.slow
@given(st.lists(st.sampled_from([b"a", "é".encode(), b"\xff", b"\xc3"]), min_size=1, max_size=20))
def test_utf8_is_judged_line_by_line(parts: list[bytes]) -> None:
    def is_utf8(part: bytes) -> bool:
        return part in (b"a", "é".encode())

    found = valid_utf8(pa.array(parts, pa.binary()))
    expected = [is_utf8(part) for part in parts]
    assert (found is None) == all(expected)
    assert found is None or found.tolist() == expected


def test_strings_share_the_bytes() -> None:
    records = pa.array([b"x", b"ab", b"c"], pa.binary()).slice(1)
    assert as_strings(records).to_pylist() == ["ab", "c"]
    assert as_strings(records).buffers()[2].address == records.buffers()[2].address


class Counted:
    """A file of ``data``, and the most that was asked of it at once."""

    def __init__(self, data: bytes) -> None:
        self.data, self.most = data, 0

    def read_at(self, size: int, position: int) -> bytes:
        self.most = max(self.most, size)
        return self.data[position : position + size]


@pytest.mark.slow
@pytest.mark.parametrize("ends", [b"\n", b"", b"\nlast", b"\nlast\n"])
@pytest.mark.parametrize("before", [b"", b"first\n"])
def test_a_line_that_is_too_long_is_passed_over(before: bytes, ends: bytes) -> None:
    size = 3 * too_long.RECORD_BYTES_MAX + 1
    file = Counted(before + b"x" * size + ends)
    found = list(lines.blocks(file, 0, len(file.data)))
    (long,) = (block for block in found if isinstance(block, lines.LongLine))
    kept = [block for block in found if isinstance(block, bytes)]
    assert too_long.cause(long.record) == too_long.cause(b"x" * (size + ends.startswith(b"\n")))
    assert b"".join(kept) == before + ends[1:]
    assert file.most <= 2 * too_long.RECORD_BYTES_MAX


@pytest.mark.slow
def test_the_longest_line_is_read() -> None:
    line = b"x" * (too_long.RECORD_BYTES_MAX - 1) + b"\n"
    assert b"".join(plain(blocks(Counted(line * 2), 0, 2 * len(line)))) == line * 2


def test_lines_for_which_the_engine_has_no_memory_are_malformed_alone() -> None:
    class Small(Engine):
        def query(self, sql: str, tables: Mapping[str, pa.Table] | None = None) -> pa.Table:
            texts = (tables or {}).get("lines")
            if texts is not None and pc.max(pc.binary_length(texts["line"])).as_py() > 5:
                raise duckdb.OutOfMemoryException("too much")
            return super().query(sql, tables)

    records = pa.array([b"a", b"bb", b"a long one", b"c"])
    schema, options = (Column("s", "VARCHAR"),), parsed(CsvOptions, ())
    decoded = lines.decode(records, "csv", schema, options, Small())
    assert decoded.good.tolist() == [True, True, False, True]
    assert decoded.data["s"].to_pylist() == ["a", "bb", "c"]
