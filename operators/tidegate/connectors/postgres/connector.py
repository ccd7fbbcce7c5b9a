"""The `postgres` connector: rows and changes are written into a table of PostgreSQL."""

from __future__ import annotations

from tidegate.connectors.connector import Connector
from tidegate.connectors.option_types import parsed
from tidegate.connectors.postgres import options
from tidegate.connectors.postgres.types import check_postgres
from tidegate.connectors.staged_parquet import ParquetStager
from tidegate.plan.tables import Table
from tidegate.ports import SinkCommitter


def _committer(table: Table, staging: str) -> SinkCommitter:
    # Its client library is loaded by drivers that write there, not by whoever checks a file.
    from tidegate.connectors.postgres.sink import PostgresCommitter

    return PostgresCommitter(table, staging)


CONNECTOR = Connector(
    name="postgres",
    words=("jdbc", "postgresql"),
    aliases=options.ALIASES,
    sink=options.PostgresOptions,
    writer=ParquetStager,
    committer=_committer,
    takes_changes=lambda table: table.option("type").strip().lower() != "append-only",
    has_keys=True,
    check=lambda table, _: check_postgres(table, parsed(options.PostgresOptions, table.options)),
    is_secret=lambda _, value: options.SECRET_IN_URL.search(value) is not None,
    places=("table",),
    is_path=options.is_path,
    exposes=lambda table: options.exposed(parsed(options.PostgresOptions, table.options)),
    may_change=options.HOW_IT_IS_REACHED,
    as_whom=options.AS_WHOM,
)
