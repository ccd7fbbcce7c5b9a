"""Each check of the tree finds a planted violation, and is silent without one."""

from __future__ import annotations

from pathlib import Path

import pytest

from tidy.checks import (
    check_connectors,
    check_dead_modules,
    check_lengths,
    check_makefile,
    check_size,
    check_spark,
    check_twins,
    check_untyped,
    check_wall_clock,
    check_words,
)
from tidy.layers import check_cycles, check_layers, check_oracle

PACKAGE = "operators/tidegate"


def plant(root: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return root


def module(root: Path, name: str, text: str) -> Path:
    """A tree with the modules that the cases import, and one more."""
    known = ["types", "clock", "frontend/binder", "spark/source", "executor/sort", "plan/nodes"]
    known += ["ports", "connectors/kafka", "engine/engine", "epochs/commit"]
    files = {f"{PACKAGE}/{other}.py": "" for other in known}
    return plant(root, {**files, f"{PACKAGE}/{name}.py": text})


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("executor/sort", "import pyspark.sql", "only spark may import pyspark.sql"),
        ("executor/sort", "from sqlglot import exp", "only frontend may import sqlglot"),
        ("executor/sort", "import confluent_kafka", "only connectors may import"),
        ("executor/sort", "from tidegate.connectors import kafka", "must not import"),
        ("executor/sort", "from tidegate.spark.source import x", "must not import"),
        ("executor/sort", "from tidegate.epochs import commit", "must not import"),
        ("epochs/commit", "import pyspark", "only spark may import pyspark"),
        ("epochs/commit", "import tidegate.spark.source", "epochs must not import"),
        ("executor/sort", "def f():\n    from tidegate.frontend import binder", "must not import"),
        ("executor/sort", "from ..frontend import binder", "must not import"),
        ("types", "import tidegate.clock", "types must not import tidegate.clock"),
        ("plan/nodes", "import tidegate.executor.sort", "plan must not import"),
        ("connectors/kafka", "import tidegate.executor.sort", "connectors must not import"),
        ("frontend/binder", "import tidegate.spark.source", "frontend must not import"),
        ("cli", "import pyspark", "only spark may import pyspark"),
        ("session", "from pyspark.sql import SparkSession", "only spark may import"),
        ("somewhere", "import tidegate.types", "somewhere must not import tidegate.types"),
    ],
)
def test_layers_finds(tmp_path: Path, name: str, text: str, said: str) -> None:
    violations = list(check_layers(module(tmp_path, name, text)))
    assert len(violations) == 1
    assert said in violations[0]
    assert violations[0].startswith(f"{PACKAGE}/{name}.py:")


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("executor/sort", "from tidegate.ports import SourceChunk\nimport pyarrow"),
        ("executor/sort", "from tidegate.plan.nodes import Sort\nimport tidegate.types"),
        ("connectors/kafka", "import confluent_kafka\nfrom tidegate.engine import engine"),
        ("frontend/binder", "import sqlglot\nfrom tidegate.plan import nodes"),
        ("spark/source", "import pyspark\nfrom tidegate.executor import sort"),
        ("cli", "import tidegate.spark.source\nimport tidegate.frontend.binder\nimport typer"),
    ],
)
def test_layers_is_silent(tmp_path: Path, name: str, text: str) -> None:
    assert list(check_layers(module(tmp_path, name, text))) == []


def test_cycles(tmp_path: Path) -> None:
    files = {
        f"{PACKAGE}/a.py": "import tidegate.b",
        f"{PACKAGE}/b.py": "from tidegate import c",
        f"{PACKAGE}/c.py": "def later():\n    import tidegate.a\n",
    }
    assert list(check_cycles(plant(tmp_path, files))) == []
    for text in ("import tidegate.a", "if TYPE_CHECKING:\n    from tidegate.a import A\n"):
        plant(tmp_path, {f"{PACKAGE}/c.py": text})
        assert list(check_cycles(tmp_path)) == [
            "cycle: tidegate.a → tidegate.b → tidegate.c → tidegate.a"
        ]


def test_oracle(tmp_path: Path) -> None:
    plant(tmp_path, {"tests/oracle/a.py": "import json\nfrom oracle.b import x"})
    assert list(check_oracle(tmp_path)) == []
    plant(tmp_path, {"tests/oracle/b.py": "import pyarrow as pa\nfrom tidegate.types import END"})
    assert len(list(check_oracle(tmp_path))) == 2


