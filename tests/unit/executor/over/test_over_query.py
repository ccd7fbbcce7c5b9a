"""What the statements say of rows that are only some of their partition; see test_over_rows."""

from __future__ import annotations

from random import Random

import pyarrow as pa
import pytest

from kits.executor import ENGINE
from kits.many import seeds
from kits.over import a_node, call, lag, lead, rows, span
from tidegate.executor.over.over_query import kept_sql
from tidegate.plan.over import OverCall, Reach

CALLS = (
    lag(),
    lag(3),
    lead(2),
    call("sum", rows(-2, 1)),
    call("sum", span(-4)),
    call("sum", span(-4, 3)),
    call("sum", span(-7, -2)),
)


def kept(calls: list[OverCall], times: list[int], bound: int) -> set[int]:
    """The numbers that are kept of rows with ascending ``times``."""
    over = a_node(*calls).over
    sql = kept_sql(over, Reach.of(over.calls))
    count = len(times)
    table = {
        "k0": ["a"] * count,
        "t": times,
        "s0": ["s"] * count,
        "s1": list(range(count)),
        "i": list(range(count)),
    }
    table |= {f"a{number}_0": [1] * count for number in range(len(calls))}
    found = ENGINE.query(
        sql.format(known=count, bound=bound, seen=bound), {"rows_": pa.table(table)}
    )
    return set(found.column(0).to_pylist())


@pytest.mark.parametrize("seed", seeds(150))
def test_what_a_part_does_not_need_the_whole_does_not_either(seed: int) -> None:
    """Merges see some generations of a partition's rows, which are neighbours in time."""
    rng = Random(seed)
    calls = rng.sample(CALLS, rng.randint(1, 3))
    times = sorted(rng.randrange(20) for _ in range(rng.randint(1, 12)))
    bound = times[-1] + rng.randint(1, 12)
    whole = kept(calls, times, bound)
    start = rng.randrange(len(times))
    stop = rng.randint(start + 1, len(times))
    part = {start + number for number in kept(calls, times[start:stop], bound)}
    assert whole & set(range(start, stop)) <= part


def test_what_no_frame_reaches_is_not_kept() -> None:
    assert kept([lag(2)], [1, 2, 3, 4], 9) == {2, 3}
    assert kept([lead()], [1, 2, 2], 9) == {1, 2}
    assert kept([call("sum", span(-4))], [1, 4, 5, 8], 9) == {2, 3}
    assert kept([lag(), call("sum", span(-4))], [1, 2], 99) == {1}
