from __future__ import annotations

import pyarrow as pa

from kits.executor import ENGINE
from tidegate.executor.changes.refusals import refused
from tidegate.types import LEDGER_SCHEMA, OFFSET


def test_a_row_is_kept_as_json_at_its_place() -> None:
    rows = pa.table({"k": [1, 2], "v": ["x", None], OFFSET: [7, 8]})
    found = refused(rows, ENGINE, account="a", table="t", split="s", operator="o", reasons="closed")
    assert found.schema == LEDGER_SCHEMA
    assert found.column("record").to_pylist() == [b'{"k":1,"v":"x"}', b'{"k":2,"v":null}']
    assert found.column("offset").to_pylist() == [7, 8]
    without = refused(
        rows.drop_columns([OFFSET]),
        ENGINE,
        account="a",
        table="t",
        split="",
        operator="o",
        reasons="closed",
    )
    assert without.column("offset").to_pylist() == [None, None]
