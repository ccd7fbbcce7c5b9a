"""Random small jobs: the SQL text in both forms, the split files, and what must come out.

    spec = random_job(seed)
    file = write(spec, directory)         # directory/job.sql and directory/in/orders/<split>/*.json
    …run it…                              # sinks lie in directory/out/<sink>
    problems = diff_job(expected(spec), outputs, ledger, counts)

The same seed gives the same job for ever. A job never has an empty output or ledger, and its rows
are either long past or beyond the year 2199, so that no run's clock matters.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

from oracle.account import HOUR_US, Counts, Judgement, LedgerRow, WatermarkOn, judge
from oracle.compare import diff_counts, diff_ledger, diff_output
from oracle.decode import Table, ended_lines, micros
from oracle.living import Epochs, judge_living
from oracle.query import Output, WindowAggregate
from oracle.random_query import BEFORE, Query, QueryDraw, output_columns
from oracle.splitdata import FUTURES_US, DataPlan, random_splits
from oracle.vocabulary import (
    PAYLOAD,
    TIME_COLUMNS,
    StrategyWords,
    TimeColumn,
    figures_options,
    random_figures,
    random_strategy,
    sql_type,
)

NOW_US = micros("2026-01-01 00:00:00")
"""The epoch time that the oracle assumes; any between 2025 and 2199 gives the same."""

DIRECTORY = "$DIRECTORY"
"""Stands in `JobSpec.text` for the directory that the job is written to."""

FORMS = ("risingwave", "flink", "function")
"""``function`` is RisingWave's with the WATERMARK() table function in the queries."""


@dataclass(frozen=True)
class AccountSpec:
    """One watermark declaration on a table, and the queries that read through it."""

    name: str
    watermarks: tuple[WatermarkOn, ...]
    queries: tuple[tuple[str, Query], ...]  # sink, query


@dataclass(frozen=True)
class JobSpec:
    """A job: its text, its data, and its meaning."""

    name: str
    form: str
    text: str
    table: Table
    time_type: str
    splits: Mapping[str, Sequence[bytes]]
    accounts: tuple[AccountSpec, ...]
    bounded: bool

    @property
    def sinks(self) -> tuple[str, ...]:
        return tuple(sink for account in self.accounts for sink, _ in account.queries)

    def sql(self, directory: Path) -> str:
        """The job's text for files in ``directory``."""
        return self.text.replace(DIRECTORY, directory.resolve().as_posix())


@dataclass(frozen=True)
class Expected:
    """What a job must give. Of an unbounded one: what is final when all was read."""

    outputs: Mapping[str, Output]
    ledger: Sequence[LedgerRow]
    counts: Counts
    splits: Mapping[str, Counts]  # summed over the accounts
    accounts: Mapping[str, Judgement]
    time_type: str


def write(spec: JobSpec, directory: Path) -> Path:
    """Writes the split files and ``job.sql`` into ``directory``; gives the latter's path."""
    write_splits(spec.splits, directory / "in" / spec.table.name)
    file = directory / "job.sql"
    file.write_text(spec.sql(directory), encoding="utf-8")
    return file


def write_splits(splits: Mapping[str, Sequence[bytes]], directory: Path) -> None:
    """One directory a split, its files in name order; an empty split has one empty file."""
    for split, files in splits.items():
        (directory / split).mkdir(parents=True)
        for number, content in enumerate(files or [b""]):
            (directory / split / f"{number:03d}.json").write_bytes(content)


def expected(spec: JobSpec, *, now_us: int = NOW_US, epochs: Epochs | None = None) -> Expected:
    """Runs the oracle over the whole input; ``epochs``: in which its splits were active or not."""
    outputs: dict[str, Output] = {}
    ledger: list[LedgerRow] = []
    counts = Counts()
    splits = {split: Counts() for split in sorted(spec.splits)}
    accounts = {}
    data = spec.splits
    if not spec.bounded:
        data = {split: ended_lines(files) for split, files in data.items()}
    for account in spec.accounts:
        wheres = [query.filter for _, query in account.queries]
        if epochs is None:
            judgement = judge(spec.table, data, account.watermarks, now_us=now_us, wheres=wheres)
        else:
            (on,) = account.watermarks
            judgement = judge_living(spec.table, data, on, epochs, now_us=now_us, wheres=wheres)
        accounts[account.name] = judgement
        ledger += judgement.ledger
        counts.add(judgement.counts)
        for split, of_split in judgement.splits.items():
            splits[split].add(of_split)
        watermark = judgement.merged_watermark(account.watermarks[0].column)
        for sink, query in account.queries:
            outputs[sink] = query.run(judgement.rows, watermark, spec.bounded)
    return Expected(outputs, ledger, counts, splits, accounts, spec.time_type)


