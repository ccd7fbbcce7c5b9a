"""``WATERMARK … PER (key) EXPIRE AFTER d``: the keys of one split, and the watermark of each.

`judge_keys` decides; here keys become numbers, and are written down and forgotten. A key is the
text of its columns' values, each with its length before it if there are several: types of keys
have one text for each value. NULL is a key like all others.

At a barrier only the keys that count are kept, one number for each, in the epoch log with the rest
of the filter's state.
"""

from __future__ import annotations

import base64
import zlib
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tidegate.executor.columns import Bools, Int64s, single_array
from tidegate.executor.watermarks.judge import NONE
from tidegate.executor.watermarks.judge_keys import Judged, Known, judge_keys
from tidegate.executor.watermarks.judges import Judge
from tidegate.executor.watermarks.strategy import Rows
from tidegate.plan.strategies import PerKey
from tidegate.types import FilterState, Keys

_NAMES: Final = ("key", "watermark")


class KeyWatermarks(Judge):
    """The watermarks of one split's keys, each of which advances with every row of its key.

    The split's is what its keys that count have reached, all of them.
    """

    def __init__(self, per: PerKey, watermark: int | None, state: Keys) -> None:
        super().__init__(watermark)
        self._per = per
        self._names, self._known = _read(state)
        self._written: str | None = state.keys

    def judge(self, rows: Rows, candidates: Int64s, has: Bools, known: int | None) -> Judged:
        codes, texts = _codes([rows.data.column(name) for name in self._per.keys])
        places = pc.index_in(texts, value_set=self._names)
        fresh = texts.filter(pc.is_null(places))
        numbers = places.fill_null(-1).to_numpy().astype(np.int64)
        numbers[numbers < 0] = len(self._names) + np.arange(len(fresh))
        if len(fresh):
            self._names = pa.concat_arrays([self._names, fresh])
            self._known.grow(len(self._names))
        self._known.watermark = known
        self._written = None
        codes = numbers[codes]
        judged = judge_keys(rows.judged, candidates, has, codes, self._known, self._per.span)
        self.watermark = self._known.watermark
        return judged

    def snapshot(self) -> FilterState:
        """What a restart needs. Keys that do not count are forgotten."""
        if self._written is None:
            kept = self._known.counting(self._per.span)
            if not kept.all():
                self._names = self._names.filter(pa.array(kept))
                self._known.keys = self._known.keys[kept]
            self._written = _written(self._names, self._known.keys)
        keys = Keys(self._written, len(self._names), self._known.first)
        return FilterState(self.watermark, per_key=keys)


def _codes(columns: list[pa.ChunkedArray]) -> tuple[Int64s, pa.Array]:
    """The number of each row's key, and each key's text (NULL: one column, and that is NULL)."""
    encoded = [_encoded(column) for column in columns]
    if len(encoded) == 1:
        (column,) = encoded
        return _indices(column), column.dictionary.cast(pa.string())
    codes = _indices(encoded[0])
    for column in encoded[1:]:
        # Numbers stay small: there are no more than rows.
        _, codes = np.unique(codes * len(column.dictionary) + _indices(column), return_inverse=True)
    _, first, codes = np.unique(codes, return_index=True, return_inverse=True)
    texts = [_marked(column.take(pa.array(first)).dictionary_decode()) for column in encoded]
    return codes.astype(np.int64), pc.binary_join_element_wise(*texts, "")


def _encoded(column: pa.ChunkedArray) -> pa.DictionaryArray:
    array = single_array(column)
    if pa.types.is_dictionary(array.type):
        array = array.dictionary_decode()
    return array.dictionary_encode(null_encoding="encode")


def _indices(column: pa.DictionaryArray) -> Int64s:
    indices: Int64s = column.indices.to_numpy(zero_copy_only=False).astype(np.int64)
    return indices


def _marked(values: pa.Array) -> pa.Array:
    """Texts that stay apart when they are joined: ``4:Oslo``, and ``n`` for NULL."""
    texts = values.cast(pa.string())
    lengths = pc.binary_length(texts).cast(pa.string())
    return pc.fill_null(pc.binary_join_element_wise(lengths, texts, ":"), "n")


def _written(names: pa.Array, watermarks: Int64s) -> str:
    if not len(names):
        return ""
    batch = pa.record_batch([names, pa.array(watermarks)], list(_NAMES))
    return base64.b64encode(zlib.compress(batch.serialize())).decode()


def _read(state: Keys) -> tuple[pa.Array, Known]:
    names: pa.Array = pa.array([], pa.string())
    watermarks = np.empty(0, dtype=np.int64)
    if state.keys:
        schema = pa.schema(list(zip(_NAMES, (pa.string(), pa.int64()), strict=True)))
        packed = pa.py_buffer(zlib.decompress(base64.b64decode(state.keys)))
        batch = pa.ipc.read_record_batch(packed, schema)
        names = batch.column(0)
        watermarks = batch.column(1).to_numpy().copy()
    assert (watermarks != NONE).all(), "a key without a watermark was kept"
    return names, Known(watermarks, None, state.first)
