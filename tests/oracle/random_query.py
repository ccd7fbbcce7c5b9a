"""Random queries over the orders of a random job: their SQL in either form, and their meaning."""

from __future__ import annotations

from dataclasses import dataclass, replace
from random import Random
from typing import Any, TypeAlias

from oracle.account import Where
from oracle.decode import Column, Values, value_at
from oracle.match_query import MatchQuery, grows, random_match
from oracle.over import Call, OverQuery, random_calls
from oracle.query import Expression, Pass, Select, Sort, WindowAggregate, WindowPass, Windows
from oracle.vocabulary import AGGREGATES, HAVINGS, PAYLOAD, PREDICATES, TimeColumn

Query: TypeAlias = "WindowAggregate | WindowPass | Sort | Pass | OverQuery | MatchQuery"

BEFORE = "the watermark before the row"
"""What the oracle calls it among a row's values; no column has such a name."""


@dataclass(frozen=True)
class QueryDraw:
    """Draws queries over ``time`` in the words of ``dialect``; with ``changes`` such as change."""

    rng: Random
    time: TimeColumn
    dialect: str
    changes: bool = False

    def query(self, strategy: str) -> tuple[Query, str]:
        """A query and its text; ``strategy`` is given where the query declares the watermark."""
        prefix, source = "", "orders"
        if strategy:
            source = f"WATERMARK(orders, {self.time.path}, {strategy})"
            if self.rng.random() < 0.3:
                prefix, source = f"WITH marked AS ({source})\n", "marked"
        where_sql, where = "", None
        if self.rng.random() < 0.4:
            condition, where = self.rng.choice(PREDICATES)
            where_sql = f"\nWHERE {condition}"
        kinds = ["window", "window", "window", "sort", "pass", "window pass", "over", "over"]
        kind = self.rng.choice(kinds)
        if kind == "over":
            return self._over(prefix, source, where_sql, where)
        if kind == "window":
            query, text = self._aggregate(source, where_sql, where)
            return query, prefix + text
        if kind == "window pass":
            return self._window_pass(prefix, source, where_sql, where)
        select: Select = (
            (Column("event_at", self.time.type), _at(self.time.path)),
            *((column, _at(column.name)) for column in self.rng.sample(PAYLOAD, 3)),
        )
        names = [f"{self.time.path} AS event_at", *(column.name for column, _ in select[1:])]
        if self.rng.random() < 0.4:
            select = (*select, (Column("mark", self.time.type), _at(BEFORE)))
            names.append(f"CURRENT_WATERMARK({self.time.path}) AS mark")
        how = Random(f"{source}{where_sql}{names}")  # of its own: other draws stay as they are
        if kind == "pass" and how.random() < 0.75:
            return self._match(how, prefix, source)
        text = f"{prefix}SELECT {', '.join(names)}\nFROM {source}{where_sql}"
        if kind == "sort":
            text += f"\nORDER BY {self.time.path}\nEMIT ON WINDOW CLOSE"
            return Sort(self.time.path, select, where), text
        return Pass(select, where), text

    def _match(self, rng: Random, prefix: str, source: str) -> tuple[Query, str]:
        """Patterns of rows, of each customer, of each region, or of all."""
        wanted = rng.choice([(), ("customer",), ("region",), ("customer", "region")])
        keys = [(column, _at(column.name)) for column in PAYLOAD if column.name in wanted]
        source = f"(SELECT * FROM {source})" if source.startswith("WATERMARK") else source
        query, text = random_match(rng, self.time, source, keys)
        items = ", ".join(column.name for column in query.columns)
        emit = "\nEMIT ON WINDOW CLOSE" * (rng.random() < 0.5)
        unbounded = "\nALLOW UNBOUNDED" * grows(query)
        return query, f"{prefix}SELECT {items}\nFROM {text}{emit}{unbounded}"

    def _windows(self, source: str) -> tuple[Windows, str]:
        """Windows over ``source``, and what stands in FROM for them."""
        rng = self.rng
        kind = rng.choice(["tumble", "tumble", "hop", "cumulate", "session"])
        if kind == "session":
            return self._sessions(source)
        size_s = rng.choice([2, 5, 10, 60])
        steps = {2: [1, 2], 5: [1, 5], 10: [2, 5], 60: [15, 20]}
        lengths_s = [size_s] if kind == "tumble" else [rng.choice(steps[size_s]), size_s]
        offset_s = rng.choice([0, 0, 1])
        lengths = [self.time.size(each) for each in (*lengths_s, *[offset_s] * bool(offset_s))]
        time = self.time.path
        if self.dialect == "flink":
            arguments = ", ".join([f"TABLE {source}", f"DESCRIPTOR({time})", *lengths])
            text = f"TABLE({kind.upper()}({arguments}))"
        else:
            text = f"{kind.upper()}({', '.join([source, time, *lengths])})"
        units = [self.time.units(each) for each in lengths_s]
        step = 0 if kind == "tumble" else units[0]
        return Windows(kind, units[-1], step, self.time.units(offset_s)), text

    def _sessions(self, source: str) -> tuple[Windows, str]:
        gap_s = self.rng.choice([1, 2, 5, 20])
        keys = self.rng.choice([(), ("customer",), ("region",), ("customer", "region")])
        time, gap = self.time.path, self.time.size(gap_s)
        if self.dialect == "flink":
            by = f" PARTITION BY ({', '.join(keys)})" if keys else ""
            text = f"TABLE(SESSION(TABLE {source}{by}, DESCRIPTOR({time}), {gap}))"
        else:
            text = f"SESSION({', '.join([source, time, *keys, gap])})"
        expressions = tuple(_at(key) for key in keys)
        return Windows("session", self.time.units(gap_s), keys=expressions), text

    def _window_pass(
        self, prefix: str, source: str, where_sql: str, where: Where | None
    ) -> tuple[Query, str]:
        """Rows with their windows, as they come."""
        windows, window = self._windows(source)
        columns = self.rng.sample(PAYLOAD, 2)
        names = ["window_start", "window_end"]
        select: Select = (
            *((Column(name, self.time.type), _at(name)) for name in names),
            *((column, _at(column.name)) for column in columns),
        )
        items = ", ".join([*names, *(column.name for column in columns)])
        text = f"{prefix}SELECT {items}\nFROM {window}{where_sql}"
        if windows.kind == "session":
            text += "\nEMIT ON WINDOW CLOSE"
        return WindowPass(self.time.path, windows, select, where), text

    def _over(
        self, prefix: str, source: str, where_sql: str, where: Where | None
    ) -> tuple[Query, str]:
        """Calls with OVER, in the order of time or of whole windows."""
        rng, time = self.rng, self.time.path
        wanted = rng.choice([(), ("customer",), ("region",), ("customer", "region")])
        keys = tuple(_at(key) for key in wanted)
        columns = (PAYLOAD[0], Column("event_at", self.time.type))
        select: Select = ((columns[0], _at("id")), (columns[1], _at(time)))
        items, windows, order, limit = ["id", f"{time} AS event_at"], None, None, None
        partition, ordered, above = list(wanted), time, ""
        whole = rng.random() < 0.35
        if whole:
            windows, text = self._windows(source)
            while windows.kind == "session":
                windows, text = self._windows(source)
            source = text
            partition = ["window_start", "window_end", *partition]
            ordered, order = rng.choice([("price", _at("price")), ("region", _at("region"))])
        calls, sqls = random_calls(rng, self.time, whole=whole)
        if whole and rng.random() < 0.5:
            limit = rng.choice([1, 2])
            first = Call(Column("c0", "BIGINT"), rng.choice(["row_number", "rank"]))
            calls = (first, *calls[1:])
            sqls[0] = f"{first.function}() OVER ({{w}})"
            above = f"\nQUALIFY c0 <= {limit}"
        by = f"PARTITION BY {', '.join(partition)} " if partition else ""
        window = f"{by}ORDER BY {ordered}"
        if rng.random() < 0.4:
            above, window = f"\nWINDOW w AS ({window}){above}", "w"
        items += [f"{sql.format(w=window)} AS c{number}" for number, sql in enumerate(sqls)]
        query = OverQuery(time, keys, calls, select, where, windows, order, limit)
        emit = "\nEMIT ON WINDOW CLOSE" if rng.random() < 0.5 else ""
        text = f"{prefix}SELECT {', '.join(items)}\nFROM {source}{where_sql}{above}{emit}"
        return query, text

    def _aggregate(
        self, source: str, where_sql: str, where: Where | None
    ) -> tuple[WindowAggregate, str]:
        rng = self.rng
        sliding, window = self._windows(source)
        wanted = rng.choice([(), ("customer",), ("region",), ("customer", "region")])
        keys: Select = tuple(
            (column, _at(column.name)) for column in PAYLOAD if column.name in wanted
        )
        calls = rng.sample(AGGREGATES, rng.randint(1, 4))
        aggregates = [aggregate for _, aggregate in calls]
        having_sql, having = "", None
        if rng.random() < 0.3:
            condition, needed, having = rng.choice(HAVINGS)
            having_sql = f"\nHAVING {condition}"
            aggregates.append(needed)
        windows = rng.choice([("window_start", "window_end"), ("window_end",)])
        columns = [
            *(Column(name, self.time.type) for name in windows),
            *(column for column, _ in keys),
            *(aggregate.output for _, aggregate in calls),
        ]
        select: Select = tuple((column, _at(column.name)) for column in columns)
        query = WindowAggregate(
            self.time.path,
            sliding,
            keys,
            tuple(aggregates),
            select,
            where,
            having,
            windows,
        )
        how = Random(source + window + where_sql)  # of its own: other draws stay as they are
        early = ""
        if self.changes and sliding.kind != "session" and how.random() < 0.4:
            if how.random() < 0.5:
                query = replace(query, updates=True)
                return self._of_all_time(query, calls, source, where_sql, having_sql)
            # Flink's windows are emitted when they close, without a word about it.
            query = replace(query, updates=self.dialect != "flink")
        elif self.changes and sliding.kind != "session" and how.random() < 0.4:
            every_s = how.choice([1, 3, 7, 20])
            early = self.time.size(every_s)
            query = replace(query, early=self.time.units(every_s))
        key_names = [*windows, *(column.name for column, _ in keys)]
        items = [
            *key_names,
            *(f"{sql.format(time=self.time.path)} AS {call.output.name}" for sql, call in calls),
        ]
        text = (
            f"SELECT {', '.join(items)}\nFROM {window}{where_sql}"
            f"\nGROUP BY {', '.join(key_names)}{having_sql}"
        )
        emit = "" if query.updates else "\nEMIT ON WINDOW CLOSE"
        return query, text + emit + (f" EARLY EVERY {early}" if early else "")

    def _of_all_time(
        self, query: WindowAggregate, calls: list[Any], source: str, where: str, having: str
    ) -> tuple[WindowAggregate, str]:
        """``query`` without windows: groups that stay."""
        names = [column.name for column, _ in query.keys]
        items = [f"{sql.format(time=self.time.path)} AS {call.output.name}" for sql, call in calls]
        by = f"\nGROUP BY {', '.join(names)}" if names else ""
        text = f"SELECT {', '.join([*names, *items])}\nFROM {source}{where}{by}{having}"
        select = query.select[len(query.grouped) :]
        query = replace(query, windows=None, grouped=(), select=select)
        return query, f"{text}\nALLOW UNBOUNDED"


def output_columns(query: Query) -> tuple[Column, ...]:
    """What a query gives."""
    if isinstance(query, MatchQuery):
        return query.columns
    calls = query.calls if isinstance(query, OverQuery) else ()
    return (*(column for column, _ in query.select), *(call.output for call in calls))


def _at(path: str) -> Expression:
    def value(row: Values) -> Any:
        return value_at(row, path)

    return value
