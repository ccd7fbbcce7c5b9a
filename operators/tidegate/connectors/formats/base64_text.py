"""BYTES as text: base64 with its padding (RFC 4648, section 4), in JSON and in CSV, as in Flink.

A text that no writer of base64 writes is none: one with blanks, with the alphabet of URLs, without
padding, or with bits left over behind the last byte.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from tidegate.engine.engine import Engine

_READ: Final = """
    SELECT CASE WHEN to_base64(b) = t THEN b END AS b
    FROM (SELECT t, TRY(from_base64(t)) AS b FROM texts)"""


def read_base64(texts: Any, engine: Engine) -> tuple[pa.Array, npt.NDArray[np.bool_] | None]:
    """The bytes of ``texts``, and the rows with a text that is none (None: there is no such)."""
    read = engine.query(_READ, {"texts": pa.table({"t": texts})}).column("b").combine_chunks()
    if read.null_count == texts.null_count:
        return read, None
    misfit = pc.and_(read.is_null(), texts.is_valid())
    return read, misfit.to_numpy(zero_copy_only=False).astype(np.bool_)
