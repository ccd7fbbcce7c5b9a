"""How the rows of an epoch are shared by a table's splits."""

from __future__ import annotations

from collections.abc import Callable, Sequence


def share_rows(
    rows_max: int, splits: Sequence[str], reach: Callable[[str, int], int]
) -> dict[str, int]:
    """Rows for each split: an equal part first, then what others leave over.

    ``reach(split, rows)`` says how many of ``rows`` rows the split has. Splits at the front of
    ``splits`` come first when there are fewer rows than splits.
    """
    given = dict.fromkeys(splits, 0)
    hungry, left = list(splits), rows_max
    while left > 0 and hungry:
        part = max(1, left // len(hungry))
        still: list[str] = []
        for split in hungry:
            wanted = given[split] + min(part, left)
            got = reach(split, wanted)
            left -= got - given[split]
            given[split] = got
            if got == wanted:
                still.append(split)
            if left == 0:
                break
        else:
            hungry = still
            continue
        break
    return given
