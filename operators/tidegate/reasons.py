"""Why rows are in the ledger: words, so that who only offers them needs no more (S7)."""

import enum


class Reason(enum.StrEnum):
    """Why a row is in the ledger. A row has the first of these that applies, in this order (S7).

    `LATE` and `BEHIND_MERGED` are counted as ``late``, the others as ``quarantined``. The last two
    are those of changes that other operators had let pass (S13).
    """

    CRASHED = "crashed"
    MALFORMED = "malformed"
    PASSED_OVER = "passed_over"
    NULL_TIME = "null_time"
    FUTURE = "future"
    BEHIND_MERGED = "behind_merged"
    LATE = "late"
    KEY_MOVED = "key_moved"
    CLOSED = "closed"
