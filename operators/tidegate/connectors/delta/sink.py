"""The `delta` sink: a Delta table, of which each version is an epoch (design §2 "Sinks").

Writers stage Parquet on the checkpoint's store; when the epoch commits, the driver makes one
transaction of what they staged. It carries the checkpoint's name and the epoch (Delta's ``txn``
action), so an epoch that is published again after a crash is not applied again. Rows are appended;
changes are merged by the columns that tell rows apart (``key.fields``), or, where nothing does, by
all they have and how often they are there: so the table is the result as it stands. Anything that
reads Delta can query it meanwhile. Tables that are made here say what each version changed (Delta's
change data feed), so that other jobs can go on from there.

Without a ``path`` the table is ``views/NAME`` in the checkpoint: a materialized view.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cached_property
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal

import duckdb
import pyarrow as pa
import pyarrow.compute as pc
from pydantic import BeforeValidator, Field

from tidegate.connectors.locations import one_spelling
from tidegate.connectors.option_types import OptionProblem, Options, listed, parsed
from tidegate.connectors.staged_parquet import staged_parts
from tidegate.connectors.staging import Staging, removed, sink_errors, unique_token
from tidegate.engine.engine import shared_engine
from tidegate.errors import SinkError, TrustError
from tidegate.plan.nodes import quoted
from tidegate.plan.tables import Table
from tidegate.ports import BESIDE, StagedFile, in_order
from tidegate.types import OP, Op

if TYPE_CHECKING:
    from deltalake import CommitProperties, DeltaTable, Schema

VIEWS: Final = "views"
"""Where in a checkpoint its materialized views are."""
TIDY_EVERY: Final = 50
"""Versions between two compactions: every epoch adds a small file."""


_CAME: Final = f"{int(Op.INSERT)}, {int(Op.UPDATE_AFTER)}"
_KNOWN: Final = frozenset(
    (
        *("boolean", "tinyint", "smallint", "integer", "bigint", "float", "double", "decimal"),
        *("varchar", "blob", "date", "timestamp", "timestamp with time zone"),
    )
)
"""Types that Delta has."""


class DeltaOptions(Options):
    """A Delta table; without a ``path`` one of the checkpoint's own.

    ``key_fields`` tell the rows of a changing result apart; ``changes_by`` row: nothing does.
    """

    path: str = ""
    key_fields: Annotated[tuple[str, ...], BeforeValidator(listed)] = Field((), alias="key.fields")
    changes_by: Literal["key", "row"] = Field("key", alias="changes.by")
    format: Literal["parquet"] = "parquet"


class DeltaCommitter:
    """Implements `tidegate.ports.ErasingCommitter`. ``staging`` lies in the checkpoint."""

    def __init__(self, table: Table, staging: str, token: Callable[[], str] = unique_token) -> None:
        options = parsed(DeltaOptions, table.options)
        self._table = table
        self._key = options.key_fields
        self._by_row = options.changes_by == "row"
        self._is_view = not options.path
        self._place = one_spelling(options.path or view_path(staging, table.name))
        self._staging = Staging(staging)
        self._token = token
        self._identity = ""

    @cached_property
    def _schema(self) -> pa.Schema:
        fields = shared_engine().arrow_schema(self._table.columns)
        return pa.schema([_field(each) for each in fields])

    def prepare(self, fresh: bool) -> dict[str, str]:
        from deltalake import DeltaTable, Schema

        self._staging.make()
        with self._errors("open"):
            if not DeltaTable.is_deltatable(self._place, store_options()):
                if not fresh:
                    raise removed(f"the Delta table '{self._place}' is gone")
                DeltaTable.create(
                    self._place,
                    self._schema,
                    configuration={"delta.enableChangeDataFeed": "true"},
                    storage_options=store_options(),
                )
            table, wanted = self._opened(), Schema.from_arrow(self._schema)
            found, written = table.schema(), table.version()
        if found != wanted:
            raise SinkError(
                f"the Delta table '{self._place}' has other columns than '{self._table.name}'",
                detail=f"there: {_shown(found)}; here: {_shown(wanted)}",
                hint="give it another path",
            )
        if not fresh:
            return {}
        beside = {BESIDE: f"{written:,} versions by others of '{self._place}'"} if written else {}
        return {"identity": self._token(), **beside}

    def bind(self, remembered: Mapping[str, str]) -> None:
        self._identity = remembered.get("identity", "")
        if not self._identity:
            raise TrustError("the checkpoint's job.json does not say whose versions are its own")

    def erases(self) -> bool:
        """A view goes with its checkpoint; who else has written into another table is not known."""
        return self._is_view

    def erase(self, remembered: Mapping[str, str]) -> int:
        del remembered
        return 0

    def publish(self, epoch: int, staged: Sequence[StagedFile]) -> None:
        if not staged:
            return
        files = in_order(staged)
        with self._errors("write into"):
            table = self._opened()
            if (table.transaction_version(self._application) or 0) < epoch:
                what = f"the Delta table '{self._place}'"
                rows = pa.concat_tables(staged_parts(self._staging, files, what))
                self._apply(table, rows, epoch)
                if table.version() % TIDY_EVERY == 0:
                    table.optimize.compact()
                    table.vacuum(dry_run=False)
        self._staging.delete(files)

    def discard_unknown(self, epoch: int) -> None:
        self._staging.discard(epoch)

    @property
    def _application(self) -> str:
        return f"tidegate-{self._identity}"

    def _opened(self) -> DeltaTable:
        from deltalake import DeltaTable

        return DeltaTable(self._place, storage_options=store_options())

    def _apply(self, table: DeltaTable, rows: pa.Table, epoch: int) -> None:
        """One transaction."""
        from deltalake import CommitProperties, Transaction, write_deltalake

        once = CommitProperties(app_transactions=[Transaction(self._application, epoch)])
        data = rows.select(self._schema.names).cast(self._schema)
        if OP not in rows.column_names:
            write_deltalake(table, data, mode="append", commit_properties=once)
        elif self._by_row:
            self._merge_rows(table, data.append_column(OP, rows.column(OP)), once)
        else:
            self._merge(table, data.append_column(OP, rows.column(OP)), once)

    def _merge(self, table: DeltaTable, changes: pa.Table, once: CommitProperties) -> None:
        """Of each row what it is now: an epoch changes it once."""
        now = changes.filter(pc.not_equal(changes.column(OP), int(Op.UPDATE_BEFORE)))
        # In parentheses: Delta's parser takes all that follows FROM for its right side.
        same = " AND ".join(
            f"(now.{quoted(key)} IS NOT DISTINCT FROM was.{quoted(key)})" for key in self._key
        )
        values = {quoted(name): f"now.{quoted(name)}" for name in self._schema.names}
        is_gone = f"now.{quoted(OP)} = {int(Op.DELETE)}"
        (
            table.merge(
                now,
                predicate=same or "true",
                source_alias="now",
                target_alias="was",
                commit_properties=once,
            )
            .when_matched_delete(predicate=is_gone)
            .when_matched_update(updates=values, predicate=f"NOT ({is_gone})")
            .when_not_matched_insert(updates=values, predicate=f"NOT ({is_gone})")
            .execute()
        )

    def _merge_rows(self, table: DeltaTable, changes: pa.Table, once: CommitProperties) -> None:
        """Of each row as many as there are now. Those of which some go are all taken out, and what
        is left of them is written again."""
        from deltalake import write_deltalake

        names = [quoted(name) for name in self._schema.names]
        columns = ", ".join(names)
        engine, sign = shared_engine(), f"if({quoted(OP)} IN ({_CAME}), 1, -1)"
        net = f"SELECT {columns}, sum({sign}) AS __n FROM changes_ GROUP BY {columns}"
        changed = engine.query(f"{net} HAVING __n <> 0", {"changes_": changes})
        gone = changed.filter(pc.less(changed.column("__n"), 0))
        came = "SELECT * FROM changed_ WHERE __n > 0"
        tables = {"changed_": changed}
        if gone.num_rows:
            same = " AND ".join(f"was_.{name} IS NOT DISTINCT FROM gone_.{name}" for name in names)
            left = (
                f"SELECT gone_.*, count(*) AS __there FROM was_ JOIN gone_ ON {same} GROUP BY ALL"
            )
            there = f"SELECT {columns}, __there + __n AS __n FROM ({left}) WHERE __there + __n > 0"
            came = f"{came} UNION ALL {there}"
            tables |= {"gone_": gone, "was_": table.to_pyarrow_dataset()}
        copies = (
            f"SELECT {columns} FROM (SELECT *, unnest(range(CAST(__n AS BIGINT))) FROM ({came}))"
        )
        added = engine.query(copies, tables).cast(self._schema)
        if not gone.num_rows:
            write_deltalake(table, added, mode="append", commit_properties=once)
            return
        taken = gone.select(self._schema.names).cast(self._schema)
        now = pa.concat_tables(
            rows.append_column(OP, pa.array([int(op)] * rows.num_rows, pa.int8()))
            for rows, op in ((taken, Op.DELETE), (added, Op.INSERT))
        )
        same = " AND ".join(f"(now.{name} IS NOT DISTINCT FROM was.{name})" for name in names)
        is_gone = f"now.{quoted(OP)} = {int(Op.DELETE)}"
        (
            table.merge(
                now,
                predicate=f"{same} AND ({is_gone})",
                source_alias="now",
                target_alias="was",
                commit_properties=once,
            )
            .when_matched_delete()
            .when_not_matched_insert(
                updates={name: f"now.{name}" for name in names}, predicate=f"NOT ({is_gone})"
            )
            .execute()
        )

    @contextmanager
    def _errors(self, action: str) -> Iterator[None]:
        from deltalake.exceptions import DeltaError

        try:
            with sink_errors(action, self._place):
                yield
        except DeltaError as error:
            raise SinkError(
                f"cannot {action} the Delta table '{self._place}'",
                detail=str(error),
                hint="check that it may be written, and that nothing else writes into it",
            ) from error


def view_path(staging: str, name: str) -> str:
    """Where a materialized view lies, beside the checkpoint's staging directory."""
    return f"{staging.rsplit('/', 2)[0]}/{VIEWS}/{name}"


