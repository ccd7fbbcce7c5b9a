"""DeleteOldKeys: of a row that has got another key, the one of before is gone (S13).

Contract. Rows of a changing table in, with `OP`, and with `OLD_KEY` where some have had another
key. The same rows out without that column, and a delete of each old key, at the same place of the
split: the keys differ, so nothing depends on which of the two comes first. Watermarks pass.

It stands behind the watermark filter, so that a put which is late deletes nothing, and behind the
account (S7), so that a record counts once.
"""

from __future__ import annotations

from collections.abc import Iterator

from tidegate.executor.base import Executor
from tidegate.executor.changes.as_changes import with_op
from tidegate.executor.columns import single_array
from tidegate.plan.physical import DeleteOldKeys
from tidegate.types import OLD_KEY, OP, Chunk, Message, Op


class DeleteOldKeysExecutor(Executor):
    """Makes deletes of what the rows of ``node`` were."""

    def __init__(self, node: DeleteOldKeys) -> None:
        self.schema = node.schema

    def on_chunk(self, chunk: Chunk) -> Iterator[Message]:
        data = chunk.data
        if OLD_KEY not in data.column_names:
            yield chunk
            return
        old = single_array(data.column(OLD_KEY))
        data = data.drop_columns([OLD_KEY])
        yield Chunk(data, chunk.split)
        gone = data.filter(old.is_valid()).drop_columns([OP])
        old = old.drop_null()
        for place, values in enumerate(old.flatten()):
            name = old.type.field(place).name
            at = gone.column_names.index(name)
            gone = gone.set_column(at, name, values.cast(gone.schema.field(at).type))
        yield Chunk(with_op(gone, Op.DELETE).select(data.column_names), chunk.split)
