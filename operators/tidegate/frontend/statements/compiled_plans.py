"""COMPILE PLAN and EXECUTE PLAN: statements kept in a file of JSON, to be run later (seed 002).

    COMPILE PLAN 'orders.json' FOR INSERT INTO minutes SELECT …;
    EXECUTE PLAN 'orders.json';

The document has the statements as they were written, so that a later release plans them as it then
knows best, and for each watermark on a source what Flink's ``watermarkParams`` have (FLIP-296).
These are what counts when the plan is run, whatever the statements say: they may be edited. Where a
source has none, as in a plan of before, the statements count.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

from tidegate.connectors.durations import parse_duration
from tidegate.errors import BindError, OptionsError, Position
from tidegate.frontend.ast.queries import Option, Text
from tidegate.frontend.ast.statements import (
    CreateTable,
    CreateView,
    ExecutePlan,
    SetOption,
    Statement,
    Unread,
)
from tidegate.frontend.expressions.clocks import is_own
from tidegate.frontend.syntax.datatypes import shown_type
from tidegate.frontend.tables.catalog import Catalog
from tidegate.plan.nodes import Job, Scan, WatermarkFilter
from tidegate.plan.tables import Table
from tidegate.plan.user_functions import UserFunction

VERSION: Final = 1
_STRATEGIES: Final = {"ON_EVENT": "on-event", "ON_PERIODIC": "on-periodic"}
_PARAMS: Final[Mapping[str, tuple[str, object]]] = {
    "emitStrategy": ("scan.watermark.emit.strategy", "ON_EVENT"),
    "alignGroupName": ("scan.watermark.alignment.group", None),
    "alignMaxDrift": ("scan.watermark.alignment.max-drift", "PT0S"),
    "alignUpdateInterval": ("scan.watermark.alignment.update-interval", "PT1S"),
    "sourceIdleTimeout": ("scan.watermark.idle-timeout", -1),
}
"""Flink's members: the options that they are, and what they have where nothing is said."""

Params = Mapping[str, Mapping[str, str | None]]
"""By table, in lower case: options, None for one that the table does not have."""


@dataclass(frozen=True, slots=True)
class CompiledPlan:
    """A plan to be written to ``path``; one that is there stays if ``keeps``."""

    path: str
    document: Mapping[str, Any]
    keeps: bool

    def write(self) -> str:
        """Writes it; gives what to tell. Raises OptionsError."""
        file = Path(self.path)
        if file.exists():
            if self.keeps or self._is_same(file):
                return f"{file} already exists and stays"
            raise OptionsError(
                f"COMPILE PLAN: {file} already exists, and is another plan",
                hint="write COMPILE PLAN '…' IF NOT EXISTS, or remove the file",
            )
        try:
            file.write_text(json.dumps(self.document, indent=2) + "\n", encoding="utf-8")
        except OSError as error:
            raise OptionsError(f"COMPILE PLAN: cannot write {file}: {error.strerror}") from None
        return f"wrote {file}"

    def _is_same(self, file: Path) -> bool:
        try:
            found = json.loads(file.read_text("utf-8"))
        except (OSError, ValueError):
            return False
        return bool(found == json.loads(json.dumps(self.document)))


def compiled(statements: Sequence[str], job: Job) -> dict[str, Any]:
    """The document of ``statements``, which are ``job``."""
    return {
        "planVersion": VERSION,
        "statements": list(statements),
        "sources": [
            {
                "table": table.name,
                "abilities": [
                    {
                        "type": "WatermarkPushDown",
                        "rowtime": node.column,
                        "watermarkExpr": node.strategy.text or node.strategy.sql,
                        "watermarkParams": _params_of(table),
                    }
                    for node in filters
                ],
            }
            for table, filters in _sources(job)
        ],
    }


def read(place: Position | None, path: str) -> tuple[str, Params]:
    """The SQL of a plan's file, and the options that its parameters say. Raises BindError."""
    try:
        document = json.loads(Path(path).read_text("utf-8"))
    except OSError as error:
        raise BindError(f"cannot read the plan {path}: {error.strerror}", place) from None
    except ValueError:
        raise BindError(f"{path} is not a plan: it is not JSON", place) from None
    try:
        version, statements = document["planVersion"], document["statements"]
        if version != VERSION:
            raise BindError(f"{path} is a plan of version {version}, not {VERSION}", place)
        text = ";\n".join(map(str, statements)) + ";\n"
        params = {
            str(source["table"]).lower(): _options(ability["watermarkParams"])
            for source in document.get("sources", ())
            for ability in source.get("abilities", ())
            if ability.get("watermarkParams") is not None
        }
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise BindError(
            f"{path} is not a plan: {type(error).__name__}: {error}",
            place,
            hint="COMPILE PLAN writes one",
        ) from None
    return text, params


