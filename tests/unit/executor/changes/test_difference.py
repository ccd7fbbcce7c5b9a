"""Differences of tables, against counts of their rows."""

from __future__ import annotations

from collections import Counter
from random import Random

import pyarrow as pa
import pytest

from kits.executor import ENGINE
from kits.many import seeds
from oracle.changes import ends_in
from tidegate.executor.changes.difference import changed, difference
from tidegate.types import OP, Op

Pairs = list[tuple[int | None, str | None]]


def table(pairs: Pairs) -> pa.Table:
    keys, values = zip(*pairs, strict=True) if pairs else ((), ())
    return pa.table({"k": pa.array(keys, pa.int64()), "v": pa.array(values, pa.string())})


def counted(rows: pa.Table) -> Counter[tuple[int | None, str | None]]:
    return Counter((row["k"], row["v"]) for row in rows.to_pylist())


def drawn(rng: Random) -> Pairs:
    return [
        (rng.choice([None, 1, 2]), rng.choice([None, "a", "b"])) for _ in range(rng.randrange(6))
    ]


@pytest.mark.parametrize("seed", seeds(80))
def test_it_makes_one_table_into_the_other(seed: int) -> None:
    """Rows that stand in a table several times, and NULLs, too."""
    rng = Random(seed)
    old, new = drawn(rng), drawn(rng)
    found = difference(ENGINE, table(old), table(new), None)
    stays = sum((Counter(old) & Counter(new)).values())
    assert found.num_rows == len(old) + len(new) - 2 * stays
    before = table(old).append_column(OP, pa.array([int(Op.INSERT)] * len(old), pa.int8()))
    rows = ends_in([*before.to_pylist(), *found.to_pylist()])
    assert Counter((row["k"], row["v"]) for row in rows) == Counter(new)
    assert counted(changed(ENGINE, table(old), found)) == Counter(new)


@pytest.mark.parametrize("seed", seeds(40))
def test_rows_of_one_key_are_updates(seed: int) -> None:
    rng = Random(seed)
    old, new = (list(dict(drawn(rng)).items()) for _ in range(2))
    found = difference(ENGINE, table(old), table(new), ["k"])
    ops = [(row["k"], Op(row[OP])) for row in found.to_pylist()]
    wanted = []
    for key in (1, 2, None):
        one, other = (dict(pairs).get(key, "") for pairs in (old, new))
        if one == other:
            continue
        if one != "" and other != "":
            wanted += [(key, Op.UPDATE_BEFORE), (key, Op.UPDATE_AFTER)]
        else:
            wanted.append((key, Op.INSERT if one == "" else Op.DELETE))
    assert sorted(ops, key=repr) == sorted(wanted, key=repr)
    for place, (key, op) in enumerate(ops):
        if op is Op.UPDATE_BEFORE:
            assert ops[place + 1] == (key, Op.UPDATE_AFTER), "halves are neighbours"


def test_the_one_row_of_no_key_is_updated() -> None:
    found = difference(ENGINE, table([(1, "a")]), table([(2, "b")]), [])
    assert [Op(row[OP]).sign for row in found.to_pylist()] == ["U-", "U+"]


def test_what_is_not_there_cannot_be_taken() -> None:
    changes = table([(9, "z")]).append_column(OP, pa.array([int(Op.DELETE)], pa.int8()))
    assert counted(changed(ENGINE, table([(1, "a")]), changes)) == Counter([(1, "a")])
