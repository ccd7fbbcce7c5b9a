"""Values to JSON and back: the documents of a checkpoint, and what tasks report.

    a dataclass               an object by its fields' names, or as `named`; the fields of an
                              `INLINE` one stand beside those of the one that it is in
    a NamedTuple, a tuple     an array; of fields with defaults the last may be missing
    Mapping[str | int, T]     an object
    an enum                   its value
    int, float, str, bool, T | None

Reading is strict: what has another type, a field that nobody knows, or lacks one without a default
is no such value. So a document that was changed is found when it is read, and not when it is used.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import MISSING, Field, fields, is_dataclass
from enum import Enum
from functools import cache
from types import NoneType, UnionType
from typing import Any, Final, TypeVar, Union, get_args, get_origin, get_type_hints

T = TypeVar("T")
_Reader = Callable[[Any], Any]

INLINE: Final = {"inline": True}
"""Metadata of a field."""


def named(name: str) -> Mapping[str, str]:
    """Metadata of a field that has another name in the document."""
    return {"name": name}


def encode(value: object) -> bytes:
    """The document of ``value``: of equal values the same bytes."""
    return json.dumps(value, default=_object, separators=(",", ":"), sort_keys=True).encode()


def decode(kind: type[T], document: Any, *, more: bool = False) -> T:
    """The value of a document that was parsed. Raises ValueError when it is none of ``kind``.

    ``more``: it may have fields that nobody knows, of a later release.
    """
    wanted: Any = kind
    value: T = _reader(wanted, more)(document)
    return value


def _object(value: Any) -> dict[str, Any]:
    """The fields of a dataclass; JSON's own types are written by `json`."""
    document: dict[str, Any] = {}
    for each in _fields_of(value.__class__):
        part = getattr(value, each.name)
        if "inline" in each.metadata:
            document.update(_object(part))
        else:  # numbers are sorted as the texts that they are in a document
            numbered = isinstance(part, dict) and any(type(key) is int for key in part)
            document[_key(each)] = {str(k): v for k, v in part.items()} if numbered else part
    return document


_fields_of = cache(fields)


def _key(each: Field[Any]) -> str:
    return str(each.metadata.get("name", each.name))


@cache
def _reader(kind: Any, more: bool) -> _Reader:
    origin, parts = get_origin(kind) or kind, get_args(kind)
    if origin in (Union, UnionType):
        (inner,) = (_reader(part, more) for part in parts if part is not NoneType)
        return lambda found: None if found is None else inner(found)
    if issubclass(origin, Mapping):
        key, value = parts[0], _reader(parts[1], more)
        return lambda found: {key(k): value(v) for k, v in _as(found, dict).items()}
    if parts[1:] == (...,):
        item = _reader(parts[0], more)
        return lambda found: tuple(map(item, _as(found, list)))
    if issubclass(origin, tuple):
        items = [_reader(part, more) for part in parts or get_type_hints(origin).values()]
        return _array(items, origin)
    if is_dataclass(origin):
        return _record(origin, more)
    if issubclass(origin, Enum):
        made: _Reader = origin
        return made
    kinds = (float, int) if origin is float else (origin,)
    return lambda found: found if type(found) in kinds else _as(found, *kinds)


def _array(items: list[_Reader], kind: Any) -> _Reader:
    defaults = tuple(getattr(kind, "_field_defaults", {}).values())
    make = getattr(kind, "_make", tuple)

    def read(found: Any) -> Any:
        missing = len(items) - len(_as(found, list))
        if not 0 <= missing <= len(defaults):
            raise ValueError(f"{len(found)} values are not {len(items)}")
        values = [item(value) for item, value in zip(items, found, strict=False)]
        return make([*values, *defaults[len(defaults) - missing :]])

    return read


def _record(kind: Any, more: bool) -> _Reader:
    hints = get_type_hints(kind)
    beside = [each for each in fields(kind) if "inline" in each.metadata]
    plain = [each for each in fields(kind) if each not in beside]
    own = {_key(each): (each.name, _reader(hints[each.name], more)) for each in plain}
    needed = {_key(each) for each in plain if each.default is each.default_factory is MISSING}
    inline = {each.name: _reader(hints[each.name], more) for each in beside}
    part_of = {_key(each): name for name in inline for each in fields(hints[name])}

    def read(found: Any) -> Any:
        values: dict[str, Any] = {}
        parts = {name: dict[str, Any]() for name in inline}
        for key, value in _as(found, dict).items():
            if key in own:
                name, reader = own[key]
                values[name] = reader(value)
            elif key in part_of:
                parts[part_of[key]][key] = value
            elif not more:
                raise ValueError(f"{key} is not known")
        if not found.keys() >= needed:
            raise ValueError(f"{min(needed - found.keys())} is missing")
        return kind(**values, **{name: inline[name](part) for name, part in parts.items()})

    return read


def _as(found: Any, *kinds: type) -> Any:
    if type(found) not in kinds:
        raise ValueError(f"{str(found)[:100]} is no {kinds[0].__name__}")
    return found
