"""How EXPLAIN writes numbers, and lists of names."""

from __future__ import annotations

from collections.abc import Sequence


def length(type_: str, units: int) -> str:
    """A length in the unit of a column of ``type_``."""
    return f"{units / 1e6:g} s" if type_.startswith("TIMESTAMP") else str(units)


def duration(us: int) -> str:
    """``7 d``, ``200 ms``: in the largest unit of which it is a whole number."""
    units = ((86_400_000_000, "d"), (3_600_000_000, "h"), (60_000_000, "min"), (1_000_000, "s"))
    for unit, name in (*units, (1_000, "ms")):
        if us and us % unit == 0:
            return f"{us // unit} {name}"
    return f"{us} us" if us else "0 s"


def count(number: int, noun: str) -> str:
    """``1 row``, ``2 rows``."""
    return f"{number} {noun}{'s' * (number != 1)}"


def lasting(ttl_us: int) -> str:
    """For how long something is kept."""
    return f", for {duration(ttl_us)} from the last change of a key" if ttl_us else ""


def by(keys: Sequence[str]) -> str:
    """`` by a, b``; nothing where there are no keys."""
    return f" by {', '.join(keys)}" if keys else ""


def of_each(keys: Sequence[str]) -> str:
    """``of each a, b``, or ``of all`` rows."""
    return f"of each {', '.join(keys)}" if keys else "of all"
