from __future__ import annotations

from collections.abc import Callable
from datetime import datetime

import duckdb
import pytest

from tidegate.frontend.expressions import formats

_TIME = datetime(2024, 3, 5, 17, 8, 9, 12_000)


@pytest.mark.parametrize(
    ("translate", "pattern", "shown"),
    [
        (formats.java, "yyyy-MM-dd HH:mm:ss", "2024-03-05 17:08:09"),
        (formats.java, "yyyy-MM-dd'T'HH:mm:ss.SSS", "2024-03-05T17:08:09.012"),
        (formats.java, "d.M.yy h 'o''clock' a", "5.3.24 5 o'clock PM"),
        (formats.java, "EEEE dd MMMM, EEE MMM", "Tuesday 05 March, Tue Mar"),
        (formats.java, "ss.SSSSSS DDD 100%", "09.012000 065 100%"),
        (formats.java, "HH''mm", "17'08"),
        (formats.postgres, "YYYY-MM-DD HH24:MI:SS.US", "2024-03-05 17:08:09.012000"),
        (formats.postgres, "yyyy/mm/dd hh12:mi:ss.ms am", "2024/03/05 05:08:09.012 PM"),
        (formats.postgres, 'YYYYMMDD"T"HH24', "20240305T17"),
        (formats.postgres, "Dy DD Mon YY, DDD", "Tue 05 Mar 24, 065"),
        (formats.postgres, "IYYY-IW", "2024-10"),
        (formats.any_of_them, "yyyy-MM-dd HH:mm", "2024-03-05 17:08"),
        (formats.any_of_them, "YYYY-MM-DD HH24:MI", "2024-03-05 17:08"),
        (formats.any_of_them, "YYYY-MM-dd", "2024-03-05"),
        (formats.any_of_them, "%Y/%m", "2024/03"),
    ],
)
def test_patterns(translate: Callable[[str], str], pattern: str, shown: str) -> None:
    got = duckdb.execute("SELECT strftime(?::TIMESTAMP, ?)", [_TIME, translate(pattern)])
    assert got.fetchone() == (shown,)


@pytest.mark.parametrize(
    ("translate", "pattern", "part"),
    [
        (formats.java, "yyyy-QQ", "QQ"),
        (formats.java, "YYYY", "YYYY"),
        (formats.java, "yyyy 'open", "open"[0]),
        (formats.postgres, "YYYY Month", "th"),
        (formats.postgres, "FMDD", "FMDD"),
        (formats.postgres, "Day", "Day"),
        (formats.postgres, "YYYYDDD ssss", "ssss"),
    ],
)
def test_unknown_parts_are_named(translate: Callable[[str], str], pattern: str, part: str) -> None:
    with pytest.raises(formats.FormatError, match=f"'{part}' in the pattern"):
        translate(pattern)
