"""Settings of a job: ``SET`` in the file, overridden by ``--set`` on the command line."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from tidegate.connectors.durations import parse_duration
from tidegate.errors import BindError, OptionsError, did_you_mean
from tidegate.frontend.source import Source
from tidegate.frontend.syntax import SetOption

TIME_ZONE: Final = "table.local-time-zone"
_ZONE_NAMES: Final = ("timezone", "time zone", TIME_ZONE)


def _count(value: str) -> str:
    if not value.isdigit() or int(value) < 1:
        raise ValueError("expected a whole number from 1")
    return str(int(value))


def _duration(value: str) -> str:
    parse_duration(value)
    return value


def _switch(value: str) -> str:
    if value.lower() not in ("true", "false"):
        raise ValueError("expected true or false")
    return value.lower()


_KNOWN: Final[Mapping[str, Callable[[str], str]]] = {
    "tidegate.epoch.rows.max": _count,
    "tidegate.epoch.interval": _duration,
    "tidegate.vnodes": _count,
    "tidegate.parallelism": _count,
    "tidegate.watermark.pushdown": _switch,
    "pipeline.name": str,
    "pipeline.auto-watermark-interval": _duration,
    TIME_ZONE: str,
}


def checked(key: str, value: str) -> tuple[str, str]:
    """A setting in its own spelling. Raises ValueError; its second argument is the hint."""
    name = key.strip()
    if name.lower() in _ZONE_NAMES:
        name = TIME_ZONE
    if name.lower().startswith("spark."):
        return name, value
    check = _KNOWN.get(name.lower())
    if check is None:
        raise ValueError(f"unknown setting '{key}'", did_you_mean(name.lower(), _KNOWN))
    try:
        return name.lower(), check(value)
    except ValueError as error:
        raise ValueError(f"setting '{key}' = '{value}' is wrong: {error}", "") from None


def collect(
    source: Source, statements: list[SetOption], overrides: Mapping[str, str]
) -> dict[str, str]:
    """All settings; a later SET wins over an earlier one, an override over both."""
    settings: dict[str, str] = {}
    for statement in statements:
        option = statement.option
        try:
            name, value = checked(option.key.value, option.value.value)
        except ValueError as error:
            message, hint = error.args
            span = option.key.span if message.startswith("unknown") else option.value.span
            raise BindError(message, source.position(span), hint=hint) from None
        settings[name] = value
    for key, given in overrides.items():
        try:
            name, value = checked(key, given)
        except ValueError as error:
            message, hint = error.args
            raise OptionsError(f"--set: {message}", hint=hint) from None
        settings[name] = value
    return settings