def test_twins(tmp_path: Path) -> None:
    files = {
        f"{PACKAGE}/__init__.py": "",
        f"{PACKAGE}/types.py": "",
        f"{PACKAGE}/executor/sort.py": "",
        f"{PACKAGE}/executor/base.py": "",
        f"{PACKAGE}/spark/source.py": "",
        "tests/unit/test_types.py": "",
    }
    plant(tmp_path, files)
    reasons = {f"{PACKAGE}/executor/base.py": "a port"}
    assert list(check_twins(tmp_path, reasons)) == [
        f"{PACKAGE}/executor/sort.py: has no twin tests/unit/executor/test_sort.py"
    ]
    plant(tmp_path, {"tests/unit/executor/test_sort.py": ""})
    assert list(check_twins(tmp_path, reasons)) == []
    assert "is gone" in "".join(check_twins(tmp_path, {**reasons, "operators/gone.py": "x"}))


@pytest.mark.parametrize(
    "text",
    [
        "import time\nt = time.time()",
        "import time\nwait = time.sleep",
        "from time import monotonic",
        "import datetime\nx = datetime.datetime.now()",
        "from datetime import datetime\nx = datetime.utcnow()",
        "from datetime import date\nx = date.today()",
        "import random\nx = random.choice([1])",
        "import random\nx = random.Random()",
        "from random import shuffle",
        "import numpy as np\nx = np.random.rand(3)",
        "import numpy as np\nx = np.random.default_rng()",
    ],
)
def test_wall_clock_finds(tmp_path: Path, text: str) -> None:
    plant(tmp_path, {f"{PACKAGE}/clock.py": text})
    assert list(check_wall_clock(tmp_path)) == []
    plant(tmp_path, {f"{PACKAGE}/executor/sort.py": text})
    assert len(list(check_wall_clock(tmp_path))) == 1


def test_wall_clock_is_silent(tmp_path: Path) -> None:
    text = "import random\nimport datetime\nr = random.Random(7)\nr.choice([1])\nrow.time()\n"
    text += "t = datetime.datetime.fromtimestamp(0, datetime.UTC)\n"
    plant(tmp_path, {f"{PACKAGE}/executor/sort.py": text})
    assert list(check_wall_clock(tmp_path)) == []


def test_dead_modules(tmp_path: Path) -> None:
    files = {
        "pyproject.toml": '[project]\nscripts = { tidegate = "tidegate.cli:main" }\n',
        f"{PACKAGE}/__init__.py": "",
        f"{PACKAGE}/cli.py": "from tidegate.plan import nodes\nNAME = 'tidegate.plan.named'",
        f"{PACKAGE}/session.py": "",
        f"{PACKAGE}/plan/nodes.py": "",
        f"{PACKAGE}/plan/named.py": "",
        f"{PACKAGE}/plan/shown.py": "",
        "jobs/orders.py": "import tidegate.plan.shown",
    }
    plant(tmp_path, files)
    assert list(check_dead_modules(tmp_path)) == []
    plant(tmp_path, {f"{PACKAGE}/plan/alone.py": "import tidegate.plan.alone"})
    assert list(check_dead_modules(tmp_path)) == [f"{PACKAGE}/plan/alone.py: nothing imports it"]


def test_lengths(tmp_path: Path) -> None:
    long_file, long_function = "x = 1\n" * 401, "def f():\n" + "    x = 1\n" * 70
    plant(tmp_path, {"operators/a.py": "x = 1\n" * 400, "jobs/b.py": "def f():\n" + "    x\n" * 69})
    assert list(check_lengths(tmp_path)) == []
    plant(tmp_path, {"operators/a.py": long_file, "tests/b.py": long_function})
    assert list(check_lengths(tmp_path)) == [
        "operators/a.py: has 401 lines, more than 400",
        "tests/b.py:1: f has 71 lines",
    ]
    reasons = {"operators/a.py": "a table"}, {"tests/b.py::f": "a list"}
    assert list(check_lengths(tmp_path, *reasons)) == []
    plant(tmp_path, {"operators/a.py": "", "tests/b.py": ""})
    assert len(list(check_lengths(tmp_path, *reasons))) == 2


@pytest.mark.parametrize(
    "around",
    [
        "class C:",
        "async def g():",
        "if x:\n  pass\nelse:",
        "for x in y:\n  pass\nelse:",
        "with x:",
        "try:\n  pass\nexcept E:",
        "try:\n  pass\nfinally:",
        "match x:\n case 1:",
    ],
)
def test_functions_of_any_place_are_measured(tmp_path: Path, around: str) -> None:
    text = f"{around}\n  async def f():\n" + "    x = 1\n" * 70
    found = list(check_lengths(plant(tmp_path, {"operators/a.py": text})))
    assert [each for each in found if each.endswith(": f has 71 lines")]


