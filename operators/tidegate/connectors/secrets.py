"""Secrets by reference: ``${env:NAME}`` and ``${file:/path}`` in the values of options.

Only the reference travels, in plans, checkpoints and to executors; it is resolved in the process
that needs the value, at the moment when a client is made. What is resolved is never logged.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from tidegate.errors import OptionsError
from tidegate.policy import policy

AS_REFERENCE: Final = (
    "a secret must be a reference: '${env:NAME}' or '${file:/path}', since options are shown"
    " in plans and kept in checkpoints"
)
"""What is wrong with a secret that is written down."""
IN_URI: Final = (
    "there are credentials in it: leave them out; a store's come from the environment"
    " (AWS_ACCESS_KEY_ID …), others have options of their own"
)
"""What is wrong with a URI that has a secret, in whatever option."""
_OF_URI: Final = re.compile(
    r"://[^/?\#@,\s]*:(?!\d+(?:[/?\#,]|$))[^@\s]+@"  # KEY:SECRET@, a secret may have slashes
    r"|://\S*[?&][^=&\s]*(?:pass|pwd|secret|token|credential|access.?key|signature|\bsig)"
    r"[^=&\s]*=[^&\s]",
    re.IGNORECASE,
)
_REFERENCE: Final = re.compile(r"\$\{(env|file):([^}]+)\}")


class SecretError(ValueError):
    """An option is wrong that may be a secret: what is said of it must not repeat its value."""


def has_reference(text: str) -> bool:
    """Whether ``text`` names a secret."""
    return _REFERENCE.search(text) is not None


def has_credentials(text: str) -> bool:
    """Whether ``text`` has a URI with a password or key written in it, as far as its form tells."""
    return _OF_URI.search(_REFERENCE.sub("", text)) is not None


def check_references(text: str) -> None:
    """Raises OptionsError for a reference that the operator does not allow (`policy`)."""
    for match in _REFERENCE.finditer(text):
        _check_reference(match[1], match[2].strip())


def resolve(text: str) -> str:
    """``text`` with every reference replaced by what it names; of a file without its last newline.

    Raises OptionsError when there is no such variable or file, or it is not allowed.
    """
    return resolved(text)[0]


def resolved(text: str) -> tuple[str, set[str]]:
    """As `resolve`, and what must never be told: what references stood for."""
    secrets: set[str] = set()

    def value(match: re.Match[str]) -> str:
        found = _value(match[0], match[1], match[2].strip())
        secrets.add(found)
        return found

    return _REFERENCE.sub(value, text), secrets - {""}


def masked(text: str, secrets: Iterable[str]) -> str:
    """``text`` without ``secrets``. The longest go first: one may be a part of another."""
    for secret in sorted(secrets, key=len, reverse=True):
        text = text.replace(secret, "***")
    return text


def _check_reference(kind: str, name: str) -> None:
    if kind == "env":
        policy().check_variable(name)
    else:
        policy().check_path(f"${{file:{name}}}", name)


def _value(reference: str, kind: str, name: str) -> str:
    _check_reference(kind, name)
    if kind == "env":
        if name not in os.environ:
            raise OptionsError(
                f"{reference}: there is no environment variable '{name}'",
                hint="set it for the driver and for the executors",
            )
        return os.environ[name]
    try:
        return Path(name).read_text(encoding="utf-8").removesuffix("\n")
    except (OSError, UnicodeDecodeError, ValueError) as error:
        reason = getattr(error, "strerror", None) or "it is not UTF-8"
        raise OptionsError(
            f"{reference}: the file cannot be read: {reason}",
            hint="it must be there for the driver and on every executor",
        ) from None
