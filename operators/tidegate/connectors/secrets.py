"""Secrets by reference: ``${env:NAME}`` and ``${file:/path}`` in the values of options.

Only the reference travels, in plans, checkpoints and to executors; it is resolved in the process
that needs the value, at the moment when a client is made. What is resolved is never logged.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Final

from tidegate.errors import OptionsError

_REFERENCE: Final = re.compile(r"\$\{(env|file):([^}]+)\}")


def has_reference(text: str) -> bool:
    """Whether ``text`` names a secret."""
    return _REFERENCE.search(text) is not None


def resolve(text: str) -> str:
    """``text`` with every reference replaced by what it names; of a file without its last newline.

    Raises OptionsError when there is no such variable or file.
    """

    def value(match: re.Match[str]) -> str:
        kind, name = match[1], match[2].strip()
        if kind == "env":
            if name not in os.environ:
                raise OptionsError(
                    f"{match[0]}: there is no environment variable '{name}'",
                    hint="set it for the driver and for the executors",
                )
            return os.environ[name]
        try:
            return Path(name).read_text(encoding="utf-8").removesuffix("\n")
        except (OSError, UnicodeDecodeError) as error:
            reason = getattr(error, "strerror", None) or "it is not UTF-8"
            raise OptionsError(
                f"{match[0]}: the file cannot be read: {reason}",
                hint="it must be there for the driver and on every executor",
            ) from None

    return _REFERENCE.sub(value, text)