def store_options() -> dict[str, str]:
    """What the store needs besides the AWS_* variables, which it reads itself."""
    endpoint = os.environ.get("AWS_ENDPOINT_URL_S3") or os.environ.get("AWS_ENDPOINT_URL", "")
    plain = {"AWS_ALLOW_HTTP": "true"} if endpoint.startswith("http://") else {}
    return {**({"AWS_ENDPOINT_URL": endpoint} if endpoint else {}), **plain}


def _field(given: Any) -> pa.Field:
    """A column as Delta has it: times in UTC, integers signed."""
    if pa.types.is_timestamp(given.type) and given.type.tz:
        return pa.field(given.name, pa.timestamp("us", "UTC"))
    return given


def _shown(schema: Schema) -> str:
    return ", ".join(f"{field.name} {field.type}" for field in schema.fields)


def check_delta(table: Table) -> None:
    """Raises OptionProblem for a column of a type that Delta has not."""
    for column in table.columns:
        if not _fits(duckdb.sqltype(column.type)):
            raise OptionProblem(
                "connector",
                f"column '{column.name}' of '{table.name}' is {column.type}, which Delta has not",
                hint="cast it: to DECIMAL, BIGINT or VARCHAR",
            )


def _fits(type_: Any) -> bool:
    if type_.id in ("list", "struct"):
        return all(_fits(child) for _, child in type_.children)
    return type_.id in _KNOWN
