"""Whole files: wrong ones with exactly what is said of them, and mutilated ones.

``PYTHONPATH=tests python tests/unit/frontend/test_compiler.py`` writes the answers of errors.yaml
and errors_kafka.yaml anew.
"""

from __future__ import annotations

import contextlib
import random
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml

from kits.frontend import KAFKA_TABLES, TABLES, job, kafka_job, listings
from kits.many import seeds
from tidegate.errors import OptionsError, SqlError, TidegateError
from tidegate.frontend import compile, compile_file
from tidegate.plan.nodes import Job

_ERRORS = Path(__file__).parent / "errors.yaml"
_KAFKA_ERRORS = _ERRORS.with_name("errors_kafka.yaml")
_JOBS = sorted((Path(__file__).parents[3] / "tests" / "slt").glob("*.slt"))
_CASES = yaml.safe_load(_ERRORS.read_text())
_KAFKA_CASES = yaml.safe_load(_KAFKA_ERRORS.read_text())
_VALID = (
    (
        "SELECT window_end, sum(price) FILTER (WHERE id > 1) AS s FROM TUMBLE(TABLE orders,"
        " DESCRIPTOR(order_time), INTERVAL '1' DAY) t WHERE id > 1 GROUP BY 1 HAVING min(id) > 2 "
        "ORDER BY window_end EMIT ON WINDOW CLOSE"
    ),
    (
        "WITH w AS (WATERMARK(plain, t, CASE WHEN t > NOW() THEN NULL ELSE t - '5' SECOND END),)"
        " SELECT w.*, CAST(id AS STRING) || 'x' FROM w ORDER BY t, id EMIT ON WINDOW CLOSE"
    ),
    (
        "CREATE VIEW v (a) AS SELECT event.type FROM events /*+ OPTIONS('path' = 'q') */;"
        " CREATE SINK s FROM v WITH (connector = 'print') FORMAT PLAIN ENCODE JSON"
    ),
    "INSERT INTO target (t, id) SELECT order_time, customer_id FROM (SELECT * FROM orders) o",
    "SET tidegate.epoch.rows.max = 5; SELECT date_trunc('day', t) d, id // 2 FROM plain",
    (
        "ALTER TABLE orders MODIFY WATERMARK FOR order_time AS SOURCE_WATERMARK() ; DESCRIBE orders"
        " ; SELECT CURRENT_WATERMARK(order_time) FROM orders WHERE id > 1"
    ),
    KAFKA_TABLES + "SELECT $rowtime , * FROM clicks ORDER BY `$rowtime` EMIT ON WINDOW CLOSE",
)


@pytest.mark.slow
@pytest.mark.parametrize("case", _CASES, ids=[case["sql"][:60] for case in _CASES])
def test_wrong(case: dict[str, str]) -> None:
    with pytest.raises(SqlError) as caught:
        job(case["sql"])
    assert _text(caught.value) == case["error"]


@pytest.mark.slow
@pytest.mark.parametrize("case", _KAFKA_CASES, ids=[case["sql"][:60] for case in _KAFKA_CASES])
def test_wrong_with_kafka(case: dict[str, str]) -> None:
    with pytest.raises(SqlError) as caught:
        kafka_job(case["sql"])
    assert _text(caught.value) == case["error"]


def test_there_are_enough_wrong_statements() -> None:
    assert len(_CASES) >= 100


@pytest.mark.slow
@pytest.mark.parametrize("file", _JOBS, ids=[file.stem for file in _JOBS])
def test_jobs_of_slt_compile(file: Path) -> None:
    sql = file.read_text().split("job\n", maxsplit=1)[1].split("\n----", maxsplit=1)[0]
    assert compile(sql, file.name, {}).sinks


@pytest.mark.parametrize("sql", _VALID)
def test_valid(sql: str) -> None:
    assert job(sql).sinks


@pytest.mark.parametrize("seed", seeds(400))
def test_mutilated_files_raise_only_errors_of_ours(seed: int) -> None:
    rng = random.Random(seed)
    text = TABLES + rng.choice(_VALID)
    words = text.replace("(", " ( ").replace(")", " ) ").replace(",", " , ").split()
    for _ in range(rng.randint(1, 4)):
        at, other = rng.randrange(len(words)), rng.randrange(len(words))
        match rng.randrange(4):
            case 0:
                del words[at]
            case 1:
                words[at] = rng.choice([*words, "'", '"', "`", "/*", "--", ";", "CASE", "::", "\0"])
            case 2:
                words.insert(at, words[other])
            case 3:
                words[at], words[other] = words[other], words[at]
    with contextlib.suppress(TidegateError):
        compile(" ".join(words), "f.sql", {})


