from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from py4j.protocol import Py4JError
from pyspark.errors import AnalysisException

import tidegate
from tidegate.errors import OptionsError
from tidegate.spark.launch import given as module
from tidegate.spark.launch.gateway import DEFAULTS, REQUIRED
from tidegate.spark.launch.given import Given, builder_settings
from tidegate.store.local import LocalStore

PROVIDER = "spark.sql.streaming.stateStore.providerClass"
PARTITIONS = "spark.sql.shuffle.partitions"
REPLACED = "spark.sql.streaming.minBatchesToRetain"


class Conf:
    """RuntimeConfig: refuses what is static."""

    def __init__(self, values: Mapping[str, str]) -> None:
        self.values = dict(values)

    def get(self, name: str, default: str | None = None) -> str | None:
        return self.values.get(name, default)

    def set(self, name: str, value: str) -> None:
        if name == "spark.sql.warehouse.dir":
            raise AnalysisException("CANNOT_MODIFY_STATIC_CONFIG")
        self.values[name] = value


class Context:
    """SparkContext, whose workers are this process."""

    master = "local[3]"

    def __init__(self, values: Mapping[str, str], worker: Callable[[Any], Iterator[str]] | None):
        self._jsc: Any = object()
        self._conf = Conf(values)
        self._worker = worker

    def getConf(self) -> Conf:  # noqa: N802
        return self._conf

    def parallelize(self, rows: Iterable[int], parts: int) -> Context:
        del rows, parts
        return self

    def mapPartitions(self, function: Callable[[Any], Iterator[str]]) -> Context:  # noqa: N802
        self._worker = self._worker or function
        return self

    def collect(self) -> list[str]:
        assert self._worker is not None
        return list(self._worker(iter([0])))


class Session:
    def __init__(self, worker: Any = None, **values: str) -> None:
        settings = {name.replace("__", "."): value for name, value in values.items()}
        self.conf = Conf({n: v for n, v in settings.items() if n.startswith("spark.sql.")})
        self.sparkContext = Context(settings, worker)
        self.made: list[Session] = []

    def newSession(self) -> Session:  # noqa: N802
        self.made.append(Session())
        return self.made[-1]

    @property
    def _jvm(self) -> Any:
        class Nothing:
            def __getattr__(self, name: str) -> Any:
                raise Py4JError(f"no {name}")

        return Nothing()


@pytest.fixture(autouse=True)
def known(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "SparkSession", Session)


def given(worker: Any = None, **values: str) -> Given:
    spark: Any = Session(worker, **values)
    return Given(spark)


def refused(match: str, tested: Given) -> OptionsError:
    with pytest.raises(OptionsError, match=match) as caught:
        tested.check()
    return caught.value


def test_a_plain_spark_is_good_enough() -> None:
    given().check()
    given(spark__speculation="false", spark__ui__enabled="true").check()


def test_what_is_no_session() -> None:
    other: Any = object()
    assert "Spark Connect" in refused("builtins.object is not a SparkSession", Given(other)).hint
    stopped = given()
    stopped._spark.sparkContext._jsc = None
    refused("has been stopped", stopped)


@pytest.mark.parametrize("name", [name for name in REQUIRED if not name.startswith("spark.sql.")])
def test_what_was_started_otherwise_is_refused_by_name(name: str) -> None:
    error = refused(f"{name} = false: it is true", given(**{name.replace(".", "__"): "true"}))
    assert f".config('{name}', 'false')" in error.hint


def test_workers_that_lack_us() -> None:
    error = refused(
        "cannot run Tidegate", given(lambda _: iter(["ModuleNotFoundError: duckdb", ""]))
    )
    assert error.detail == "ModuleNotFoundError: duckdb"
    assert "PYSPARK_PYTHON" in error.hint
    error = refused("cannot run Tidegate", given(lambda _: iter(["", "0.0.9"])))
    assert error.detail == f"they have tidegate 0.0.9, this is {tidegate.__version__}"

    def broken(_: Any) -> Iterator[str]:
        raise RuntimeError(
            "PySparkRuntimeException: [PYTHON_VERSION_MISMATCH] 3.11 and 3.12\n at x"
        )

    error = refused("workers do not start", given(broken))
    assert "PYTHON_VERSION_MISMATCH" in error.detail