def test_spark(tmp_path: Path) -> None:
    files = {
        f"{PACKAGE}/spark/__init__.py": "",
        f"{PACKAGE}/spark/stage.py": "from pyspark.sql import Row\n",
        f"{PACKAGE}/spark/stop.py": "import signal\n",
        f"{PACKAGE}/epochs/commit.py": "import json\n" * 9,
    }
    plant(tmp_path, files)
    assert list(check_spark(tmp_path, 2, {"stop.py": "signals"})) == []
    plant(tmp_path, {f"{PACKAGE}/spark/lease.py": "import json\n"})
    assert list(check_spark(tmp_path, 2, {"stop.py": "signals", "stage.py": "rows"})) == [
        f"{PACKAGE}/spark/lease.py: imports no Spark, so it belongs on a floor below",
        "tests/tidy/limits.py: spark/stage.py imports Spark or is gone, take it off the list",
        f"{PACKAGE}/spark: has 3 lines, more than 2",
    ]


def test_untyped(tmp_path: Path) -> None:
    text = """
class Kept:
    content: dict[str, Any]
    _own: dict[str, Any]
    def told(self, document: Mapping[str, Any]) -> int: ...
    def _read(self) -> dict[str, Any]: ...
class _Kept:
    content: dict[str, Any]
def given(options: list[Mapping[str, object]]) -> None: ...
def fine(counts: dict[str, int], any_: Any) -> None: ...
"""
    plant(tmp_path, {f"{PACKAGE}/epochs/a.py": text, f"{PACKAGE}/plan/a.py": text})
    told = f"{PACKAGE}/epochs/a.py"
    known = {"epochs/a.py::told": "reason", "epochs/b.py::x": "another"}
    assert list(check_untyped(tmp_path, known)) == [
        f"{told}:3: content is dict[str, Any]: give it a type",
        f"{told}:9: given is list[Mapping[str, object]]: give it a type",
        "tests/tidy/limits.py: epochs/b.py::x is typed or gone, take it off the list",
    ]


def test_size(tmp_path: Path) -> None:
    plant(tmp_path, {f"{PACKAGE}/a.py": "x = 1\n" * 3, "tests/b.py": "x = 1\n" * 3})
    assert list(check_size(tmp_path, 3)) == []
    assert list(check_size(tmp_path, 2)) == [f"{PACKAGE}: has 3 lines, more than 2"]


def test_connectors(tmp_path: Path) -> None:
    files = {
        f"{PACKAGE}/connectors/kafka/connector.py": 'NAME = "kafka"\nOTHER = "print"\n',
        f"{PACKAGE}/connectors/print/connector.py": "import tidegate.connectors.print.sink\n",
        f"{PACKAGE}/connectors/print/sink.py": "",
        f"{PACKAGE}/connectors/registry.py": 'MODULES = ("tidegate.connectors.kafka.connector",)\n',
        f"{PACKAGE}/connectors/formats/lines.py": '"""kafka"""\n',
        f"{PACKAGE}/cli.py": 'from tidegate.connectors.formats import lines\nx = "a kafka table"\n',
    }
    plant(tmp_path, files)
    mentions = [
        f"{PACKAGE}/connectors/kafka/connector.py:2: names the connector print",
        f"{PACKAGE}/connectors/registry.py:1: names the connector kafka",
    ]
    assert list(check_connectors(tmp_path, 2)) == []
    total = f"{PACKAGE}: 2 mentions of connectors, more than 1"
    assert list(check_connectors(tmp_path, 1)) == [*mentions, total]
    text = 'def f(t):\n    from tidegate.connectors.print import sink\n    return t == "kafka"\n'
    plant(tmp_path, {f"{PACKAGE}/epochs/commit.py": text})
    assert list(check_connectors(tmp_path, 2)) == [
        *mentions,
        f"{PACKAGE}/epochs/commit.py:2: names the connector print",
        f"{PACKAGE}/epochs/commit.py:3: names the connector kafka",
        f"{PACKAGE}: 4 mentions of connectors, more than 2",
    ]


def test_makefile(tmp_path: Path) -> None:
    plant(tmp_path, {"Makefile": ".PHONY: a\na: b ## Makes a\n\techo\n\n$(X): y\n\techo\n"})
    assert list(check_makefile(tmp_path)) == []
    plant(tmp_path, {"Makefile": ".PHONY: a\na: b\n\techo\n.PHONY: c\n"})
    assert list(check_makefile(tmp_path)) == [
        "Makefile: a has no ## help",
        "Makefile: .PHONY names c, which has no rule",
    ]


def test_words(tmp_path: Path) -> None:
    files = {
        "README.md": "Rows go to a split.\nBatches are Spark's.",
        ".venv/x.py": "# shard",
        "tests/tidy/x.py": "# shard",
    }
    assert list(check_words(plant(tmp_path, files))) == []
    plant(tmp_path, {"operators/a.py": "# one Shard each", "README.md": "late rows are dropped"})
    assert list(check_words(tmp_path)) == [
        "README.md:1: 'late rows are dropped': say late",
        "operators/a.py:1: 'Shard': say split or vnode",
    ]
