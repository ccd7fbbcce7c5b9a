"""``DISTRIBUTED BY HASH(k) INTO n BUCKETS`` (seed 004): the key and the partitions of a topic.

Of a table that is read it changes nothing: its topic is as it is.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Final

from tidegate.connectors.connector import Connector
from tidegate.connectors.option_types import list_of, names_in
from tidegate.errors import BindError, did_you_mean
from tidegate.frontend.ast.statements import Buckets
from tidegate.frontend.expressions.scope import matches

_KEYS: Final = ("key.fields", "primary_key")


def bound(buckets: Buckets | None, columns: Iterable[str]) -> Buckets | None:
    """The clause with its keys as the table spells them. Raises BindError for what is none."""
    if buckets is None:
        return None
    known = list(columns)
    keys = []
    for key in buckets.keys:
        column = next((column for column in known if matches(key, column)), None)
        if column is None:
            raise BindError(
                f"the table has no column '{key.text}'",
                key.span.place,
                hint=did_you_mean(key.text, known) or f"its columns are {', '.join(known)}",
            )
        keys.append(replace(key, text=column))
    return replace(buckets, keys=tuple(keys))


def bucket_options(
    what: str, buckets: Buckets, connector: Connector, given: Mapping[str, str]
) -> dict[str, str]:
    """What the clause adds to the options of a sink. Raises BindError for what has no buckets."""
    if not connector.buckets:
        raise BindError(
            f"{what}: '{connector.name}' has no buckets",
            buckets.span.place,
            hint="leave DISTRIBUTED BY out: only kafka tables, whose topics have partitions,"
            " take it",
        )
    added = {}
    keys = [key.text for key in buckets.keys]
    said = next((given[name] for name in _KEYS if name in given), None)
    if keys and said is not None and list(names_in(said)) != keys:
        raise BindError(
            f"{what}: the key of its messages is {said}, the buckets are by {', '.join(keys)}",
            buckets.span.place,
            hint="a message's key chooses its partition: name the same columns",
        )
    if keys:
        added[_KEYS[0]] = list_of(keys)
    if buckets.count and connector.buckets not in given:
        added[connector.buckets] = str(buckets.count)
    return added
