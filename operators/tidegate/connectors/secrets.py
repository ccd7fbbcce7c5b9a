"""Secrets by reference: ``${env:NAME}`` and ``${file:/path}`` in the values of options.

Only the reference travels, in plans, checkpoints and to executors; it is resolved in the process
that needs the value, at the moment when a client is made. What is resolved is never logged.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final
from urllib.parse import quote

from tidegate.errors import OptionsError, RunError, TidegateError
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
_SECRET: Final = re.compile(
    r"secret|passw|passphrase|token|credential|access\.?key|user-info|jaas|\.pem$", re.IGNORECASE
)
_NO_SECRET: Final = re.compile(r"(file|path|location|provider|enabled|url|uri)$", re.IGNORECASE)
_SAID: Final = re.compile(
    r"""(["'`])(?P<quoted>[\w.-]+)\1\s*(?:==?|\bTO\b)?\s*(?P<text>'(?:[^']|'')*')"""
    r"""|\b(?P<bare>[\w.-]+)\s*(?:==?|\bTO\b)\s*(?P<of_bare>'(?:[^']|'')*')"""
    r"""|\bSET\s+(["'`]?)(?P<set>[\w.-]+)\6\s*(?:==?|\bTO\b)\s*(?P<word>[^\s'";]+)""",
    re.IGNORECASE,
)
"""A name and its value, in WITH, SET and OPTIONS; the sign between them may be forgotten."""
_TEXT: Final = re.compile(r"'(?:[^']|'')*'")
_SHORT: Final = 4
"""Of fewer characters, a secret cannot be told from other words."""
_OF_STORES: Final = ("AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "PGPASSWORD")
_PLAIN: Final = re.compile(r"user(_?name)?$|host|server|broker|topic|region|url$", re.IGNORECASE)
"""Names of variables and files that hold what messages need: hidden, they would say nothing."""
_seen: Final[set[str]] = set()
"""What references of this process have stood for."""


class SecretError(ValueError):
    """An option is wrong that may be a secret: what is said of it must not repeat its value."""


def has_reference(text: str) -> bool:
    """Whether ``text`` names a secret."""
    return _REFERENCE.search(text) is not None


def has_credentials(text: str) -> bool:
    """Whether ``text`` has a URI with a password or key written in it, as far as its form tells."""
    return _OF_URI.search(_REFERENCE.sub("", text)) is not None


def check_references(text: str) -> None:
    """Raises OptionsError for a reference that the operator does not allow (`policy`).

    From here on `hidden` hides what they stand for, as far as it is here.
    """
    for match in _REFERENCE.finditer(text):
        _check_reference(match[1], match[2].strip())
        if match[1] == "env" or Path(match[2].strip()).is_file():  # else it may have no end
            with suppress(OptionsError):
                _value(match[0], match[1], match[2].strip())


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


def is_secret_name(name: str) -> bool:
    """Whether a setting or option holds a secret, as far as its name tells."""
    return bool(_SECRET.search(name)) and not _NO_SECRET.search(name)


def starred(sql: str) -> str:
    """A text of SQL, in which each character of what may be a secret that is written down is a
    star: for lines that errors show, whatever they are about."""

    def of_name(match: re.Match[str]) -> str:
        name = match["quoted"] or match["bare"] or match["set"]
        value = match["text"] or match["of_bare"] or match["word"]
        if not is_secret_name(name) or has_reference(value):
            return match[0]
        return match[0][: -len(value)] + _stars(value)

    def of_uri(match: re.Match[str]) -> str:
        return _stars(match[0]) if has_credentials(match[0]) else match[0]

    return _TEXT.sub(of_uri, _SAID.sub(of_name, sql))


def _stars(text: str) -> str:
    """Line ends stay, and the quotes around it."""
    quote_ = "'" if text.startswith("'") else ""
    return quote_ + re.sub(r"[^\n]", "*", text.removeprefix("'").removesuffix("'")) + quote_


def hidden(text: str) -> str:
    """``text`` without anything that a reference of this process has stood for, nor what stores
    know us by: for whatever leaves the process for people, a log or a file."""
    known = {*_seen, *(os.environ.get(name, "") for name in _OF_STORES)}
    known |= {line for secret in known for line in secret.splitlines()}
    # Of user:password the latter, too; ports are none.
    known |= {each.partition(":")[2] for each in known if not each.rpartition(":")[2].isdigit()}
    known |= {quote(each, "") for each in known}
    return masked(text, (each for each in known if len(each) >= _SHORT))


@contextmanager
def without_secrets() -> Iterator[None]:
    """Errors from the block, and what they come from, tell nothing that is `hidden`."""
    try:
        yield
    except Exception as error:
        if not _cleaned(error):
            raise RunError(hidden(f"{type(error).__name__}: {error}")) from None
        raise


def _cleaned(error: BaseException) -> bool:
    """Takes secrets out of ``error``, and away the causes from which they cannot be taken; whether
    it could. A line of SQL that ours show is as it was written, with references."""
    if isinstance(error, TidegateError):
        error.message, error.detail, error.hint = map(
            hidden, (error.message, error.detail, error.hint)
        )
    error.args = tuple(hidden(each) if isinstance(each, str) else each for each in error.args)
    if error.__cause__ is not None and not _cleaned(error.__cause__):
        error.__cause__ = None
    if error.__context__ is not None and not _cleaned(error.__context__):
        error.__context__ = None
    if isinstance(error, TidegateError):
        return True
    try:
        text = str(error)
    except Exception:  # Java's errors ask Java, which may be gone
        return False
    return hidden(text) == text


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
        return _noted(name, os.environ[name])
    try:
        return _noted(name, Path(name).read_text(encoding="utf-8").removesuffix("\n"))
    except (OSError, UnicodeDecodeError, ValueError) as error:
        reason = getattr(error, "strerror", None) or "it is not UTF-8"
        raise OptionsError(
            f"{reference}: the file cannot be read: {reason}",
            hint="it must be there for the driver and on every executor",
        ) from None


def _noted(name: str, value: str) -> str:
    if is_secret_name(name) or not _PLAIN.search(name):
        _seen.add(value)
    return value
