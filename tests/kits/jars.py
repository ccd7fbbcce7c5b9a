"""What comes from Maven Central for tests must be what was there when they were written."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from pathlib import Path
from typing import Final

_LISTS: Final = (
    Path(__file__).with_name("jars.sha256"),
    Path(__file__).parents[2] / "k8s" / "images" / "kafka" / "jars.sha256",
)
"""As ``sha256sum`` prints them. A broker has the jars of its image."""


def check(paths: Iterable[Path]) -> None:
    """Raises RuntimeError for a file that no list has, or that was changed."""
    known = {
        tuple(line.split()) for each in _LISTS for line in each.read_text("utf-8").splitlines()
    }
    for path in paths:
        with path.open("rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
        if (digest, path.name) not in known:
            raise RuntimeError(f"{path.name} is not what tests know: its SHA-256 is {digest}")
