from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from kits.frontend import BROKER
from tidegate.errors import BindError, OptionsError, SqlSyntaxError
from tidegate.frontend import compile, compile_file
from tidegate.frontend.statements.compiled_plans import CompiledPlan
from tidegate.plan.nodes import Job, Scan, WatermarkFilter

_TABLES = (
    "SET 'pipeline.name' = 'nightly';"
    "CREATE TABLE user_actions (user_name STRING, data STRING, user_action_time TIMESTAMP(3),"
    " WATERMARK FOR user_action_time AS user_action_time - INTERVAL '5' SECOND)"
    f" WITH ({BROKER}, topic = 'a', format = 'json',"
    " 'scan.watermark.emit.strategy' = 'on-periodic');"
    f"CREATE TABLE copied (user_name STRING) WITH ({BROKER}, topic = 'b', format = 'json');"
)
_INSERT = (
    "INSERT INTO copied SELECT user_name FROM user_actions"
    " /*+ OPTIONS('scan.watermark.idle-timeout' = '1min') */"
)
# FLIP-296, "Compiled Plan", with the strategy and the timeout of the statements.
_PARAMS = {
    "emitStrategy": "ON_PERIODIC",
    "alignGroupName": None,
    "alignMaxDrift": "PT0S",
    "alignUpdateInterval": "PT1S",
    "sourceIdleTimeout": 60_000,
}


def _plan(sql: str = f"COMPILE PLAN 'p.json' FOR {_INSERT}") -> CompiledPlan:
    (plan,) = compile_file(_TABLES + sql, "f.sql", {}).plans
    return plan


def _document() -> dict[str, Any]:
    document: dict[str, Any] = json.loads(json.dumps(_plan().document))
    return document


def _executed(tmp_path: Path, document: dict[str, Any], settings: str = "") -> Job:
    file = tmp_path / "p.json"
    file.write_text(json.dumps(document))
    return compile(f"{settings} EXECUTE PLAN '{file}'", "g.sql", {})


def _options(compiled: Job) -> dict[str, str]:
    (scan,) = (node for node in compiled.sinks[0].walk() if isinstance(node, Scan))
    return {k: v for k, v in scan.table.options if k.startswith("scan.watermark")}


def test_what_is_kept() -> None:
    document = _document()
    assert [text.split()[0] for text in document["statements"]] == [
        "SET", "CREATE", "CREATE", "INSERT",
    ]  # fmt: skip
    (source,) = document["sources"]
    (ability,) = source["abilities"]
    assert (source["table"], ability["rowtime"]) == ("user_actions", "user_action_time")
    assert ability["watermarkExpr"] == "user_action_time - INTERVAL '5' SECOND"
    assert ability["watermarkParams"] == _PARAMS


def test_it_is_the_same_job(tmp_path: Path) -> None:
    job = _executed(tmp_path, _document())
    same = compile(_TABLES + _INSERT, "f.sql", {})
    assert (job.name, len(job.sinks)) == ("nightly", 1)
    assert dict(job.sinks[0].table.options) == dict(same.sinks[0].table.options)
    assert _options(job) == {**_options(same), "scan.watermark.idle-timeout": "60000 ms"}


def test_parameters_may_be_edited(tmp_path: Path) -> None:
    document = _document()
    (ability,) = document["sources"][0]["abilities"]
    ability["watermarkParams"] = {
        "emitStrategy": "ON_EVENT",
        "alignGroupName": "group-1",
        "alignMaxDrift": "PT1M",
        "alignUpdateInterval": "PT0.5S",
        "sourceIdleTimeout": -1,
    }
    assert _options(_executed(tmp_path, document)) == {
        "scan.watermark.alignment.group": "group-1",
        "scan.watermark.alignment.max-drift": "PT1M",
        "scan.watermark.alignment.update-interval": "PT0.5S",
    }


@pytest.mark.slow
def test_a_plan_without_parameters_still_runs(tmp_path: Path) -> None:
    document = _document()
    del document["sources"][0]["abilities"][0]["watermarkParams"]
    same = compile(_TABLES + _INSERT, "f.sql", {})
    assert _options(_executed(tmp_path, document)) == _options(same)
    del document["sources"]
    assert _options(_executed(tmp_path, document)) == _options(same)


def test_only_settings_stand_beside_it(tmp_path: Path) -> None:
    job = _executed(tmp_path, _document(), "SET 'tidegate.vnodes' = 2;")
    assert dict(job.settings)["tidegate.vnodes"] == "2"
    with pytest.raises(BindError, match="stands alone"):
        _executed(tmp_path, _document(), "CREATE TABLE x (a INT);")


def test_a_statement_set() -> None:
    plan = _plan(
        f"COMPILE PLAN 'p.json' IF NOT EXISTS FOR STATEMENT SET BEGIN {_INSERT}; {_INSERT}; END;"
    )
    assert plan.keeps
    assert [text.split()[0] for text in plan.document["statements"]][-2:] == ["INSERT", "INSERT"]


def test_compiled_only_or_run_too() -> None:
    assert not compile_file(f"{_TABLES} COMPILE PLAN 'p' FOR {_INSERT}", "f.sql", {}).job.sinks
    both = compile_file(f"{_TABLES} COMPILE AND EXECUTE PLAN 'p' FOR {_INSERT}", "f.sql", {})
    assert (len(both.job.sinks), len(both.plans)) == (1, 1)


def test_filters_are_told_once() -> None:
    document = _plan(f"COMPILE PLAN 'p' FOR STATEMENT SET BEGIN {_INSERT}; {_INSERT}; END").document
    assert len(document["sources"][0]["abilities"]) == 1
    job = compile(_TABLES + _INSERT, "f.sql", {})
    assert sum(isinstance(node, WatermarkFilter) for node in job.sinks[0].walk()) == 1


