from __future__ import annotations

from tidegate.connectors.formats.too_long import RECORD_BYTES_MAX, cause, cut


def test_the_ledger_has_how_it_begins_and_why() -> None:
    kept = cut(b'{"id": 1, "name": "' + b"x" * 9_000, 400_000_000)
    assert kept.startswith(b'{"id": 1')
    assert len(kept) < 1_100
    assert cause(kept) == "it has 400,000,000 bytes, and no more than 16,777,216 are decoded"


def test_a_record_that_is_whole_may_be_too_long() -> None:
    assert cause(b"x" * RECORD_BYTES_MAX) is None
    assert "16,777,217 bytes" in (cause(b"x" * (RECORD_BYTES_MAX + 1)) or "")


def test_a_text_that_looks_like_it_is_no_cause() -> None:
    assert cause("… (a record of 12 bytes)".encode()) is None
