"""Records that put rows and delete them (S13), whatever they are written in.

A changing table's rows have `OP`: a put, or a delete, of which its key counts, and its version.
Formats with an envelope say it there (`debezium`); other files and topics may have a column that
does (``scan.changes.op``), in Debezium's letters, in Flink's, or in words. An image of before
(``-U``) is a row that changes nothing: what the table holds decides.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from tidegate.connectors.formats.json_format import Decoded
from tidegate.connectors.option_types import OP_COLUMN, OptionProblem
from tidegate.plan.tables import Table
from tidegate.types import OP, Op

Mask = npt.NDArray[np.bool_]

_PUTS: Final = (
    "c",
    "r",
    "i",
    "u",
    "+i",
    "+u",
    "+",
    "insert",
    "update",
    "upsert",
    "update_after",
    "read",
    "create",
)
_DELETES: Final = ("d", "-d", "-", "delete")
_BEFORE: Final = ("-u", "update_before")
_PASSED_OVER: Final = -1
_UNKNOWN: Final = -2
_MEANINGS: Final[Mapping[str, int]] = {
    **dict.fromkeys(_PUTS, int(Op.UPDATE_AFTER)),
    **dict.fromkeys(_DELETES, int(Op.DELETE)),
    **dict.fromkeys(_BEFORE, int(Op.UPDATE_BEFORE)),
}
_ENVELOPE: Final[Mapping[str, int]] = {
    **dict.fromkeys(("c", "r", "u"), int(Op.UPDATE_AFTER)),
    "d": int(Op.DELETE),
    **dict.fromkeys(("t", "m"), _PASSED_OVER),
}
WORDS: Final = "c, r, u, d; +I, -U, +U, -D; insert, update, upsert, delete"
"""What an op column may say."""


def check_changes(table: Table) -> None:
    """Whether there is a column that says what happens, if one shall. Raises OptionProblem."""
    column = table.option(OP_COLUMN)
    if not column:
        return
    if table.format.startswith("debezium"):
        raise OptionProblem(
            OP_COLUMN,
            f"the format '{table.format}' says what happens, without '{OP_COLUMN}'",
            hint="leave it out",
        )
    types = {each.name: each.type for each in table.columns}
    if types.get(column) != "VARCHAR":
        found = f"{types[column]}, not a text" if column in types else "not there"
        raise OptionProblem(
            OP_COLUMN,
            f"'{OP_COLUMN}' names '{column}' of table '{table.name}', which is {found}",
            hint=f"declare {column} STRING; it may say {WORDS}",
        )


def ops_of(words: Any, *, envelope: bool = False) -> tuple[npt.NDArray[np.int8], Mask, Mask]:
    """What ``words`` (texts) say: the `Op` of each, where it is one, and where it is passed over,
    which is so of words of an ``envelope`` only."""
    meanings = _ENVELOPE if envelope else _MEANINGS
    coded = pc.dictionary_encode(words if envelope else pc.utf8_lower(pc.utf8_trim(words, " ")))
    found = [meanings.get(word, _UNKNOWN) for word in coded.dictionary.to_pylist()]
    places = coded.indices.fill_null(len(found)).to_numpy(zero_copy_only=False)
    ops = np.array([*found, _UNKNOWN], np.int8)[places]
    return ops, ops >= 0, ops == _PASSED_OVER


def of_column(decoded: Decoded, column: str) -> Decoded:
    """Rows of which a ``column`` says what happens to them."""
    words = decoded.data.column(column).combine_chunks()
    ops, known, _ = ops_of(words.cast(pa.string()))
    good = decoded.good.copy()
    good[decoded.good] = known
    data = decoded.data if known.all() else decoded.data.filter(pa.array(known))
    return Decoded(data.append_column(OP, pa.array(ops[known])), good)
