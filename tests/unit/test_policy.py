from __future__ import annotations

from pathlib import Path

import pytest

from tidegate.errors import OptionsError
from tidegate.policy import WITHOUT_CODE, Policy, policy


def of(**said: str) -> Policy:
    return Policy.of({f"TIDEGATE_ALLOW_{name.upper()}": value for name, value in said.items()})


def allows(paths: str, path: str) -> bool:
    try:
        of(paths=paths).check_path("it", path)
    except OptionsError:
        return False
    return True


def test_without_variables_all_is_allowed() -> None:
    assert Policy.of({}) == Policy()
    free = Policy()
    free.check_code("x")
    free.check_spark("spark.jars")
    free.check_property("properties.a")
    free.check_variable("HOME")
    free.check_path("x", "/etc/passwd")


def test_lists_are_globs_and_what_is_refused_says_what_is_allowed() -> None:
    some = of(spark="spark.sql.*, spark.executor.memory", env="KAFKA_?")
    some.check_spark("spark.sql.shuffle.partitions")
    some.check_spark("spark.executor.memory")
    some.check_variable("KAFKA_1")
    with pytest.raises(OptionsError, match=r"setting 'spark\.jars' is not one that") as caught:
        some.check_spark("spark.jars")
    assert caught.value.hint == (
        "allowed: spark.sql.*, spark.executor.memory (TIDEGATE_ALLOW_SPARK)"
    )
    with pytest.raises(OptionsError, match=r"\$\{env:KAFKA_10\}"):
        some.check_variable("KAFKA_10")


def test_an_empty_list_allows_nothing() -> None:
    with pytest.raises(OptionsError) as caught:
        of(properties=" ").check_property("properties.a")
    assert caught.value.hint == "allowed: none (TIDEGATE_ALLOW_PROPERTIES)"
    assert not allows("", "/")


def test_where_code_is_off_so_are_settings_by_which_spark_runs_some() -> None:
    off = of(python="False")
    with pytest.raises(OptionsError, match="CREATE FUNCTION is not allowed here"):
        off.check_code("CREATE FUNCTION")
    off.check_spark("spark.executor.memory")
    for name in (
        "spark.jars",
        "spark.driver.extraJavaOptions",
        "spark.executorEnv.PYTHONPATH",
        "spark.python.daemon.module",
        "spark.plugins",
        "spark.hadoop.fs.file.impl",
    ):
        with pytest.raises(OptionsError):
            off.check_spark(name)
    of(python="false", spark="*").check_spark("spark.jars")
    assert not [name for name in WITHOUT_CODE if "Class" in name or "java" in name.lower()]


@pytest.mark.parametrize(
    "said",
    [
        {"python": ""},
        {"python": "no"},
        {"paths": "data/in"},
        {"paths": "/data, s3://"},
        {"paths": "/data/*"},
        {"paths": "s3://b/../c"},
    ],
)
def test_what_cannot_be_understood_is_no_policy(said: dict[str, str]) -> None:
    with pytest.raises(OptionsError, match="TIDEGATE_ALLOW_"):
        of(**said)


@pytest.mark.parametrize(
    ("path", "is_in"),
    [
        ("/data/in", True),
        ("/data/in/", True),
        ("/data/in/a/b.json", True),
        ("/data//in/./a", True),
        ("/data/in/*/b?.json", True),
        ("/data/other/../in/a", True),
        ("file:///data/in/a", True),
        ("FILE:///data/in/a%20b", True),
        ("/data/inside", False),
        ("/data", False),
        ("/", False),
        ("", False),
        ("data/in", False),
        ("/data/in/../out", False),
        ("/data/in/../../etc/passwd", False),
        ("/data/in/*/../../../etc/passwd", False),
        ("/data/in*", False),
        ("/data/i?", False),
        ("/data/i[n]/x", False),
        ("file:///data/in/../out", False),
        ("file:///data/in/%2e%2e/out", False),
        ("file:///data/in%2f..%2f..%2fetc", False),
        ("file:///etc#/../data/in", False),
        ("file:///etc?a=b/../data/in", False),
        ("file://host/data/in", False),
        ("file://data/in", False),
        ("s3://data/in", False),
        ("/data/in\0/x", False),
    ],
)
def test_a_local_place_ends_at_a_slash_however_it_is_spelled(path: str, is_in: bool) -> None:
    assert allows("/data/in", path) is is_in
    assert allows("/srv, file:///data/in/", path) is is_in


@pytest.mark.parametrize(
    ("path", "is_in"),
    [
        ("s3://b/in", True),
        ("s3a://b/in/x", True),
        ("S3N://b/in/x/*.json", True),
        ("s3://b/in/x?.json", True),
        ("s3://b/inside", False),
        ("s3://b", False),
        ("s3://B/in", False),
        ("s3://other/in", False),
        ("s3://b//in", False),
        ("s3://b/in/../out", False),
        ("s3://b/in/%2e%2e/out", False),
        ("s3://b/in%2fx", False),
        ("s3://b/x#/../in", False),
        ("s3://key@b/in", False),
        ("s3://b:9000/in", False),
        ("s3://b/in?endpoint_override=elsewhere:9000&scheme=http", False),
        ("gs://b/in", False),
        ("/b/in", False),
        ("x y://b/in", False),
    ],
)
def test_a_place_on_s3(path: str, is_in: bool) -> None:
    assert allows("s3a://b/in/", path) is is_in


def test_links_are_followed_before_it_is_asked(tmp_path: Path) -> None:
    inside, outside = tmp_path / "in", tmp_path / "out"
    (inside / "sub").mkdir(parents=True)
    (outside / "deep").mkdir(parents=True)
    (inside / "way").symlink_to(outside / "deep")
    (inside / "w*y").symlink_to(outside)
    (inside / "here").symlink_to(inside / "sub")
    (tmp_path / "alias").symlink_to(inside)
    allowed = str(inside)
    assert allows(allowed, f"{inside}/here/x")
    assert allows(allowed, f"{tmp_path}/alias/x")
    assert allows(f"{tmp_path}/alias", f"{inside}/x")
    assert not allows(allowed, f"{inside}/way/x")
    assert not allows(allowed, f"{inside}/way")
    assert not allows(allowed, f"{inside}/way/../deep")  # of the system: out/deep
    assert not allows(allowed, f"{inside}/way/../sub")  # of the text: in/sub
    assert not allows(allowed, f"{inside}/way/*.json")
    assert not allows(allowed, f"{inside}/w*y")
    assert not allows(allowed, f"file://{inside}/way/x")


def test_a_refused_path_is_not_told() -> None:
    with pytest.raises(OptionsError) as caught:
        of(paths="/data").check_path("the file", "sesame")
    assert "sesame" not in caught.value.render()
    assert caught.value.hint == "allowed: /data (TIDEGATE_ALLOW_PATHS)"


def test_it_is_the_environments(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TIDEGATE_ALLOW_PYTHON", "false")
    assert not policy().python
