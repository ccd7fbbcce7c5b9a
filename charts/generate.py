"""Makes values.schema.json and README.md of the chart from values.yaml; ``make chart`` runs it.

    python charts/generate.py [--check]

A value is described by the comment above it that begins with ``# --``. Its type is that of its
default; what else must hold of it is in `RULES`. With ``--check`` nothing is written, and what
differs is named.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import yaml

CHART: Final = Path(__file__).parent / "tidegate"
_MARK: Final = "# -- "
_QUANTITY: Final = r"^\d+(\.\d+)?(m|k|Ki|M|Mi|G|Gi|T|Ti)?$"
_JVM: Final = r"^\d+[kmgKMG]$"
_DIGEST: Final = r"^(sha256:[0-9a-f]{64})?$"
_PULL: Final = ["Always", "IfNotPresent", "Never"]

RULES: Final[dict[str, dict[str, Any]]] = {
    "deployMode": {"enum": ["statefulset", "operator"]},
    "defaults.executors": {"minimum": 1, "maximum": 1000},
    "defaults.executorCores": {"minimum": 1, "maximum": 64},
    "defaults.executorHeap": {"pattern": _JVM},
    "defaults.executorOverhead": {"pattern": _JVM},
    "defaults.driverHeap": {"pattern": _JVM},
    "defaults.settings": {
        "additionalProperties": {"type": ["string", "number", "boolean"]},
    },
    "defaults.spread": {"enum": ["DoNotSchedule", "ScheduleAnyway", ""]},
    "defaults.terminationGracePeriodSeconds": {"minimum": 1},
    "s3.endpoint": {"pattern": "^(https?://[^@]+)?$"},
    "s3.region": {"pattern": "^[A-Za-z0-9-]*$"},
    "kafka.replicas": {"enum": [1, 3]},
    "kafka.topics": {"additionalProperties": {"type": "integer", "minimum": 1}},
    "kafka.heap": {"pattern": _JVM},
    "kafka.storage": {"pattern": _QUANTITY},
    "minio.storage": {"pattern": _QUANTITY},
    "minio.bucket": {"pattern": "^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$"},
    "demo.rate": {"minimum": 1},
    "metrics.port": {"minimum": 1024, "maximum": 65535},
}
"""By the place of a value, or by its last name: what must hold besides its type."""
_BY_NAME: Final[dict[str, dict[str, Any]]] = {
    "pullPolicy": {"enum": _PULL},
    "digest": {"pattern": _DIGEST},
    "tag": {"type": ["string", "number"]},
}
_EMPTY_LISTS: Final[dict[str, dict[str, Any]]] = {"pullSecrets": {"type": "string"}}


@dataclass(frozen=True, slots=True)
class Value:
    """A value of the file. ``children`` of a mapping that is not empty."""

    path: str
    default: Any
    text: str
    children: tuple[Value, ...]

    @property
    def name(self) -> str:
        return self.path.rpartition(".")[2]

    def walk(self) -> Iterator[Value]:
        """This one and all below it."""
        yield self
        for child in self.children:
            yield from child.walk()


def values(text: str) -> tuple[Value, ...]:
    """The values of ``values.yaml``. Raises SystemExit for one that is not described."""
    lines = text.splitlines()
    return tuple(_values(yaml.compose(text), lines, ""))


def _values(node: yaml.Node | None, lines: list[str], above: str) -> Iterator[Value]:
    assert isinstance(node, yaml.MappingNode)
    for key, content in node.value:
        path = f"{above}.{key.value}".removeprefix(".")
        described = _comment(lines, key.start_mark.line)
        nested = isinstance(content, yaml.MappingNode) and bool(content.value)
        block = nested and not content.flow_style and not described
        children = tuple(_values(content, lines, path)) if block else ()
        if not children and not described:
            raise SystemExit(f"values.yaml: {path} is not described by a comment '{_MARK}'")
        default = yaml.safe_load(yaml.serialize(content))
        yield Value(path, default, described, children)


def _comment(lines: list[str], line: int) -> str:
    """The comment above a line, from its mark on."""
    found: list[str] = []
    while line and lines[line - 1].strip().startswith("#"):
        line -= 1
        found.insert(0, lines[line].strip())
        if found[0].startswith(_MARK):
            first, *rest = found
            return " ".join([first.removeprefix(_MARK), *(each.lstrip("# ") for each in rest)])
    return ""


def schema(found: tuple[Value, ...]) -> dict[str, Any]:
    """The schema of all values."""
    properties = {value.name: _schema(value) for value in found}
    job = {
        "sql": {"type": "string", "description": "The job: statements of SQL, as templates."},
        "existingConfigMap": {
            "type": "string",
            "description": "A ConfigMap whose key job.sql has them.",
        },
        **properties["defaults"]["properties"],
    }
    properties["jobs"]["additionalProperties"] = {
        "type": "object", "properties": job, "additionalProperties": False,
    }  # fmt: skip
    properties["global"] = {"type": "object"}
    return {
        "$schema": "http://json-schema.org/draft-07/schema#",
        "type": "object",
        "properties": properties,
        "additionalProperties": False,
    }


def _schema(value: Value) -> dict[str, Any]:
    if value.children:
        return {
            "type": "object",
            "properties": {child.name: _schema(child) for child in value.children},
            "additionalProperties": False,
        }
    found: dict[str, Any] = {"description": value.text, **_type(value)}
    return {**found, **_BY_NAME.get(value.name, {}), **RULES.get(value.path, {})}


def _type(value: Value) -> dict[str, Any]:
    match value.default:
        case bool():
            return {"type": "boolean"}
        case int():
            return {"type": "integer"}
        case str():
            return {"type": "string"}
        case list():
            items = _EMPTY_LISTS.get(value.name, {"type": "object"})
            return {"type": "array", "items": items}
        case dict():
            return {"type": "object"}
    raise SystemExit(f"values.yaml: {value.path} has a default of no known type")


def readme(found: tuple[Value, ...]) -> str:
    """The chart's README.md."""
    rows = [
        f"| `{value.path}` | `{json.dumps(value.default)}` | {value.text} |"
        for top in found
        for value in top.walk()
        if not value.children
    ]
    head = (CHART / "README.head.md").read_text()
    return head + "\n".join(["| value | default | meaning |", "|---|---|---|", *rows]) + "\n"


def main() -> None:
    """Writes the files, or compares them."""
    found = values((CHART / "values.yaml").read_text())
    made = {
        CHART / "values.schema.json": json.dumps(schema(found), indent=2) + "\n",
        CHART / "README.md": readme(found),
    }
    stale = [path for path, text in made.items() if not path.exists() or path.read_text() != text]
    if "--check" in sys.argv[1:]:
        if stale:
            raise SystemExit(
                f"make chart: {', '.join(path.name for path in stale)} must be made anew"
            )
        return
    for path in stale:
        path.write_text(made[path])


if __name__ == "__main__":
    main()
