"""A Delta table that is read: its rows at a version, and what each later version changed.

The rows at a version are those of its files, in the order of their names. What a later version
changed its change data feed says; of a table that keeps none, all rows of the files that went and
came, most of which are the same. An image of before is a row that goes, since its key may be
another one; what goes stands before what comes: an order that every reader finds again.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa

from tidegate.connectors.delta.sink import store_options
from tidegate.connectors.formats.parquet_format import between
from tidegate.connectors.locations import one_spelling
from tidegate.engine.engine import Engine
from tidegate.errors import OptionsError, TrustError
from tidegate.plan.nodes import quoted

if TYPE_CHECKING:
    from deltalake import DeltaTable

KIND: Final = "_change_type"
DELETED: Final = "delete"
_GOES: Final = f"{KIND} IN ('{DELETED}', 'update_preimage')"
_ADDED: Final = (KIND, "_commit_version", "_commit_timestamp")
BATCH_ROWS: Final = 65_536


class History:
    """The table at ``path``, which the declared table ``name`` reads."""

    def __init__(self, name: str, path: str) -> None:
        self._name = name
        self._path = one_spelling(path)
        self._counts = lru_cache(maxsize=4_096)(self._count_changes)

    def now(self) -> tuple[str, int]:
        """Which table it is, by the id that it got when it was made, and its newest version."""
        table = self._opened(None)
        return str(table.metadata().id), table.version()

    def snapshot_rows(self, version: int) -> int:
        """How many rows there are at ``version``."""
        with self._errors(version):
            return sum(file.count_rows() for file in _files(self._dataset(version)))

    def snapshot(self, version: int, begin: int, end: int) -> Iterator[pa.Table]:
        """The rows ``begin`` to ``end`` of those at ``version``."""
        with self._errors(version):
            dataset, first = self._dataset(version), 0
            for file in _files(dataset):
                rows = file.count_rows()
                low, high = max(begin - first, 0), min(end - first, rows)
                first += rows
                if low < high:
                    batches = file.to_batches(dataset.schema, batch_size=BATCH_ROWS)
                    yield from map(pa.table, between(batches, low, high))

    def change_rows(self, version: int) -> int:
        """How many rows `changes` gives."""
        return self._counts(version)

    def changes(self, version: int, engine: Engine) -> pa.Table:
        """What ``version`` changed, with `KIND`."""
        rows = self._feed(version, None)
        names = [name for name in rows.column_names if name not in _ADDED]
        columns = ", ".join(map(quoted, names))
        sql = (
            f"SELECT {columns}, if({_GOES}, '{DELETED}', {KIND}) AS {KIND} FROM rows_"
            f" ORDER BY NOT {_GOES}, {columns}"
        )
        return engine.query(sql, {"rows_": rows})

    def _count_changes(self, version: int) -> int:
        return int(self._feed(version, [KIND]).num_rows)

    def _feed(self, version: int, columns: list[str] | None) -> pa.Table:
        from deltalake.exceptions import DeltaError

        with self._errors(version):
            try:
                found = self._opened(None).load_cdf(
                    starting_version=version, ending_version=version, columns=columns
                )
                return pa.table(found)
            except (DeltaError, pa.ArrowException) as error:
                # Of a version that changes settings alone, where there is no feed, and of files in
                # folders whose names are escaped.
                if not any(word in str(error) for word in ("change data", "fetch metadata")):
                    raise
                return self._by_files(version)

    def _by_files(self, version: int) -> pa.Table:
        """The rows of all files that ``version`` took out, or put in."""
        datasets = [self._dataset(each) for each in (version - 1, version)]
        before, now = ({file.path: file for file in _files(dataset)} for dataset in datasets)
        schema = datasets[1].schema
        parts = [schema.empty_table().append_column(KIND, pa.array([], pa.string()))]
        for files, others, kind in ((before, now, DELETED), (now, before, "insert")):
            for path in sorted(files.keys() - others.keys()):
                rows = files[path].to_table(schema)
                parts.append(rows.append_column(KIND, pa.array([kind] * rows.num_rows)))
        return pa.concat_tables(parts)

    def _dataset(self, version: int) -> Any:
        return self._opened(version).to_pyarrow_dataset()

    def _opened(self, version: int | None) -> DeltaTable:
        from deltalake import DeltaTable
        from deltalake.exceptions import DeltaError, TableNotFoundError

        try:
            return DeltaTable(self._path, version=version, storage_options=store_options())
        except TableNotFoundError:
            raise OptionsError(
                f"table '{self._name}': there is no Delta table at '{self._path}'",
                hint="a view is there once its job has run",
            ) from None
        except (DeltaError, OSError) as error:
            raise TrustError(
                f"table '{self._name}': the Delta table at '{self._path}' cannot be read",
                detail=str(error),
            ) from None

    @contextmanager
    def _errors(self, version: int) -> Iterator[None]:
        from deltalake.exceptions import DeltaError

        try:
            yield
        except (DeltaError, OSError, pa.ArrowException) as error:
            raise TrustError(
                f"table '{self._name}': version {version} of the Delta table '{self._path}' cannot"
                " be read",
                detail=str(error).splitlines()[0],
                hint="what an epoch still needs must not be vacuumed: keep its files and its log"
                " for as long as a job that reads it may stand still",
            ) from None


def _files(dataset: Any) -> list[Any]:
    """Those of a version, in the order of their names."""
    return sorted(dataset.get_fragments(), key=lambda file: file.path)