def diff_job(
    wanted: Expected,
    outputs: Mapping[str, Iterable[Mapping[str, Any]]],
    ledger: Iterable[Mapping[str, Any]],
    counts: Mapping[str, Any] | Any,
    *,
    allow_empty: bool = False,
) -> str:
    """The empty text if a run's outputs, ledger and total counts are right; else what is wrong."""
    problems = []
    if sorted(outputs) != sorted(wanted.outputs):
        problems.append(f"sinks: expected {sorted(wanted.outputs)}, found {sorted(outputs)}")
    for sink, output in wanted.outputs.items():
        diff = diff_output(output, outputs.get(sink, ()), allow_empty=allow_empty)
        if diff:
            problems.append(f"sink {sink}: {diff}")
    time_type = wanted.time_type
    diff = diff_ledger(wanted.ledger, ledger, time_type=time_type, allow_empty=allow_empty)
    if diff:
        problems.append(f"ledger: {diff}")
    diff = diff_counts(wanted.counts, counts)
    if diff:
        problems.append(f"counts: {diff}")
    return "\n".join(problems)


def random_job(
    seed: int,
    *,
    form: str | None = None,
    kind: str | None = None,
    bounded: bool | None = None,
    rows_max: int = 60,
    splits_max: int = 4,
    changes: bool = False,
    queries: int | None = None,
) -> JobSpec:
    """The job of ``seed``; ``form``, ``kind`` (of time column), ``bounded`` narrow the choice.

    With ``changes`` some of its results are emitted as they change. It has so many ``queries``;
    None: a few.
    """
    rng = Random(seed)
    while True:
        draw = _Draw(rng, form, kind, rows_max=rows_max, splits_max=splits_max, changes=changes)
        draw.bounded = draw.bounded if bounded is None else bounded
        spec = draw.job(f"seed-{seed}", queries)
        result = expected(spec)
        if result.ledger and all(output.rows for output in result.outputs.values()):
            return spec


