"""``tidegate replay``: rows of a job's ledger into a table, each once (S7).

What is written: the record, decoded as its source table declares it, its columns by name; or what a
query over the table ``ledger`` gives; or the record's bytes as they are. A row that does not decode
is left where it is, and counted.

A replay may be repeated: it goes on behind the epoch up to which the same replay (same table, same
choice, same query) has come. Each has a directory in the checkpoint:

    replays/<key>/target.json    what the table's committer remembers
    replays/<key>/<n>.json       run n takes the rows of the epochs "from" to "to", decided before
    replays/<key>/<n>.done       it has written them: so many "rows"

Run n is the epoch n of the table's sink. One that died is run again with the same bounds, and a
sink does not write an epoch twice, so neither does a replay.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from typing import Any, Final

import duckdb
import pyarrow as pa
import pyarrow.compute as pc

from tidegate.clock import Clock
from tidegate.connectors.formats import lines
from tidegate.connectors.option_types import CsvOptions, parsed
from tidegate.connectors.registry import connector_of
from tidegate.engine.engine import Engine, shared_engine
from tidegate.epochs.about import About
from tidegate.epochs.checkpoint import Checkpoint
from tidegate.epochs.lease import Lease
from tidegate.epochs.ledger import ledger_files, read_parquet
from tidegate.epochs.sealed import read_sealed, sealed
from tidegate.errors import OptionsError
from tidegate.plan.ledger import NAMES, ledger_sql
from tidegate.plan.nodes import quoted
from tidegate.plan.tables import Table
from tidegate.ports import FencingCommitter, LeasedCommitter, Progress, Stage
from tidegate.store.base import Store
from tidegate.types import LEDGER_SCHEMA

_TARGET: Final = "target.json"
_TEXTS: Final = ("event_time", "watermark", "record")


@dataclass(frozen=True, slots=True)
class Choice:
    """Which rows are replayed, and as what. Empty ``tables`` or ``reasons``: all of them.

    ``query`` is SQL over ``ledger``; ``as_is`` writes the record's bytes.
    """

    tables: tuple[str, ...] = ()
    reasons: tuple[str, ...] = ()
    query: str = ""
    as_is: bool = False


@dataclass(frozen=True, slots=True)
class Replayed:
    """What a replay has done. ``skipped`` rows do not decode."""

    rows: int
    skipped: int
    epoch: int


def replay(checkpoint: Checkpoint, target: Table, choice: Choice, clock: Clock) -> Replayed:
    """Writes the rows of ``choice`` into ``target`` that were not replayed yet.

    Raises OptionsError when the choice or the query does not fit, LeaseHeldError when the same
    replay runs already, and what the sink raises.
    """
    about = checkpoint.read_job().about
    sources = about.source_tables()
    for name in choice.tables:
        if name not in sources:
            raise OptionsError(
                f"the job has no table '{name}'", hint=f"its tables: {', '.join(sorted(sources))}"
            )
    if choice.as_is:
        target = _bytes_table(target)
    elif not choice.query:
        _refuse_keys(target, about, choice.tables or sources)
    home = checkpoint.store.below(f"replays/{_key(target, choice)}")
    leases = home.below("lease")
    leases.prepare()
    lease = Lease(leases, clock)
    lease.acquire(False)
    try:
        return _replay(checkpoint, target, choice, sources, home, lease.term)
    finally:
        lease.release()


def _replay(
    checkpoint: Checkpoint,
    target: Table,
    choice: Choice,
    sources: dict[str, Table],
    home: Store,
    term: int,
) -> Replayed:
    staging = home.where("staging")
    committer = connector_of(target).committer(target, staging)
    if not home.exists(_TARGET):
        home.create(_TARGET, sealed(committer.prepare(True)))
    else:
        committer.prepare(False)
    remembered: dict[str, str] = read_sealed(home, _TARGET)
    committer.bind(remembered)
    if isinstance(committer, FencingCommitter):
        remembered |= committer.fence(1, lambda: _progress(home))
    if isinstance(committer, LeasedCommitter):
        committer.take_over(term, lambda: _planned(home))
    number, first, last = _next_run(checkpoint, home)
    if first > last:
        return Replayed(0, 0, last)
    engine = shared_engine()
    rows = skipped = 0
    stage = Stage(staging, number, "0", tuple(sorted(remembered.items())))
    writer = connector_of(target).writer(target, stage)
    try:
        for ledger in _ledger(checkpoint, first, last):
            chosen = _chosen(ledger, choice, engine)
            data, refused = _rows(chosen, target, choice, sources, engine)
            writer.write(data)
            rows, skipped = rows + data.num_rows, skipped + refused
        staged = writer.close()
    except BaseException:
        writer.abort()
        raise
    committer.publish(number, staged)
    committer.discard_unknown(number)
    home.create(_done(number), sealed({"rows": rows}))
    return Replayed(rows, skipped, last)


def _progress(home: Store) -> Progress:
    """Of the runs: the last one that is done, and the last one that has its bounds."""
    planned, finished = _runs(home)
    done = max(finished, default=0)
    return Progress(done, max(planned, default=0), {"0": done} if done else {})


def _planned(home: Store) -> Progress:
    """As `_progress`, of a sink that knows itself what is in it: which has the last run that had
    rows, and knows nothing of one without."""
    planned, finished = _runs(home)
    last = max(planned, default=0)
    with_rows = (number for number in sorted(finished, reverse=True) if _wrote(home, number))
    written = next(with_rows, 0)
    return Progress(last, last, {"0": written} if written else {})


def _wrote(home: Store, number: int) -> bool:
    """Whether a run that is done had rows; of one from before this was noted, nobody knows."""
    name = _done(number)
    return bool(home.read(name)) and bool(read_sealed(home, name)["rows"])


def _next_run(checkpoint: Checkpoint, home: Store) -> tuple[int, int, int]:
    """Its number, and the epochs from and to which it goes; one that died has its own still."""
    planned, finished = _runs(home)
    number, first = len(planned) + 1, 1
    if planned:
        bounds = read_sealed(home, _bounds(planned[-1]))
        if planned[-1] not in finished:
            return len(planned), bounds["from"], bounds["to"]
        first = bounds["to"] + 1
    last = checkpoint.published_epoch()
    if first <= last:
        home.create(_bounds(number), sealed({"from": first, "to": last}))
    return number, first, last


def _runs(home: Store) -> tuple[list[int], set[int]]:
    """The runs that have their bounds, in order; and those that are done."""
    parts = [name.partition(".") for name in home.names("")]
    runs = [(int(stem), kind) for stem, _, kind in parts if stem.isdigit()]
    planned = sorted(number for number, kind in runs if kind == "json")
    return planned, {number for number, kind in runs if kind == "done"}


def _bounds(number: int) -> str:
    return f"{number:06d}.json"


def _done(number: int) -> str:
    return f"{number:06d}.done"


def _ledger(checkpoint: Checkpoint, first: int, last: int) -> Iterator[pa.Table]:
    """The ledger's rows of some epochs, file by file."""
    for name in ledger_files(checkpoint, first, last):
        yield read_parquet(checkpoint, name).cast(LEDGER_SCHEMA)


