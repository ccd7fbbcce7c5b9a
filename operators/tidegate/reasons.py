"""Why rows are in the ledger: words, so that who only offers them needs no more (S7)."""

import enum


class Reason(enum.StrEnum):
    """Why a row is in the ledger. A row has the first of these that applies, in this order (S7).

    The last two are counted as ``late``, the others as ``quarantined``.
    """

    CRASHED = "crashed"
    MALFORMED = "malformed"
    NULL_TIME = "null_time"
    FUTURE = "future"
    BEHIND_MERGED = "behind_merged"
    LATE = "late"
