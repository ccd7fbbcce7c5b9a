"""The WITH options of a table, by what its connector says of them.

Names are Flink's; RisingWave's are read as aliases. `validate_options` gives what a
`tidegate.plan.nodes.Table` keeps: (name, value) pairs as text, checked, sorted, in the
connector's own spelling; only what the user wrote, so defaults stay in one place, the connector's
models. An option that would silently do nothing is refused by name.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from pydantic import ValidationError

from tidegate.connectors.connector import Connector, Role
from tidegate.connectors.option_types import OptionProblem, Options
from tidegate.connectors.registry import connectors, found, named
from tidegate.connectors.secrets import (
    IN_URI,
    SecretError,
    check_references,
    has_credentials,
    resolve,
)
from tidegate.errors import OptionsError, did_you_mean
from tidegate.policy import policy

_IDLE_TIMEOUT: Final = "scan.watermark.idle-timeout"


def validate_options(
    connector: str, role: Role, raw: Mapping[str, str]
) -> tuple[tuple[str, str], ...]:
    """Checks the WITH options of a table; gives them as (name, value), sorted by name.

    ``raw`` is as written; names are compared in lower case. ``connector`` need not be in it. The
    connector itself is not part of the result, nor are options of the other role. Raises
    OptionProblem.
    """
    of = named(connector)
    model, other = (of.source, of.sink) if role == "source" else (of.sink, of.source)
    if model is None:
        fit = sorted(each.name for each in connectors() if getattr(each, role))
        raise OptionProblem(
            "connector",
            f"connector '{of.name}' cannot be used as a {role}",
            hint=f"as a {role}: {', '.join(fit)}",
        )
    known = _names(model)
    values: dict[str, str] = {}
    written: dict[str, str] = {}
    for option, value in raw.items():
        name = of.canonical(option)
        if name == "connector":
            continue
        if name in values:
            raise OptionProblem(option, f"option '{option}' repeats option '{written[name]}'")
        if of.passes_on and name.startswith(of.passes_on):
            _check_passed_on(of, option, name, value)
        elif name not in known:
            if other is not None and name in _names(other):
                continue  # a table that is read here and written there
            message = f"unknown option '{option}' of a '{of.name}' {role}"
            raise OptionProblem(option, message, hint=did_you_mean(option.lower(), known))
        values[name], written[name] = value, option
    try:
        model.model_validate(values)
        for name, value in values.items():
            if has_credentials(value):
                message = f"option '{written[name]}' is wrong: {IN_URI}"
                raise OptionProblem(written[name], message, secret=True)
            _check_allowed(of, written[name], name, value, passed_on=name not in known)
        return tuple(sorted(values.items()))
    except ValidationError as error:
        problem = _problem(error, model, of.name, role, written, values)
    # Here, not above: pydantic's error would be this one's context, and keep the frames that it
    # holds, engines in them, beyond the reach of Python's collector.
    raise problem


def written_secrets(raw: Mapping[str, str]) -> list[str]:
    """The values of ``raw`` options that nobody shall see, whatever the connector is."""
    return [
        value
        for name, value in raw.items()
        if value
        and (
            has_credentials(value)
            or any(each.is_secret(name.strip().lower(), value) for each in connectors())
        )
    ]


def canonical(connector: str, option: str) -> str:
    """`Connector.canonical`, be there such a one or not."""
    of = found(connector)
    return option.strip().lower() if of is None else of.canonical(option)


def _check_passed_on(connector: Connector, option: str, name: str, value: str) -> None:
    try:
        connector.check_passed_on(name, value)
    except ValueError as error:
        message = f"option '{option}' is wrong: {error}"
        raise OptionProblem(option, message, secret=isinstance(error, SecretError)) from None


def _check_allowed(
    connector: Connector, option: str, name: str, value: str, *, passed_on: bool
) -> None:
    """Whether the operator allows an option with this value. Raises OptionProblem."""
    allowed = policy()
    try:
        check_references(value)
        if passed_on:
            allowed.check_property(name)
        if connector.runs_code(name):
            allowed.check_code(f"option '{option}'")
        if allowed.paths is not None and value and connector.is_path(name, value):
            allowed.check_path(f"'{option}' = '{value}'", resolve(value))
    except OptionsError as error:
        raise OptionProblem(option, error.message, hint=error.hint) from None


def _names(model: type[Options]) -> set[str]:
    return {field.alias or name for name, field in model.model_fields.items()}


def _problem(
    error: ValidationError,
    model: type[Options],
    connector: str,
    role: Role,
    written: Mapping[str, str],
    values: Mapping[str, str],
) -> OptionProblem:
    first = error.errors()[0]
    name = str(first["loc"][0]) if first["loc"] else "connector"
    if name in model.model_fields:  # a default that does not go with what is written
        name = model.model_fields[name].alias or name
    if first["type"] == "missing":
        return OptionProblem(
            name,
            f"a '{connector}' {role} needs the option '{name}'",
            hint=f"add '{name}' = '…' to WITH (…)",
        )
    option = written.get(name, name)
    if name == _IDLE_TIMEOUT and first["type"] != "value_error":
        return OptionProblem(
            option,
            f"option '{option}' is not supported by connector '{connector}'",
            hint="leave it out: only kafka tables and watched files have idle splits",
        )
    reason = str(first["msg"]).removeprefix("Value error, ")
    if not first["loc"]:  # options that do not go together
        named = next((key for key in written if f"'{key}'" in reason), "connector")
        return OptionProblem(written.get(named, named), f"a '{connector}' {role}: {reason}")
    if isinstance(first.get("ctx", {}).get("error"), SecretError):
        return OptionProblem(option, f"option '{option}' is wrong: {reason}", secret=True)
    message = f"option '{option}' = '{values.get(name, '')}' is wrong: {reason}"
    return OptionProblem(option, message)
