"""What ``tidegate status`` shows of a job whose checkpoint one has, running or not.

    {"job", "epoch", "time", "filters", "lost"    as ``tidegate watermarks`` (see `watermarks`),
     "driver":  who holds the checkpoint; null when nobody does,
     "counts", "splits":  as ``tidegate ledger``,
     "ledger":  [{"table", "operator", "reason", "rows"}],
     "state":   [{"fragment", "operator", "rows", "bytes", "windows", "oldest"}],
     "sinks":   {table: {"commits", "rows", "bytes"}},
     "warnings": sentences}

``windows`` and ``oldest``, the lowest value of the key by which they close, are null where an
operator has none.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from operator import itemgetter
from typing import Any

from tidegate.clock import Clock
from tidegate.epochs.checkpoint import Checkpoint
from tidegate.epochs.entry import Entry
from tidegate.epochs.lease import holder_of
from tidegate.epochs.sums import summed
from tidegate.reports.ledger import counts_document, show_time
from tidegate.reports.warnings import warnings_of
from tidegate.reports.watermarks import newest, watermarks_of
from tidegate.types import END


def read_status(checkpoint: Checkpoint, clock: Clock) -> dict[str, Any]:
    """The document. Raises OptionsError when the directory is no checkpoint."""
    job, entry = newest(checkpoint)
    return {
        **watermarks_of(job, entry),
        "driver": holder_of(checkpoint.store.below("lease"), clock),
        **counts_document(entry.accounts),
        "ledger": list(_ledger(entry)),
        "state": list(_state(entry, job.about.closing)),
        "sinks": _sinks(entry, job.about.sinks),
        "warnings": warnings_of(checkpoint, job, entry),
    }


def _ledger(entry: Entry) -> Iterator[dict[str, Any]]:
    for (account, operator, reason), told in sorted(entry.accounts.rejections(), key=itemgetter(0)):
        yield {"table": account, "operator": operator, "reason": reason, "rows": told.rows}


def _state(entry: Entry, closing: Mapping[int, Mapping[str, str]]) -> Iterator[dict[str, Any]]:
    for fragment, operators in sorted(entry.work.state.items(), key=_by_text):
        for operator, kept in sorted(operators.items()):
            kind = closing.get(fragment, {}).get(operator)
            # Groups without a time have the highest bucket.
            timed = kind is not None and kept.buckets and kept.oldest < END - 1
            yield {
                "fragment": str(fragment),
                "operator": operator,
                "rows": kept.rows,
                "bytes": kept.bytes,
                "windows": None if kind is None else kept.buckets,
                "oldest": show_time(kept.oldest, kind) if timed else None,
            }


def _sinks(entry: Entry, names: Mapping[int, str]) -> dict[str, dict[str, int]]:
    sunk = sorted(entry.sinks.sunk.items(), key=_by_text)
    return summed({names.get(target, str(target)): told._asdict()} for target, told in sunk)


def _by_text(item: tuple[int, object]) -> str:
    return str(item[0])