def _chosen(ledger: pa.Table, choice: Choice, engine: Engine) -> pa.Table:
    if choice.tables:
        ledger = ledger.filter(pc.is_in(ledger["table"], pa.array(choice.tables)))
    if choice.reasons:
        ledger = ledger.filter(pc.is_in(ledger["reason"], pa.array(choice.reasons)))
    sql = 'SELECT * FROM ledger ORDER BY "table", split, "offset"'
    return engine.query(sql, {"ledger": ledger})


def _rows(
    ledger: pa.Table, target: Table, choice: Choice, sources: dict[str, Table], engine: Engine
) -> tuple[pa.Table, int]:
    """Rows for the target, and how many of the ledger's did not decode."""
    if choice.as_is:
        kept = ledger.filter(pc.is_valid(ledger["record"]))
        return kept.select(["record"]), ledger.num_rows - kept.num_rows
    if choice.query:
        return _queried(ledger, target, choice.query, engine), 0
    parts, skipped = [engine.empty(target.columns)], 0
    for name in sorted(set(ledger["table"].to_pylist())):
        of_table = ledger.filter(pc.equal(ledger["table"], name))
        data, refused = _decoded(of_table["record"], sources[name], engine)
        skipped += refused
        parts.append(_by_name(data, target, engine))
    return pa.concat_tables([part.cast(parts[0].schema) for part in parts]), skipped


