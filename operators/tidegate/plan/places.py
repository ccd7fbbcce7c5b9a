"""Names of state that release 0.1 has given: by an operator's place in its fragment.

    FRAGMENT.VNODE.op.NODE[.TABLE]      an operator's, or one of its several
    FRAGMENT.VNODE.merge.NODE           a merge's
    FRAGMENT.VNODE.ID                   a watermark filter's, and what else is kept of splits

The plan is the checkpoint's (`job.json` has its fingerprint), so its places are those of then.
"""

from __future__ import annotations

import re
from typing import Final

from tidegate.plan.fragments import Plan

_PLACE: Final = re.compile(r"(\d+)\.\d+\.(?:(?:op|merge)\.(\d+)(\..+)?|(.+))")


def named_by_place(plan: Plan, name: str) -> str:
    """What state that 0.1 called ``name`` is called now."""
    match = _PLACE.fullmatch(name)
    assert match is not None, f"{name} is no name of 0.1"
    fragment, node, table, of_splits = match.groups()
    return of_splits or plan.fragments[int(fragment)].names[int(node)] + (table or "")
