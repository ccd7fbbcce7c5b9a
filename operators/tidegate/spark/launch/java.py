"""Which Java is started, where Spark's own scripts do not choose."""

from __future__ import annotations

import os
from pathlib import Path


def java() -> str:
    """That of $JAVA_HOME, else the one on the PATH: as Spark does."""
    found = Path(os.environ.get("JAVA_HOME", "/"), "bin", "java")
    return str(found) if found.exists() else "java"