class _Draw:
    """One random job in the making: the choices that its parts share."""

    def __init__(
        self,
        rng: Random,
        form: str | None,
        kind: str | None,
        *,
        rows_max: int,
        splits_max: int,
        changes: bool,
    ) -> None:
        self.rng = rng
        kinds = [
            kind_
            for kind_ in TIME_COLUMNS
            if form in (None, "flink") or kind_ not in ("nested", "computed")
        ]
        self.time: TimeColumn = TIME_COLUMNS[kind or rng.choice(kinds)]
        flink_only = self.time.kind in ("nested", "computed")
        self.form = form or ("flink" if flink_only else rng.choice(FORMS))
        self.dialect = "flink" if self.form == "flink" else "risingwave"
        self._queries = QueryDraw(rng, self.time, self.dialect, changes)
        self.bounded = rng.random() < 0.6
        self.delay_s = rng.choice([0, 1, 2, 5, 10])
        self.figures = random_figures(rng)
        self.skew_us = 0 if rng.random() < 0.2 else HOUR_US
        self.table = Table("orders", (*PAYLOAD, *self.time.columns), self.time.computed)
        self.plan = DataPlan(
            self.time,
            self.delay_s,
            rng.choice([micros("2024-03-01 10:00:00"), micros("1969-12-31 23:59:45")]),
            rows_max,
            splits_max,
            FUTURES_US if self.skew_us else FUTURES_US[:1],
        )

    def job(self, name: str, count: int | None) -> JobSpec:
        """Draws the rest."""
        splits = random_splits(self.rng, self.plan)
        accounts, statements = [], []
        if self.form == "function":
            declared: dict[str, list[tuple[str, tuple[Query, str]]]] = {}
            strategies: dict[str, StrategyWords] = {}
            for number in range(count or self.rng.choice([1, 1, 2])):
                strategy = self._strategy()
                strategies[strategy.sql] = strategy
                sink = (f"sink_{number}", self._queries.query(strategy.sql))
                declared.setdefault(strategy.sql, []).append(sink)  # equal ones are one account
                statements.append(self._sink(sink[0], *sink[1]))
            for number, (sql, sinks) in enumerate(declared.items(), 1):
                account = "orders" if number == 1 else f"orders#{number}"
                accounts.append(self._account(account, strategies[sql], sinks))
            source = self._source(None)
        else:
            strategy = self._strategy()
            sinks = [
                (f"sink_{number}", self._queries.query(""))
                for number in range(count or self.rng.randint(1, 3))
            ]
            accounts.append(self._account("orders", strategy, sinks))
            statements += [self._sink(sink, query, text) for sink, (query, text) in sinks]
            source = self._source(strategy)
        return JobSpec(
            name,
            self.form,
            "\n".join([source, *statements]),
            self.table,
            self.time.type,
            splits,
            tuple(accounts),
            self.bounded,
        )

    def _strategy(self) -> StrategyWords:
        return random_strategy(
            self.rng, self.time, self.dialect, self.delay_s, NOW_US, self.figures
        )

    def _account(
        self, name: str, strategy: StrategyWords, sinks: list[tuple[str, tuple[Query, str]]]
    ) -> AccountSpec:
        on = WatermarkOn(
            self.time.path,
            strategy.candidate,
            skew_us=self.skew_us,
            unit_us=self.time.unit_us,
            before=BEFORE,
            per=strategy.per,
        )
        return AccountSpec(name, (on,), tuple((sink, query) for sink, (query, _) in sinks))

    def _source(self, strategy: StrategyWords | None) -> str:
        columns = [
            f"{column.name} {sql_type(column, self.dialect)}" for column in self.table.columns
        ]
        if self.table.computed:
            columns.append("rowtime AS to_timestamp(ts)")
        if strategy is not None:
            columns.append(f"WATERMARK FOR {self.time.path} AS {strategy.sql}")
        options = {"connector": "filesystem", "path": f"{DIRECTORY}/in/orders"}
        if not self.bounded:
            options["source.monitor-interval"] = "1 s"
        if self.skew_us == 0:
            options["scan.watermark.max-future-skew"] = "0 s"
        options |= figures_options(self.figures)
        word = "TABLE" if self.dialect == "flink" else self.rng.choice(["TABLE", "SOURCE"])
        body = ",\n".join(f"  {column}" for column in columns)
        return f"CREATE {word} orders (\n{body}\n){self._with(options)};\n"

    def _with(self, options: dict[str, str]) -> str:
        if self.dialect == "flink":
            options = {**options, "format": "json"}
            return " WITH (" + ", ".join(f"'{k}' = '{v}'" for k, v in options.items()) + ")"
        items = ", ".join(f"{k if k.isalpha() else repr(k)} = '{v}'" for k, v in options.items())
        return f" WITH ({items}) FORMAT PLAIN ENCODE JSON"

    def _sink(self, sink: str, query: Query, text: str) -> str:
        to = {"connector": "filesystem", "path": f"{DIRECTORY}/out/{sink}"}
        if isinstance(query, WindowAggregate) and (query.updates or query.early):
            to = {"connector": "print"}
        options = self._with(to)
        if self.dialect == "flink":
            columns = ", ".join(
                f"{column.name} {sql_type(column, 'flink')}" for column in output_columns(query)
            )
            return f"CREATE TABLE {sink} ({columns}){options};\nINSERT INTO {sink}\n{text};\n"
        return f"CREATE SINK {sink} AS\n{text}\n{options.strip()};\n"


__all__ = [
    "FORMS",
    "NOW_US",
    "AccountSpec",
    "Expected",
    "JobSpec",
    "diff_job",
    "expected",
    "random_job",
    "write",
    "write_splits",
]
