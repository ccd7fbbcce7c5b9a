"""``CREATE TABLE t (…) LIKE base (…)``: a declaration that begins with another one's (Flink)."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from tidegate.errors import BindError, UnsupportedError
from tidegate.frontend.ast.queries import Name, Options
from tidegate.frontend.ast.statements import ColumnDef, CreateTable, Feature, Like, WatermarkDef

_FORMATS: Final = ("format", "value.format")
_OF_FORMATS: Final = tuple(
    f"{prefix}{name}." for prefix in ("", "value.") for name in ("json", "csv", "avro-confluent")
)
"""Options of a format, which go with it."""


def made_like(base: CreateTable, new: CreateTable) -> CreateTable:
    """The declaration that ``new`` is, with what it takes over from ``base``.

    Raises BindError where both say something that only one may say.
    """
    assert new.like is not None
    merge = _Merge(base, new, new.like)
    return replace(
        new,
        columns=merge.columns(),
        watermarks=merge.watermarks(),
        options=merge.options(),
        keys=merge.keys(),
        buckets=new.buckets
        or (None if new.like.rules["DISTRIBUTION"] == "EXCLUDING" else base.buckets),
        like=None,
    )


class _Merge:
    def __init__(self, base: CreateTable, new: CreateTable, like: Like) -> None:
        self._base = base
        self._new = new
        self._rules = like.rules

    def columns(self) -> tuple[ColumnDef, ...]:
        """Those of the base, then the new ones; a new one may take the place of a computed one."""
        new = {column.name.text.lower(): column for column in self._new.columns}
        kept = []
        for column in self._base.columns:
            feature = _feature(column)
            other = new.get(column.name.text.lower())
            rule = self._rules[feature] if feature else "INCLUDING"
            if rule == "EXCLUDING":
                continue
            if other is None:
                kept.append(column)
            elif rule == "OVERWRITING" and _feature(other) == feature:
                kept.append(new.pop(column.name.text.lower()))
            else:
                raise BindError(
                    f"column '{other.name.text}' already exists, in '{self._base.name.text}'",
                    other.name.span.place,
                    hint=f"write OVERWRITING {feature}" if feature else "give it another name",
                )
        return (*kept, *new.values())

    def watermarks(self) -> tuple[WatermarkDef, ...]:
        rule, base, new = self._rules["WATERMARKS"], self._base.watermarks, self._new.watermarks
        if rule == "EXCLUDING" or (rule == "OVERWRITING" and new):
            return new
        for mark in new:
            if any(_path(mark) == _path(other) for other in base):
                raise BindError(
                    f"a watermark for {mark.column.lower()} already exists, in"
                    f" '{self._base.name.text}'",
                    mark.span.place,
                    hint="write LIKE … (OVERWRITING WATERMARKS)",
                )
        return (*base, *new)

    def options(self) -> Options:
        rule, base, new = self._rules["OPTIONS"], self._base.options, self._new.options
        if rule == "EXCLUDING":
            return new
        given = {option.key.value.lower(): option for option in reversed(new.items)}
        for option in base.items if rule == "INCLUDING" else ():
            if (again := given.get(option.key.value.lower())) is not None:
                raise BindError(
                    f"'{self._base.name.text}' has the option '{option.key.value}' already",
                    again.key.span.place,
                    hint="write LIKE … (OVERWRITING OPTIONS)",
                )
        is_encoded = new.encode is not None or not given.keys().isdisjoint(_FORMATS)
        kept = tuple(
            option
            for option in base.items
            if (key := option.key.value.lower()) not in given
            and not (is_encoded and (key in _FORMATS or key.startswith(_OF_FORMATS)))
        )
        encode = new.encode if is_encoded else base.encode
        return Options((*kept, *new.items), new.span, encode)

    def keys(self) -> tuple[Name, ...]:
        if self._rules["CONSTRAINTS"] == "EXCLUDING":
            return self._new.keys
        if self._base.keys and self._new.keys:
            raise BindError(
                f"'{self._base.name.text}' has a PRIMARY KEY already",
                self._new.keys[0].span.place,
                hint="write LIKE … (EXCLUDING CONSTRAINTS)",
            )
        return self._new.keys or self._base.keys


def _feature(column: ColumnDef) -> Feature | None:
    if column.computed is not None:
        return "GENERATED"
    return "METADATA" if column.metadata is not None else None


def _path(mark: WatermarkDef) -> tuple[str, ...]:
    return tuple(name.text.lower() for name in mark.path)


def refuse_view(like: Like, view: str) -> UnsupportedError:
    """The error of a table like a view."""
    return UnsupportedError(
        f"'{view}' is a view, and a table can only be like a table",
        like.base.span.place,
        hint=f"write CREATE TABLE … AS SELECT * FROM {view}",
    )
