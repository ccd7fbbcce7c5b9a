"""Random queries that look rows up in a table that ends and has no watermark."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from random import Random

from oracle.decode import Values
from oracle.pair_spec import CONDITIONS, WORDS, PairSpec, shown, with_options
from oracle.pairs import LookupQuery
from oracle.splitdata import DataPlan, random_splits
from oracle.vocabulary import PAYLOAD, PREDICATES, sql_type

KINDS = ("INNER", "LEFT", "SEMI", "ANTI")
_STATIC = "names"


def with_lookups(spec: PairSpec, rng: Random, plan: DataPlan, kinds: Sequence[str]) -> PairSpec:
    """``spec`` and queries that join with a table that ends and has no watermark, by ``kinds``."""
    splits = random_splits(rng, replace(plan, rows_max=10))
    body = ",\n".join(f"  {column.name} {sql_type(column, 'risingwave')}" for column in PAYLOAD)
    statements = [f"CREATE SOURCE {_STATIC} (\n{body}\n){with_options(f'in/{_STATIC}')};\n"]
    queries = []
    for kind in kinds:
        query, text = _lookup(rng, kind)
        sink = f"looked_up_{kind.lower()}"
        statements.append(f"CREATE SINK {sink} AS\n{text}\n{with_options(f'out/{sink}')};\n")
        queries.append((sink, query, ("orders", _STATIC)))
    return replace(
        spec,
        text="\n".join((spec.text, *statements)),
        tables={**spec.tables, _STATIC: {f"s-{split}": files for split, files in splits.items()}},
        queries=(*spec.queries, *queries),
        statics=frozenset([_STATIC]),
    )


def _lookup(rng: Random, kind: str) -> tuple[LookupQuery, str]:
    conditions = [c for c in CONDITIONS if rng.random() < 0.4] or [rng.choice(CONDITIONS)]
    text, where = rng.choice(PREDICATES) if rng.random() < 0.3 else ("", None)
    table = f"(SELECT * FROM {_STATIC} WHERE {text})" if text else _STATIC
    on = " AND ".join(sql for sql, _ in conditions)
    now = " FOR SYSTEM_TIME AS OF PROCTIME()" * (rng.random() < 0.3)
    source = f"orders AS l {WORDS.get(kind, kind)} JOIN {table}{now} AS r ON {on}"
    if kind in ("INNER", "LEFT") and not now and rng.random() < 0.3:
        swapped = "RIGHT " * (kind == "LEFT")
        source = f"{table} AS r {swapped}JOIN orders AS l ON {on}"
    names = [("id", "BIGINT"), ("customer", "VARCHAR"), ("region", "INTEGER")]
    items, select = shown("l" if kind in ("SEMI", "ANTI") else "lr", names)

    def is_on(left: Values, right: Values) -> bool:
        return all(condition(left, right) is True for _, condition in conditions)

    return LookupQuery(kind, is_on, select, (None, where)), f"SELECT {items}\nFROM {source}"
