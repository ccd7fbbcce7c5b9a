"""The user documentation against the code: jobs compile; options, settings and links exist."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Final

import pytest
from pydantic import BaseModel

from tidegate import settings
from tidegate.cli import app
from tidegate.connectors.blackhole.connector import BlackholeOptions
from tidegate.connectors.datagen.orders import DatagenOptions
from tidegate.connectors.delta.options import DeltaSourceOptions
from tidegate.connectors.delta.sink import DeltaOptions
from tidegate.connectors.filesystem.options import (
    FilesystemOptions,
    FilesystemSinkOptions,
    FilesystemSourceOptions,
)
from tidegate.connectors.kafka.options import KafkaOptions, KafkaSinkOptions, KafkaSourceOptions
from tidegate.connectors.nexmark.events import NexmarkOptions
from tidegate.connectors.option_types import SourceOptions
from tidegate.connectors.postgres.options import PostgresOptions
from tidegate.connectors.print.connector import PrintOptions
from tidegate.connectors.registry import connectors, named
from tidegate.errors import OptionsError
from tidegate.frontend import compile as compile_sql
from tidegate.frontend import settings as job_settings

ROOT: Final = Path(__file__).parents[2]
PAGES: Final = (ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md")))
CONTRIBUTORS: Final = (ROOT / "operators" / "README.md", ROOT / "CONTRIBUTING.md")
_JOB: Final = re.compile(r"^```sql job\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_FENCED: Final = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)
_LINK: Final = re.compile(r"\]\(([^)\s]+)\)")
_CODE: Final = re.compile(r"`([^`]+)`")

Row = Mapping[str, str]


def _text(name: str) -> str:
    return (ROOT / "docs" / name).read_text(encoding="utf-8")


def _section(page: str, title: str) -> str:
    """The text below a heading, up to the next one of any level."""
    parts = re.split(r"^#+ (.*)$", _FENCED.sub("", _text(page)), flags=re.MULTILINE)
    sections = list(zip(parts[1::2], parts[2::2], strict=True))
    found = [text for heading, text in sections if heading == title]
    assert len(found) == 1, f"{page} has {len(found)} sections called '{title}'"
    return found[0]


def _rows(text: str, first: str) -> list[Row]:
    """The rows of all tables whose first column is called ``first``."""
    found: list[Row] = []
    names: list[str] = []
    for line in text.splitlines():
        cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
        if not line.startswith("|"):
            names = []
        elif not names:
            names = cells
        elif names[0] == first and not line.startswith("|---"):
            found.append(dict(zip(names, cells + [""] * len(names), strict=False)))
    return found


def _code(cell: str) -> str:
    match = _CODE.search(cell)
    return match[1] if match else ""


def _jobs() -> list[tuple[str, str]]:
    jobs = []
    for page in PAGES:
        text = page.read_text(encoding="utf-8")
        for match in _JOB.finditer(text):
            line = text.count("\n", 0, match.start()) + 2
            jobs.append((f"{page.relative_to(ROOT)}:{line}", match[1]))
    return jobs


def test_no_page_is_left_out() -> None:
    listed = _LINK.findall(_text("README.md"))
    pages = {page.name for page in PAGES[1:]} - {"README.md"}
    assert sorted(link for link in listed if "/" not in link) == sorted(pages)


def test_there_are_examples() -> None:
    assert len(_jobs()) >= 10


@pytest.mark.slow
@pytest.mark.parametrize(("place", "sql"), [pytest.param(*job, id=job[0]) for job in _jobs()])
def test_examples_compile(place: str, sql: str) -> None:
    assert compile_sql(sql, place).sinks


SOURCE: Final = SourceOptions
FILES: Final = FilesystemOptions
KAFKA: Final = KafkaOptions
PAGE_OF: Final[Mapping[str, str]] = dict.fromkeys(("Connection", "Source", "Sink"), "kafka.md")
SECTIONS: Final[Mapping[str, tuple[type[BaseModel], tuple[type[BaseModel], ...]]]] = {
    "Connection": (KAFKA, ()),
    "Source": (KafkaSourceOptions, (SOURCE, KAFKA)),
    "Sink": (KafkaSinkOptions, (KAFKA,)),
    "Every source": (SOURCE, ()),
    "Source and sink": (FilesystemSinkOptions, ()),
    "Source only": (FilesystemSourceOptions, (SOURCE, FILES)),
    "datagen": (DatagenOptions, (SOURCE,)),
    "nexmark": (NexmarkOptions, (SOURCE,)),
    "print": (PrintOptions, ()),
    "delta": (DeltaOptions, ()),
    "delta as a source": (DeltaSourceOptions, (SOURCE,)),
    "postgres": (PostgresOptions, ()),
    "blackhole": (BlackholeOptions, ()),
}
"""Section of connectors.md, or of `PAGE_OF`: its model, less what other sections describe."""


def _options_of(section: str) -> str:
    return _section(PAGE_OF.get(section, "connectors.md"), section)


NEEDED: Final = {
    "path": "p",
    "format": "json",
    "topic": "t",
    "properties.bootstrap.servers": "b:1",
    "nexmark.table.type": "bid",
    "host": "h",
    "database": "d",
    "table": "t",
}


def _same(model: type[BaseModel], other: type[BaseModel], name: str) -> bool:
    """Whether ``model`` has the option ``name`` as ``other`` has it."""
    found = [
        (field.annotation, field.metadata)
        for each in (model, other)
        for alias, field in ((f.alias or n, f) for n, f in each.model_fields.items())
        if alias == name
    ]
    return len(found) == 2 and found[0] == found[1]


def _fields(model: type[BaseModel]) -> dict[str, object]:
    """Options and defaults of a model; None stands for no default, too."""
    fields = {f.alias or name: f for name, f in model.model_fields.items()}
    return {n: None if f.is_required() else f.get_default() for n, f in fields.items()}


@pytest.mark.parametrize("section", SECTIONS)
def test_options_are_those_of_the_code(section: str) -> None:
    model, elsewhere = SECTIONS[section]
    known = {name for name in _fields(model) if not any(_same(model, o, name) for o in elsewhere)}
    documented = [_code(row["option"]) for row in _rows(_options_of(section), "option")]
    assert sorted(documented) == sorted(known)


@pytest.mark.parametrize("section", SECTIONS)
def test_defaults_are_those_of_the_code(section: str) -> None:
    model = SECTIONS[section][0]
    for row in _rows(_options_of(section), "option"):
        name, default = _code(row["option"]), row["default"]
        field = next(f for n, f in model.model_fields.items() if name == (f.alias or n))
        if default in ("required", "none", "empty"):
            expected = {"required": (None,), "none": (None,), "empty": ("", ())}[default]
            assert field.is_required() == (default == "required"), name
            assert field.is_required() or field.get_default() in expected, name
            continue
        needed = {n: v for n, v in NEEDED.items() if n in _fields(model)}
        if _fields(model).get("format"):
            needed.pop("format")  # it has one by itself
        written = {**needed, name: _code(default)}
        without = {key: value for key, value in written.items() if key != name}
        assert model.model_validate(written) == model.model_validate(without), name


def test_every_connector_has_its_section() -> None:
    described = {model for model, _ in SECTIONS.values()}
    models = {model for each in connectors() for model in (each.source, each.sink) if model}
    assert models <= described


@pytest.mark.parametrize(("section", "connector"), [
    ("Source and sink", "filesystem"),
    ("Source only", "filesystem"),
    ("datagen", "datagen"),
    ("nexmark", "nexmark"),
    ("delta", "delta"),
    ("postgres", "postgres"),
    ("Connection", "kafka"),
    ("Source", "kafka"),
    ("Sink", "kafka"),
])  # fmt: skip
def test_aliases_are_read(section: str, connector: str) -> None:
    for row in _rows(_options_of(section), "option"):
        for alias in _CODE.findall(row["also read as"]):
            assert named(connector).aliases[alias] == _code(row["option"])


def test_no_alias_is_forgotten() -> None:
    text = _text("connectors.md") + _text("kafka.md")
    for connector in connectors():
        for alias in (*connector.aliases, *connector.words, *connector.variants):
            assert f"`{alias}`" in text


def _settings() -> list[Row]:
    return _rows(_text("running.md"), "setting")


def test_settings_are_those_of_the_code() -> None:
    documented = [_code(row["setting"]) for row in _settings()]
    known = [*settings.KNOWN, *job_settings._OTHERS]
    assert sorted(documented) == sorted(known)


def test_defaults_of_settings_are_those_of_the_code() -> None:
    for row in _settings():
        name = _code(row["setting"])
        if name in settings.KNOWN:
            written, _ = settings.resolve({name: _code(row["default"])}, {})
            assert written == settings.Settings.model_validate({}), name


def test_variables_are_those_of_the_code() -> None:
    for row in _settings():
        if row.get("in the environment"):
            variable = _code(row["in the environment"])
            with pytest.raises(OptionsError, match=_code(row["setting"])):
                settings.resolve({}, {variable: "?"})


def test_commands_are_those_of_the_code() -> None:
    documented = {_code(row["command"]).split()[1] for row in _rows(_text("running.md"), "command")}
    commands = {c.name or getattr(c.callback, "__name__", "") for c in app.registered_commands}
    assert documented == commands


@pytest.mark.parametrize(
    "page", [*PAGES, *CONTRIBUTORS], ids=lambda page: str(page.relative_to(ROOT))
)
def test_links_lead_somewhere(page: Path) -> None:
    for link in _LINK.findall(_FENCED.sub("", page.read_text(encoding="utf-8"))):
        if "://" in link:
            continue
        path, _, anchor = link.partition("#")
        target = (page.parent / path) if path else page
        assert target.exists(), link
        if anchor:
            headings = re.findall(r"^#+ (.*)$", target.read_text(encoding="utf-8"), re.MULTILINE)
            anchors = {re.sub(r"[^\w\- ]", "", h.lower()).replace(" ", "-") for h in headings}
            assert anchor in anchors, link
