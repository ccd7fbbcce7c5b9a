"""Declared tables: what is read, and what is written."""

from __future__ import annotations

from dataclasses import dataclass

from tidegate.types import Schema


@dataclass(frozen=True, slots=True)
class Table:
    """A declared source or sink. ``columns`` are physical: computed ones are a `Project` above.

    ``options`` are the validated WITH options as (name, value), names lower-case and in the
    connector's own spelling, sorted. ``metadata`` says which of the columns are not decoded from
    the record's value: (column, key), the key being the connector's (kafka: ``timestamp``, …).
    """

    name: str
    columns: Schema
    connector: str
    format: str
    options: tuple[tuple[str, str], ...] = ()
    metadata: tuple[tuple[str, str], ...] = ()

    def option(self, name: str, default: str = "") -> str:
        return dict(self.options).get(name, default)


@dataclass(frozen=True, slots=True)
class ChangingTable(Table):
    """A source of changes: its rows come with `OP`, a put (`Op.UPDATE_AFTER`) or a delete, of which
    only ``key`` and ``version`` count.

    ``key`` tells rows apart. Of the records of a key that with the greatest ``version`` counts; if
    there is none, the last one of its split.
    """

    key: tuple[str, ...] = ()
    version: tuple[str, ...] = ()