def executed(statements: Sequence[Statement]) -> Text | None:
    """The path that a file's EXECUTE PLAN names; None where there is none.

    Raises BindError where other statements than SET stand beside it: a plan is a job of its own.
    """
    found = [part for part in statements if isinstance(part, ExecutePlan)]
    if not found:
        return None
    plan = found[0]
    others = [p for p in statements if p is not plan and not isinstance(p, SetOption | Unread)]
    if others:
        raise BindError(
            "EXECUTE PLAN stands alone in its file: all statements of a file are one job",
            others[0].span.place,
            hint="only SET may stand beside it",
        )
    return plan.path


def texts_of(catalog: Catalog) -> list[str]:
    """What has been declared, as statements: SET, then the others in their order.

    What runs by itself is no part of a plan; what an earlier call runs is a view.
    """
    texts = [each.span.shown for each in catalog.options]
    for entry in catalog.entries:
        match entry.written[0]:
            case CreateView(materialized=True, name=name, span=span):
                texts.append(f"CREATE VIEW {span.cut(name.span.start, span.end).shown}")
            case _ if isinstance(entry.means, UserFunction):
                texts.append(_with_source(entry.means))
            case _:
                texts += [statement.span.shown for statement in entry.written]
    return texts


def _with_source(function: UserFunction) -> str:
    """A function as a statement that has its source: a plan needs no module beside it."""
    types = ", ".join(shown_type(type_) for type_ in function.parameters)
    options = f"entry = '{function.entry}'" + ", vectorized = true" * function.vectorized
    return (
        f"CREATE FUNCTION {function.name}({types}) RETURNS {shown_type(function.returns)}"
        f" LANGUAGE python WITH ({options}) AS $plan$\n{function.code}\n$plan$"
    )


def with_params_of(table: CreateTable, params: Params) -> CreateTable:
    """``table`` with what ``params`` say of it in the place of its own options."""
    said = params.get(table.name.text.lower())
    if said is None:
        return table
    span = table.options.span
    new = [
        Option(Text(key, span), Text(value, span))
        for key, value in said.items()
        if value is not None
    ]
    items = (*_without(table.options.items, said), *new)
    return replace(table, options=replace(table.options, items=items))


def without_params(
    hints: Mapping[str, tuple[Option, ...]], params: Params
) -> dict[str, tuple[Option, ...]]:
    """``hints`` without what ``params`` say."""
    return {table: _without(given, params.get(table, {})) for table, given in hints.items()}


def _without(given: tuple[Option, ...], said: Mapping[str, str | None]) -> tuple[Option, ...]:
    """``given`` without the options that are ``said``."""
    return tuple(option for option in given if option.key.value.lower() not in said)


def _sources(job: Job) -> list[tuple[Table, list[WatermarkFilter]]]:
    """The tables that a job reads, and their watermark filters that the user declared."""
    found: dict[Table, list[WatermarkFilter]] = {}
    for sink in job.sinks:
        for node in sink.walk():
            if isinstance(node, Scan):
                found.setdefault(node.table, [])
            if isinstance(node, WatermarkFilter) and not (node.is_end or is_own(node)):
                table = next(part.table for part in node.walk() if isinstance(part, Scan))
                filters = found.setdefault(table, [])
                if node not in filters:
                    filters.append(node)
    return list(found.items())


def _params_of(table: Table) -> dict[str, object]:
    said = {name: table.option(option) for name, (option, _) in _PARAMS.items()}
    idle = parse_duration(said["sourceIdleTimeout"] or "0")
    return {
        "emitStrategy": "ON_PERIODIC" if said["emitStrategy"] == "on-periodic" else "ON_EVENT",
        "alignGroupName": said["alignGroupName"] or None,
        "alignMaxDrift": _iso(parse_duration(said["alignMaxDrift"] or "0")),
        "alignUpdateInterval": _iso(parse_duration(said["alignUpdateInterval"] or "1 s")),
        "sourceIdleTimeout": -(-idle // 1000) or -1,
    }


def _options(params: Mapping[str, object]) -> dict[str, str | None]:
    """The options that parameters are; what is as always is no option."""
    unknown = set(params) - set(_PARAMS)
    if unknown:
        raise ValueError(f"unknown watermarkParams {', '.join(sorted(unknown))}")
    found: dict[str, str | None] = {}
    for name, value in params.items():
        option, usual = _PARAMS[name]
        said: str | None = None if value == usual else str(value)
        if said is not None and name == "emitStrategy":
            said = _STRATEGIES[said]
        if said is not None and name == "sourceIdleTimeout":
            said = f"{int(said)} ms"
        found[option] = said
    return found


def _iso(us: int) -> str:
    """As Java writes a duration: ``PT1M30S``, ``PT0.2S``."""
    hours, rest = divmod(us, 3_600_000_000)
    minutes, rest = divmod(rest, 60_000_000)
    parts = [f"{hours}H" * (hours > 0), f"{minutes}M" * (minutes > 0)]
    seconds = f"{rest // 1_000_000}.{rest % 1_000_000:06}".rstrip("0").rstrip(".")
    parts.append(f"{seconds}S" * (rest > 0 or us == 0))
    return f"PT{''.join(parts)}"
