from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from kits.entries import an_entry
from kits.spark import add_rows, new_checkpoint, plan_in
from tidegate.connectors.registry import connector_of
from tidegate.epochs.entry import Entry
from tidegate.epochs.ledger import ledger_table
from tidegate.epochs.manifest import Manifest
from tidegate.epochs.targets import TO_LEDGER
from tidegate.errors import TrustError
from tidegate.ports import Stage
from tidegate.reports.ledger import counts_document, grouped, read_ledger, show_time
from tidegate.types import LEDGER_SCHEMA

COUNTS = {"read": 3, "used": 1, "filtered": 0, "late": 1, "quarantined": 1}


def test_what_is_written_is_read(tmp_path: Path) -> None:
    checkpoint = new_checkpoint(tmp_path)
    add_rows(tmp_path, "a", "0.json", (1, 1))
    checkpoint.write_job(Manifest.of(plan_in(tmp_path), 2, {}))
    rows: list[tuple[Any, ...]] = [
        ("o", "o", "b", 0, 5, 7, 2, "BIGINT", "watermark_filter", "late", b"x"),
        ("o", "o", "a", 1, None, None, None, None, "scan", "malformed", b"\xff{"),
    ]
    table = ledger_table(checkpoint)
    staging = checkpoint.staging(TO_LEDGER)
    writer = connector_of(table).writer(table, Stage(staging, 1, "0"))
    columns = list(zip(*rows, strict=True))
    arrays = [pa.array(c, f.type) for c, f in zip(columns, LEDGER_SCHEMA, strict=True)]
    writer.write(pa.table(arrays, schema=LEDGER_SCHEMA))
    staged = writer.close()
    assert read_ledger(checkpoint)["rows"] == [], "what is not committed is not there"
    committer = connector_of(table).committer(table, staging)
    committer.bind(committer.prepare(True))
    counts = {"o": {"a": COUNTS, "b": COUNTS}}
    checkpoint.write_entry(an_entry(1, counts=counts, staged={TO_LEDGER: staged}))
    unpublished = read_ledger(checkpoint)
    committer.publish(1, staged)

    document = read_ledger(checkpoint)
    assert unpublished == document, "the rows that an entry counts are there, published or not"
    assert [(row["split"], row["offset"], row["reason"]) for row in document["rows"]] == [
        ("a", 1, "malformed"),
        ("b", 0, "late"),
    ]
    assert document["rows"][0]["record"] == "\\xff{"
    assert document["rows"][1] == {
        "table": "o",
        "split": "b",
        "offset": 0,
        "event_time": 5,
        "watermark": 7,
        "lateness": 2,
        "operator": "watermark_filter",
        "reason": "late",
        "record": "x",
    }
    assert document["counts"] == {name: 2 * count for name, count in COUNTS.items()}
    assert document["splits"] == {"a": COUNTS, "b": COUNTS}

    (published,) = (Path(checkpoint.uri) / "ledger").glob("part-*")
    later = pq.read_table(published).set_column(3, "offset", pa.array([7, 8]))
    pq.write_table(later, str(published).replace("-0000000001-", "-0000000002-"))
    assert read_ledger(checkpoint) == document, "an epoch published since is not in its counts"


def test_rows_that_were_refused_alike_are_told_together() -> None:
    def row(offset: int, cause: str = "", table: str = "o") -> dict[str, Any]:
        reason = "malformed" if cause else "late"
        return {"table": table, "reason": reason, "offset": offset} | (
            {"cause": cause} if cause else {}
        )

    rows = [row(0), row(1), row(2, table="p")]
    rows += [row(n, f"field 't': \"{n}\" does not fit TIMESTAMP") for n in (3, 4, 5)]
    rows += [row(6, "field 'u': 1 does not fit TIMESTAMP")]
    groups = [(count, first["offset"]) for count, first in grouped(rows)]
    assert groups == [(3, 3), (2, 0), (1, 6), (1, 2)]


def test_a_corrupt_file_is_named(tmp_path: Path) -> None:
    checkpoint = new_checkpoint(tmp_path)
    broken = Path(checkpoint.uri) / "ledger" / "part-0001-0000000001-0000.parquet"
    broken.write_bytes(b"PAR1 and no more")
    checkpoint.write_job(Manifest.of(plan_in(tmp_path), 2, {}))
    checkpoint.write_entry(Entry(1, 0))
    with pytest.raises(TrustError, match="part-0001"):
        read_ledger(checkpoint)


def test_splits_of_several_accounts_are_told_apart() -> None:
    accounts = an_entry(1, counts={"o": {"a": COUNTS}, "o#2": {"a": COUNTS}}).accounts
    document = counts_document(accounts)
    assert document["splits"] == {"o/a": COUNTS, "o#2/a": COUNTS}
    assert document["counts"]["read"] == 6


@pytest.mark.parametrize(
    ("value", "kind", "shown"),
    [
        (None, "TIMESTAMP", None),
        (5, None, 5),
        (-5, "BIGINT", -5),
        (1_234, "DECIMAL(10,2)", 12.34),
        (7, "DECIMAL(10,0)", 7),
        (0, "TIMESTAMP", "1970-01-01 00:00:00"),
        (-1, "TIMESTAMP WITH TIME ZONE", "1969-12-31 23:59:59.999999"),
        (253_402_300_799_999_999, "TIMESTAMP", "9999-12-31 23:59:59.999999"),
        (253_402_300_800_000_000, "TIMESTAMP", "10000-01-01 00:00:00"),
        (-62_135_596_800_000_001, "TIMESTAMP", "0001-12-31 23:59:59.999999 (BC)"),
        (-62_167_219_200_000_001, "TIMESTAMP", "0002-12-31 23:59:59.999999 (BC)"),
        (-9_223_372_022_400_000_000, "TIMESTAMP", "290309-12-22 00:00:00 (BC)"),
        (-(2**63), "TIMESTAMP", -(2**63)),
    ],
)
def test_times_as_people_read_them(value: int | None, kind: str | None, shown: Any) -> None:
    assert show_time(value, kind) == shown
