"""Entries of the epoch log, as data."""

from __future__ import annotations

import json
from typing import Any

from tidegate.codec import encode
from tidegate.epochs.entry import Entry, read_entry


def an_entry(epoch: int, time_us: int = 0, **document: Any) -> Entry:
    """An entry that has these fields of its document; all others are empty."""
    empty = json.loads(encode(Entry(epoch, time_us)))
    return read_entry(json.loads(json.dumps({**empty, **document})), epoch)