def test_what_runs_by_itself_is_left_out() -> None:
    made = (
        f"CREATE TABLE made WITH ({BROKER}, topic = 'm', format = 'json') AS SELECT user_name FROM"
        " user_actions; CREATE MATERIALIZED VIEW mv AS SELECT user_name FROM user_actions;"
    )
    (plan,) = compile_file(f"{_TABLES}{made} COMPILE PLAN 'p' FOR {_INSERT}", "f.sql", {}).plans
    assert plan.document["statements"] == _document()["statements"]


def test_an_error_is_where_the_file_has_it() -> None:
    with pytest.raises(BindError) as caught:
        compile_file(f"{_TABLES}\nCOMPILE PLAN 'p' FOR\n  INSERT INTO x SELECT 1 FROM y", "f", {})
    assert caught.value.position is not None
    assert caught.value.position.line == 3


@pytest.mark.slow
def test_parameters_of_a_table_that_is_like_another(tmp_path: Path) -> None:
    sql = (
        f"{_TABLES} CREATE TABLE other WITH ('scan.watermark.idle-timeout' = '5 s') LIKE"
        " user_actions; COMPILE PLAN 'p' FOR INSERT INTO copied SELECT user_name FROM other"
    )
    (plan,) = compile_file(sql, "f.sql", {}).plans
    document = json.loads(json.dumps(plan.document))
    (ability,) = document["sources"][0]["abilities"]
    assert ability["watermarkParams"]["sourceIdleTimeout"] == 5_000
    ability["watermarkParams"]["sourceIdleTimeout"] = -1
    assert "scan.watermark.idle-timeout" not in _options(_executed(tmp_path, document))


@pytest.mark.slow
def test_functions_come_with_their_source(tmp_path: Path) -> None:
    (tmp_path / "st.py").write_text("def f(x: str) -> str:\n    return x\n")
    sql = (
        f"{_TABLES} CREATE FUNCTION same AS 'st.f' LANGUAGE PYTHON; COMPILE PLAN 'p' FOR"
        " INSERT INTO copied SELECT same(user_name) FROM user_actions"
    )
    (plan,) = compile_file(sql, str(tmp_path / "f.sql"), {}).plans
    elsewhere = tmp_path / "plans"
    elsewhere.mkdir()
    (function,) = _executed(elsewhere, json.loads(json.dumps(plan.document))).functions
    assert (function.name, function.parameters, function.entry) == ("same", ("VARCHAR",), "f")


@pytest.mark.parametrize(
    ("written", "iso"),
    [
        ("1 us", "PT0.000001S"),
        ("59999999 us", "PT59.999999S"),
        ("90 min", "PT1H30M"),
        ("1s", "PT1S"),
    ],
)
def test_durations(written: str, iso: str) -> None:
    tables = _TABLES.replace(
        "'scan.watermark.emit.strategy' = 'on-periodic'",
        "'scan.watermark.alignment.group' = 'g', 'scan.watermark.alignment.max-drift' = '1 min',"
        f" 'scan.watermark.alignment.update-interval' = '{written}'",
    )
    (plan,) = compile_file(f"{tables} COMPILE PLAN 'p' FOR {_INSERT}", "f.sql", {}).plans
    (ability,) = plan.document["sources"][0]["abilities"]
    assert ability["watermarkParams"]["alignUpdateInterval"] == iso


def test_a_file_is_not_overwritten(tmp_path: Path) -> None:
    file = tmp_path / "p.json"
    plan = CompiledPlan(str(file), {"planVersion": 1}, keeps=False)
    assert plan.write() == f"wrote {file}"
    assert json.loads(file.read_text()) == {"planVersion": 1}
    assert plan.write() == f"{file} already exists and stays", "the same may be run again"
    with pytest.raises(OptionsError, match="is another plan"):
        CompiledPlan(str(file), {"planVersion": 2}, keeps=False).write()
    assert "stays" in CompiledPlan(str(file), {}, keeps=True).write()
    with pytest.raises(OptionsError, match="cannot write"):
        CompiledPlan(str(tmp_path / "no" / "p.json"), {}, keeps=False).write()


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("{", "is not JSON"),
        ("[]", "is not a plan"),
        ('{"planVersion": 2, "statements": []}', "a plan of version 2"),
        ('{"planVersion": 1}', "is not a plan"),
        (
            (
                '{"planVersion": 1, "statements": [], "sources": [{"table": "t", "abilities":'
                ' [{"watermarkParams": {"emit": 1}}]}]}'
            ),
            "unknown watermarkParams emit",
        ),
    ],
)
def test_what_is_no_plan(tmp_path: Path, content: str, said: str) -> None:
    file = tmp_path / "p.json"
    file.write_text(content)
    with pytest.raises(BindError, match=said):
        compile(f"EXECUTE PLAN '{file}'", "g.sql", {})
    with pytest.raises(BindError, match="cannot read the plan"):
        compile("EXECUTE PLAN '/no/such/plan.json'", "g.sql", {})


@pytest.mark.parametrize(
    "sql",
    [
        "COMPILE",
        "COMPILE PLAN FOR INSERT INTO copied SELECT 1",
        "COMPILE PLAN 'p' FOR SELECT user_name FROM user_actions",
        "COMPILE PLAN 'p' FOR STATEMENT SET BEGIN SELECT 1; END",
        "COMPILE PLAN 'p' FOR ;",
        f"COMPILE PLAN 'p' FOR STATEMENT SET BEGIN {_INSERT}",
        "EXECUTE PLAN",
        "EXECUTE x",
    ],
)
def test_what_is_missing(sql: str) -> None:
    with pytest.raises(SqlSyntaxError):
        compile_file(_TABLES + sql, "f.sql", {})