def test_deep_nesting_is_an_error() -> None:
    with pytest.raises(SqlError, match="too deeply"):
        job(f"SELECT {'(' * 3000}id{')' * 3000} FROM orders")


def test_a_file_without_query() -> None:
    with pytest.raises(SqlError, match="nothing to run"):
        compile("CREATE TABLE x (a INT)", "f.sql", {})


@pytest.mark.slow
@pytest.mark.parametrize(
    "statement",
    [
        "EXPLAIN SELECT id FROM v",
        "EXPLAIN PLAN FOR INSERT INTO target SELECT id, t, 1 FROM v",
        "EXPLAIN CREATE SINK s AS SELECT id FROM v",
        "EXPLAIN CREATE MATERIALIZED VIEW m AS SELECT id FROM v",
    ],
)
def test_explain_is_about_one_statement(statement: str) -> None:
    text = f"{TABLES} SELECT id FROM orders; CREATE VIEW v AS SELECT id, t FROM plain; {statement};"
    compiled = compile_file(f"SET tidegate.vnodes = 3; {text} SELECT t FROM v", "f.sql", {})
    assert len(compiled.job.sinks) == 2, "it does not run"
    (answer,) = compiled.descriptions
    assert answer.text().startswith("job f: 1 source, 1 sink, 1 fragment, 0 exchanges, 3 vnodes")
    assert "reads plain" in answer.text()


@pytest.mark.parametrize("statement", ["", "x", "CREATE TABLE x (a INT)", "DESCRIBE plain"])
def test_what_explain_is_not_about(statement: str) -> None:
    with pytest.raises(SqlError):
        compile_file(f"{TABLES} EXPLAIN {statement}", "f.sql", {})


def test_a_file_may_only_describe() -> None:
    text = "CREATE TABLE x (a INT); DESCRIBE x; DESC EXTENDED x"
    compiled = compile_file(text, "f.sql", {})
    assert [part.about for part in listings(text)] == [(("table", "x"),)] * 2
    assert not compiled.job.sinks
    with pytest.raises(SqlError, match="nothing to run"):
        compile("CREATE TABLE x (a INT); DESCRIBE x", "f.sql", {})


@pytest.mark.slow
def test_name_settings_and_byte_order_mark() -> None:
    compiled = compile("\ufeffSET tidegate.vnodes = 4;" + TABLES + "SELECT * FROM plain", "d/a.sql")
    assert compiled.name == "a"
    assert compiled.settings == (("tidegate.vnodes", "4"),)
    assert job("SET pipeline.name = 'n'; SELECT * FROM plain").name == "n"


def test_overrides_win_and_are_checked() -> None:
    compiled = job("SET tidegate.vnodes = 4; SELECT * FROM plain", **{"tidegate.vnodes": "2"})
    assert dict(compiled.settings)["tidegate.vnodes"] == "2"
    with pytest.raises(OptionsError, match="--set: unknown setting"):
        job("SELECT * FROM plain", **{"tidegate.vnode": "2"})


def _text(error: SqlError) -> str:
    return "\n".join(line.rstrip() for line in error.render().split("\n"))


def _written_anew(file: Path, compiled: Callable[[str], Job]) -> str:
    text = file.read_text()
    entries = [text.split("\n\n", maxsplit=1)[0]]
    for case in yaml.safe_load(text):
        try:
            compiled(case["sql"])
            answer = "NO ERROR"
        except SqlError as error:
            answer = _text(error)
        entries.append(f"- sql: |-2\n{_indented(case['sql'])}\n  error: |-2\n{_indented(answer)}")
    return "\n\n".join(entries) + "\n"


def _indented(text: str) -> str:
    return "\n".join(f"    {line}".rstrip() for line in text.split("\n"))


if __name__ == "__main__":
    _ERRORS.write_text(_written_anew(_ERRORS, job))
    _KAFKA_ERRORS.write_text(_written_anew(_KAFKA_ERRORS, kafka_job))
