"""Tidegate: event-time SQL for Apache Spark.

The names below are loaded when they are used: importing the package imports no pyspark.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from tidegate.version import __version__

if TYPE_CHECKING:
    from tidegate.dataframes import with_watermark
    from tidegate.errors import (
        LeaseHeldError,
        OptionsError,
        RefusedError,
        RunError,
        SqlError,
        TidegateError,
        TrustError,
    )
    from tidegate.session import Answers, Job, Session, builder_settings

__all__ = [
    "Answers",
    "Job",
    "LeaseHeldError",
    "OptionsError",
    "RefusedError",
    "RunError",
    "Session",
    "SqlError",
    "TidegateError",
    "TrustError",
    "__version__",
    "builder_settings",
    "with_watermark",
]

_ERRORS = (
    *("TidegateError", "SqlError", "OptionsError", "RunError", "RefusedError"),
    *("LeaseHeldError", "TrustError"),
)
_HOMES = dict.fromkeys(_ERRORS, "tidegate.errors") | {
    "Answers": "tidegate.session",
    "Job": "tidegate.session",
    "Session": "tidegate.session",
    "builder_settings": "tidegate.session",
    "with_watermark": "tidegate.dataframes",
}


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    raise AttributeError(f"module 'tidegate' has no attribute '{name}'")


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOMES})
