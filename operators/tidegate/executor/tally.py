"""Tally: the end of a branch's stateless part. Counts survivors, then drops what only S7 needed.

Contract. Chunks in have ``split`` set and `OFFSET`; chunks out have the visible columns and the
hidden ones in ``keep``, no others, and no ``split``: from here on rows of all splits are one
stream. With `SPLIT` in ``keep`` the split's name becomes a column. Watermarks and barriers pass.

Accounting (S7). A row that passed the watermark filter is ``used`` if any branch of its account
keeps it, and ``filtered`` if every branch refuses it. So the branches' survivors are united by
(split, offset), which `used_by_split` does, and what their `Filter`s have counted as refused has
its intersection (`filtered_by_split`); cheaply by counting where there is one branch only. Neither
is made of the other, so a row that is lost on the way is in none of them, and the account does not
balance. ``shared`` False says that no other branch has this account, so that offsets need not be
kept. With ``repeats`` a row may stand in a chunk several times, one behind the other (once for each
of its windows), and counts once.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial, reduce

import numpy as np
import pyarrow as pa

from tidegate.errors import InvariantError
from tidegate.executor.base import Executor
from tidegate.executor.columns import Int64s, is_hidden
from tidegate.executor.split_rows import SplitRows
from tidegate.plan.physical import Tally
from tidegate.types import OFFSET, SPLIT, Barrier, Chunk, Message, SplitStatus


class TallyExecutor(Executor):
    """Counts the survivors of one branch; ``shared``: their account has other branches."""

    def __init__(self, node: Tally, *, shared: bool = True) -> None:
        self.account = node.account
        self.schema = node.schema
        self._keep = node.keep
        self._repeats = node.repeats
        self.kept = SplitRows(named=shared)

    @property
    def splits(self) -> list[str]:
        """The splits that have survivors, sorted."""
        return self.kept.splits

    def survivors(self, split: str) -> tuple[int, Int64s]:
        """How many rows of ``split`` survived, and their offsets (none unless shared)."""
        return self.kept.of(split)

    def on_chunk(self, chunk: Chunk) -> Iterator[Message]:
        if chunk.split is None:
            raise InvariantError(f"tally of {self.account}: a chunk without a split")
        data, split = chunk.data, chunk.split
        if self.kept.named or self._repeats:
            offsets = _offsets(data, self._repeats)
            self.kept.add(split, len(offsets), offsets)
        else:
            self.kept.add(split, data.num_rows)
        kept = data.select(
            [name for name in data.column_names if not is_hidden(name) or name in self._keep]
        )
        if SPLIT in self._keep and SPLIT not in kept.column_names:
            names = pa.repeat(pa.scalar(split, pa.string()), data.num_rows)
            kept = kept.append_column(SPLIT, names)
        yield Chunk(kept)

    def on_barrier(self, barrier: Barrier) -> Iterator[Message]:
        self.kept.end()
        yield barrier

    def on_split_status(self, status: SplitStatus) -> Iterator[Message]:
        """Ends here: behind a tally there are no splits."""
        del status
        return iter(())


def _offsets(data: pa.Table, repeats: bool) -> Int64s:
    """The offsets of ``data``; of rows that repeat, once."""
    offsets: Int64s = data.column(OFFSET).to_numpy()
    if not repeats or len(offsets) < 2:
        return offsets
    return offsets[np.concatenate(([True], offsets[1:] != offsets[:-1]))]


@dataclass(frozen=True, slots=True)
class Branch:
    """One branch of an account: its end, and what its filters have ``refused``."""

    tally: TallyExecutor
    refused: Sequence[SplitRows]


def filtered_by_split(branches: Sequence[Branch]) -> dict[str, int]:
    """The rows that all ``branches`` of one account refused, by split."""
    splits = {split for branch in branches for rows in branch.refused for split in rows.splits}
    return {split: _filtered(branches, split) for split in sorted(splits)}


def _filtered(branches: Sequence[Branch], split: str) -> int:
    if len(branches) == 1 and not branches[0].tally.kept.named:
        return sum(rows.of(split)[0] for rows in branches[0].refused)
    found = [_refused(branch, split) for branch in branches]
    return len(reduce(partial(np.intersect1d, assume_unique=True), found))


def _refused(branch: Branch, split: str) -> Int64s:
    """The offsets of which nothing is left: of a row's windows, some may be refused."""
    parts = [rows.of(split)[1] for rows in branch.refused]
    offsets = np.unique(np.concatenate(parts)) if parts else np.empty(0, dtype=np.int64)
    return np.setdiff1d(offsets, branch.tally.survivors(split)[1])


def used_by_split(tallies: Sequence[TallyExecutor]) -> dict[str, int]:
    """The rows that any of ``tallies`` (all branches of one account) kept, by split."""
    if len(tallies) == 1:
        return {split: tallies[0].survivors(split)[0] for split in tallies[0].splits}
    result = {}
    for split in sorted({split for tally in tallies for split in tally.splits}):
        survivors = [tally.survivors(split) for tally in tallies]
        if any(count != len(offsets) for count, offsets in survivors):
            raise InvariantError("branches of one account need tallies that are shared")
        result[split] = len(np.unique(np.concatenate([offsets for _, offsets in survivors])))
    return result
