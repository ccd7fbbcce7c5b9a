"""The directory of a job's checkpoint, below that of a session: it is called after the job."""

from __future__ import annotations

import hashlib
import re
from typing import Final

from tidegate.errors import OptionsError

_UNFIT: Final = re.compile(r"[^\w.-]+")
_BYTES_MAX: Final = 120
"""File systems take names of 255 bytes; what is derived from this one has room, too."""


def directory_of(name: str) -> str:
    """A name for the directory of job ``name``: the same for the same, and no two share one.

    It is ``name`` itself where that will do; else what will do of it, with a hash of the whole.
    Raises OptionsError for a name that names no directory.
    """
    if name.strip() in ("", ".", ".."):
        raise OptionsError(
            f"a job cannot be called '{name}'",
            hint="its checkpoint is the directory of that name: write letters and digits",
        )
    fit = _UNFIT.sub("_", name).encode()[:_BYTES_MAX].decode(errors="ignore")
    if fit == name:
        return name
    return f"{fit}-{hashlib.sha256(name.encode()).hexdigest()[:8]}"
