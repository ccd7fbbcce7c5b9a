"""The columns of a message as a Spark row (see `wire`): apart, since it is cheap to import."""

from typing import Final

SPARK_SCHEMA: Final = (
    "route int, fragment int, vnode int, upstream int, seq bigint, kind tinyint, body binary"
)