def test_a_job_has_a_session_of_its_own(tmp_path: Path) -> None:
    spark: Any = Session(**{REPLACED.replace(".", "__"): "77"})
    before = dict(spark.conf.values)
    own: Any = Given(spark).session(5, LocalStore(tmp_path), {"spark.sql.x": "1"})
    assert spark.conf.values == before
    assert own.conf.values[PROVIDER] == REQUIRED[PROVIDER]
    assert own.conf.values[REPLACED] == "77", "the user's choice, where any will do"
    assert own.conf.values["spark.sql.shuffle.partitions"] == "5"
    assert own.conf.values["spark.sql.x"] == "1"
    assert all(name.startswith("spark.sql.") for name in own.conf.values)
    assert "spark.sql.ui.retainedExecutions" not in own.conf.values, "that is static"


def test_what_tidegate_must_fix_is_not_for_the_job_to_set(tmp_path: Path) -> None:
    user = {"spark.sql.adaptive.enabled": "true", PARTITIONS: "200"}
    spark: Any = Session(**{name.replace(".", "__"): value for name, value in user.items()})
    required = dict.fromkeys(REQUIRED, "mine")
    for asked in ({}, {PARTITIONS: "5", "spark.sql.adaptive.enabled": "true"}, required):
        own: Any = Given(spark).session(2, LocalStore(tmp_path), asked)
        assert own.conf.values[PARTITIONS] == "2", "as job.json and the state have it"
        assert own.conf.values["spark.sql.adaptive.enabled"] == "false"
        wanted = {name: value for name, value in REQUIRED.items() if name.startswith("spark.sql.")}
        assert own.conf.values.items() >= wanted.items()


def test_what_the_job_asks_for_is_set_whatever_the_user_has_changed_since(tmp_path: Path) -> None:
    tested = given(**{REPLACED.replace(".", "__"): "77"})
    tested._spark.conf.set(REPLACED, "5")
    own: Any = tested.session(1, LocalStore(tmp_path), {REPLACED: "77"})
    assert own.conf.values[REPLACED] == "77"


def test_settings_of_the_job_that_come_too_late(tmp_path: Path) -> None:
    tested, store = given(spark__executor__memory="4g"), LocalStore(tmp_path)
    tested.session(1, store, {"spark.executor.memory": "4g"})
    for name in ("spark.executor.memory", "spark.sql.warehouse.dir"):
        with pytest.raises(OptionsError, match=f"{name} = 9g") as caught:
            tested.session(1, store, {name: "9g"})
        assert f".config('{name}', '9g')" in caught.value.hint
    own: Any = tested.session(1, store, {PROVIDER: "mine", "spark.hadoop.fs.x": "1"})
    assert own.conf.values[PROVIDER] == REQUIRED[PROVIDER]
    assert own.conf.values["fs.x"] == "1"


def test_a_checkpoint_on_s3_needs_its_jars() -> None:
    class Elsewhere:
        is_local = False
        uri = "s3://b/c"

    store: Any = Elsewhere()
    with pytest.raises(OptionsError, match="without S3A's jars") as caught:
        given().session(1, store, {})
    assert "spark.driver.extraClassPath" in caught.value.hint


def test_the_builder_s_settings_are_the_command_line_s() -> None:
    settings = builder_settings()
    assert settings.items() <= {**DEFAULTS, **REQUIRED}.items()
    assert [name for name in settings if name.startswith("spark.sql.")] == [PROVIDER]
    assert settings["spark.speculation"] == "false"