def _queried(ledger: pa.Table, target: Table, query: str, engine: Engine) -> pa.Table:
    columns = [
        f"{ledger_sql(name, 'VARCHAR') if name in _TEXTS else quoted(name)} AS {quoted(name)}"
        for name in NAMES
    ]
    shown = f"SELECT {', '.join(columns)}, record AS raw FROM rejected"
    try:
        view = engine.query(shown, {"rejected": ledger})
        return _by_name(engine.query(query, {"ledger": view}), target, engine)
    except duckdb.Error as error:
        raise OptionsError(
            f"--query: {str(error).splitlines()[0]}",
            hint=f"it is DuckDB's SQL over the table ledger ({', '.join((*NAMES, 'raw'))})",
        ) from None


def _by_name(data: pa.Table, target: Table, engine: Engine) -> pa.Table:
    """The target's columns from those of ``data``; what is not there is NULL."""
    there = {name.lower(): name for name in data.column_names}
    strange = sorted(there.keys() - {column.name.lower() for column in target.columns})
    if len(strange) == len(there):
        raise OptionsError(
            f"no column of table '{target.name}' is among {', '.join(sorted(there.values()))}",
            hint=f"its columns: {', '.join(column.name for column in target.columns)}",
        )
    values = [
        f"CAST({quoted(there[c.name.lower()]) if c.name.lower() in there else 'NULL'} AS {c.type})"
        f" AS {quoted(c.name)}"
        for c in target.columns
    ]
    try:
        return engine.query(f"SELECT {', '.join(values)} FROM data", {"data": data})
    except duckdb.Error as error:
        raise OptionsError(
            f"a value does not fit table '{target.name}': {str(error).splitlines()[0]}",
            hint="cast it in --query",
        ) from None


def _decoded(records: Any, source: Table, engine: Engine) -> tuple[pa.Table, int]:
    """Records as their source table declares them, and how many did not decode."""
    if source.format not in ("json", "csv", "parquet", ""):
        raise OptionsError(
            f"records of table '{source.name}' are {source.format}, which replay does not decode",
            hint="write their bytes with --as-is",
        )
    whole = records.combine_chunks() if isinstance(records, pa.ChunkedArray) else records
    csv = parsed(CsvOptions, source.options)
    decoded = lines.decode(whole.drop_null(), source.format, source.columns, csv, engine)
    return decoded.data, len(whole) - decoded.data.num_rows


def _refuse_keys(target: Table, about: About, tables: Iterable[str]) -> None:
    """The ledger keeps values, not keys: a column of the key could only be NULL."""
    wanted = {column.name.lower(): column.name for column in target.columns}
    for table in tables:
        for name in about.tables[table].key:
            if name.lower() in wanted:
                raise OptionsError(
                    f"column '{wanted[name.lower()]}' of table '{target.name}' is of the key of"
                    f" '{table}', which the ledger does not have",
                    hint="say what it shall be with --query, or leave the column out",
                )


def _bytes_table(target: Table) -> Table:
    found = connector_of(target).as_bytes(target)
    if found is None:
        raise OptionsError(
            f"--as-is: table '{target.name}' is {target.connector}; only messages are bytes",
            hint="leave --as-is out: records are decoded then",
        )
    return found


def _key(target: Table, choice: Choice) -> str:
    target = connector_of(target).same_target(target)
    document = json.dumps([asdict(target), asdict(choice)], sort_keys=True)
    return hashlib.sha256(document.encode()).hexdigest()[:16]
