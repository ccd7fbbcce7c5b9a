"""Whose row is it: used, filtered, late, without a time, in the future, malformed (S2, S7, S11)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

MALFORMED = None
"""In the place of a row's values."""
Values = tuple[Any, ...]


@dataclass(frozen=True)
class Rule:
    """``WATERMARK FOR time AS time - delay``, in the column's unit, ``unit_us`` microseconds (0:
    the column is no time), and rows whose ``id`` is divisible by ``refused`` are filtered."""

    time: int  # the place of the column
    delay: int
    unit_us: int
    skew_us: int
    refused: int


@dataclass
class Account:
    """What becomes of the rows of a table."""

    accepted: list[Values] = field(default_factory=list)
    ledger: dict[tuple[str, int], str] = field(default_factory=dict)
    counts: dict[str, Counter[str]] = field(default_factory=dict)

    def add(self, split: str, rows: Iterable[Values | None], rule: Rule, now_us: int) -> None:
        """The rows of a split, in its order."""
        counts, watermark = self.counts.setdefault(split, Counter()), None
        for offset, values in enumerate(rows):
            counts["read"] += 1
            reason = _reason(values, watermark, rule, now_us)
            if reason:
                self.ledger[split, offset] = reason
                counts["late" if reason == "late" else "quarantined"] += 1
                continue
            assert values is not None
            candidate = values[rule.time] - rule.delay
            if candidate >= -(2**63) and (watermark is None or candidate > watermark):
                watermark = candidate
            if _is_refused(values, rule):
                counts["filtered"] += 1
            else:
                counts["used"] += 1
                self.accepted.append(values)


def _reason(values: Values | None, watermark: int | None, rule: Rule, now_us: int) -> str:
    if values is MALFORMED:
        return "malformed"
    time = values[rule.time]
    if time is None:
        return "null_time"
    if rule.skew_us and rule.unit_us and time * rule.unit_us > now_us + rule.skew_us:
        return "future"
    return "late" if watermark is not None and time < watermark else ""


def _is_refused(values: Values, rule: Rule) -> bool:
    """``WHERE id % refused <> 0 OR id IS NULL`` says no."""
    return bool(rule.refused) and values[0] is not None and values[0] % rule.refused == 0


def lines_of(files: Sequence[bytes], blanks: bytes, header: bool) -> list[list[bytes]]:
    """The lines of each file that are rows, without their ends."""
    return [_lines(file, blanks, header) for file in files]


def _lines(file: bytes, blanks: bytes, header: bool) -> list[bytes]:
    found = file.removeprefix(b"\xef\xbb\xbf").split(b"\n")
    lines = [line.removesuffix(b"\r") for line in found]
    rows = (
        [line for line in lines if line.strip(blanks) if line]
        if blanks
        else [line for line in lines if line]
    )
    return rows[1:] if header else rows
