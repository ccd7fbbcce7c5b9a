from __future__ import annotations

from pathlib import Path

from tidegate.spark.launch.classes import JVM_OPTIONS, class_path, settings


def test_without_an_archive_there_are_the_options_alone(tmp_path: Path) -> None:
    assert settings(tmp_path / "none.jsa") == {
        "spark.driver.extraJavaOptions": JVM_OPTIONS,
        "spark.executor.extraJavaOptions": JVM_OPTIONS,
    }


def test_with_an_archive_the_class_path_is_that_of_the_archive(tmp_path: Path) -> None:
    archive = tmp_path / "spark.jsa"
    archive.touch()
    found = settings(archive)
    assert found["spark.driver.extraClassPath"] == class_path()
    for role in ("driver", "executor"):
        options = found[f"spark.{role}.extraJavaOptions"]
        assert options.startswith(JVM_OPTIONS)
        assert f"-XX:SharedArchiveFile={archive} -Xshare:auto" in options


def test_jars_have_one_order_on_every_disk() -> None:
    jars = class_path().split(":")
    assert jars == sorted(jars)
    assert any("/spark-core_" in jar for jar in jars)
