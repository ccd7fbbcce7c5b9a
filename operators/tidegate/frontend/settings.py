"""Settings of a job: ``SET`` in the file, overridden by ``--set`` on the command line."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Final

from tidegate.connectors.durations import parse_duration
from tidegate.errors import BindError, OptionsError, did_you_mean
from tidegate.frontend.ast.queries import Option
from tidegate.frontend.ast.statements import SetOption
from tidegate.frontend.failures import Failures
from tidegate.settings import KNOWN, check_spark, resolve

TIME_ZONE: Final = "table.local-time-zone"
_ZONE_NAMES: Final = ("timezone", "time zone", TIME_ZONE)


def _duration(value: str) -> str:
    parse_duration(value)
    return value


def _boolean(value: str) -> str:
    if value.strip().lower() not in ("true", "false"):
        raise ValueError("write true or false")
    return value.strip().lower()


_OTHERS: Final[Mapping[str, Callable[[str], str]]] = {
    "pipeline.name": str,
    "tidegate.ledger.table": str,
    "pipeline.auto-watermark-interval": _duration,
    "pipeline.watermark-alignment.allow-unaligned-source-splits": _boolean,
    "table.exec.source.idle-timeout": _duration,
    "table.exec.state.ttl": _duration,
    TIME_ZONE: str,
}


def checked(key: str, value: str) -> tuple[str, str]:
    """A setting in its own spelling. Raises ValueError; its second argument is the hint."""
    name = key.strip()
    if name.lower() in _ZONE_NAMES:
        name = TIME_ZONE
    try:
        if name.lower().startswith("spark."):
            name = f"spark.{name[len('spark.') :]}"  # behind that Spark tells letters apart
            check_spark(name, value)
            return name, value
        if name.lower() in KNOWN:
            resolve({name.lower(): value}, {})
            return name.lower(), value
    except OptionsError as error:
        raise ValueError(error.message, error.hint) from None
    check = _OTHERS.get(name.lower())
    if check is None:
        known = (*KNOWN, *_OTHERS)
        raise ValueError(f"unknown setting '{key}'", did_you_mean(name.lower(), known))
    try:
        return name.lower(), check(value)
    except ValueError as error:
        raise ValueError(f"setting '{key}' = '{value}' is wrong: {error}", "") from None


def collect(
    statements: Iterable[SetOption], overrides: Mapping[str, str], failures: Failures
) -> dict[str, str]:
    """All settings; a later SET wins over an earlier one, an override over both."""
    settings: dict[str, str] = {}
    for statement in statements:
        with failures.noted():
            settings |= [_said(statement.option)]
    for key, given in overrides.items():
        try:
            name, value = checked(key, given)
        except ValueError as error:
            message, hint = error.args
            raise OptionsError(f"--set: {message}", hint=hint) from None
        settings[name] = value
    return settings


def _said(option: Option) -> tuple[str, str]:
    """A setting of SET. Raises BindError."""
    try:
        return checked(option.key.value, option.value.value)
    except ValueError as error:
        message, hint = error.args
        about_name = message.startswith("unknown") or message.endswith("operator allows")
        span = option.key.span if about_name else option.value.span
        raise BindError(message, span.place, hint=hint) from None
