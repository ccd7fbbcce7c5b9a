"""The format of `*.slt`: what is read, and what is refused by line."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path

import pytest

from oracle import Column, Counts, LedgerRow, micros
from slt.slt import SltError, read_case
from slt.test_slt import FILES

GOOD = r"""# a comment
job
SELECT 1; -- not read here
----
split t/a
{"id": 1}

\xff\e
----
split t/a
----
sink s ordered
id     | price        | name | ok
BIGINT | DECIMAL(9,2) | VARCHAR | BOOLEAN
1      | 1.50         | NULL    | true
----
sink silent empty
id
BIGINT
----
ledger TIMESTAMP
table | split | offset | event_time | watermark | lateness | reason
t | a | 1 | NULL | 1970-01-01 00:00:01 | NULL | null_time
----
counts read=2 used=1 quarantined=1
"""


def read(tmp_path: Path, text: str) -> str:
    file = tmp_path / "x.slt"
    file.write_text(text, encoding="utf-8")
    try:
        read_case(file)
    except SltError as error:
        return str(error)
    return ""


def test_a_case_is_read(tmp_path: Path) -> None:
    file = tmp_path / "x.slt"
    file.write_text(GOOD, encoding="utf-8")
    case = read_case(file)
    assert case.sql == "SELECT 1; -- not read here\n"
    assert case.splits == {"t": {"a": [b'{"id": 1}\n\n\xff\n', b""]}}
    assert case.sinks["s"].columns[1] == Column("price", "DECIMAL(9,2)")
    assert case.sinks["s"].rows == [{"id": 1, "price": Decimal("1.5"), "name": None, "ok": True}]
    assert case.sinks["s"].ordered
    assert case.sinks["silent"].rows == []
    watermark = micros("1970-01-01 00:00:01")
    assert case.ledger == [LedgerRow("t", "a", 1, None, watermark, None, "", "null_time")]
    assert case.counts == Counts(read=2, used=1, quarantined=1)


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("sink silent empty", "sink silent", "must be called empty"),
        ("sink s ordered", "sink s empty", "has no rows"),
        ("sink s ordered", "sinks s", "unknown section"),
        ("| true", "| yes", "'yes'"),
        ("| true", "", "argument 2 is shorter"),
        ("table | split", "split | table", "the ledger's header"),
        ("quarantined=1", "lost=1", "lost"),
        ("----\ncounts", "counts", "has no ----"),
        ("counts read=2 used=1 quarantined=1", "", "needs job"),
    ],
)
def test_what_is_wrong_is_named(tmp_path: Path, old: str, new: str, said: str) -> None:
    assert read(tmp_path, GOOD) == ""
    assert old in GOOD
    error = read(tmp_path, GOOD.replace(old, new))
    assert said in error
    assert error.startswith("x.slt:")


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_every_file_balances_and_finds_something(file: Path) -> None:
    case = read_case(file)
    counts, ledger = case.counts, case.ledger
    assert counts is not None
    assert ledger is not None
    assert counts.read == counts.used + counts.filtered + counts.late + counts.quarantined
    assert counts.late == sum(row.reason in ("late", "behind_merged") for row in ledger)
    assert counts.late + counts.quarantined == len(ledger)
    for row in ledger:
        if row.event_time is not None and row.watermark is not None:
            assert row.lateness == row.watermark - row.event_time
    assert file.read_text(encoding="utf-8").startswith("# ")
