from __future__ import annotations

from hashlib import sha256
from pathlib import Path

import pytest

from tidegate.errors import OptionsError, RunError
from tidegate.spark.launch import s3a_jars
from tidegate.spark.launch.s3a import joined, settings_for
from tidegate.store.local import LocalStore
from tidegate.store.place import open_store

SECRET = "let-me-in"


@pytest.fixture
def jars(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where the client of S3 lies; no endpoint, no region."""
    for name in ("AWS_ENDPOINT_URL", "AWS_ENDPOINT_URL_S3", "AWS_REGION", "AWS_DEFAULT_REGION"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "somebody")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", SECRET)
    monkeypatch.setenv("TIDEGATE_S3_JARS", str(tmp_path))
    (tmp_path / "hadoop-aws-3.5.0.jar").touch()
    return tmp_path


def test_a_local_checkpoint_needs_nothing(tmp_path: Path) -> None:
    assert settings_for(LocalStore(tmp_path)) == {}


def test_amazons_own(jars: Path) -> None:
    found = settings_for(open_store("s3://bucket/x"))
    assert found["spark.driver.extraClassPath"] == f"{jars}/*"
    assert found["spark.executor.extraClassPath"] == f"{jars}/*"
    assert "Abortable" in found["spark.sql.streaming.checkpointFileManagerClass"]
    assert not [name for name in found if "endpoint" in name or "path.style" in name]


@pytest.mark.parametrize(("scheme", "ssl"), [("http", "false"), ("https", "true")])
def test_another_endpoint(
    jars: Path, monkeypatch: pytest.MonkeyPatch, scheme: str, ssl: str
) -> None:
    monkeypatch.setenv("AWS_ENDPOINT_URL", f"{scheme}://store:9000")
    found = settings_for(open_store("s3://bucket/x"))
    s3a = {k.rpartition("s3a.")[2]: v for k, v in found.items() if "s3a." in k}
    assert s3a["endpoint"] == f"{scheme}://store:9000"
    assert s3a["endpoint.region"] == "us-east-1"
    assert s3a["path.style.access"] == "true"
    assert s3a["connection.ssl.enabled"] == ssl
    assert SECRET not in str(found)
    assert "somebody" not in str(found)


def test_jars_that_are_missing(jars: Path) -> None:
    (jars / "hadoop-aws-3.5.0.jar").unlink()
    with pytest.raises(OptionsError, match="client of S3 is missing") as caught:
        settings_for(open_store("s3://bucket/x"))
    assert "tidegate-s3-jars" in caught.value.hint


def test_a_service_accounts_role(jars: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_WEB_IDENTITY_TOKEN_FILE", str(jars / "token"))
    found = settings_for(open_store("s3://bucket/x"))
    assert "WebIdentityToken" in found["spark.hadoop.fs.s3a.aws.credentials.provider"]


def test_class_paths_add_up_and_users_settings_win() -> None:
    path, other = "spark.driver.extraClassPath", "spark.hadoop.fs.s3a.path.style.access"
    ours = {path: "/s3/*", other: "true"}
    users = {path: "/mine/*", other: "false", "a": "b"}
    assert joined(ours, users) == {path: "/mine/*:/s3/*", other: "false", "a": "b"}


def ivy_gives(jars: dict[str, bytes], monkeypatch: pytest.MonkeyPatch) -> None:
    """In place of Maven Central."""

    def resolve(draft: Path) -> None:
        (draft / "jars").mkdir()
        for name, content in jars.items():
            (draft / "jars" / name).write_bytes(content)

    monkeypatch.setattr(s3a_jars, "_resolve", resolve)


def test_jars_are_what_this_release_knows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sums = tmp_path / "sums"
    sums.write_text(f"{sha256(b'1').hexdigest()}  hadoop-aws-1.jar\n")
    monkeypatch.setattr(s3a_jars, "_SUMS", sums)
    for wrong in ({"hadoop-aws-1.jar": b"2"}, {"hadoop-aws-1.jar": b"1", "more.jar": b"1"}, {}):
        ivy_gives(wrong, monkeypatch)
        with pytest.raises(RunError, match="not Spark's client of S3") as caught:
            s3a_jars.fetch(tmp_path / "jars")
        assert ("more.jar" if "more.jar" in wrong else "hadoop-aws-1.jar") in caught.value.render()
        assert not (tmp_path / "jars").exists()
    ivy_gives({"hadoop-aws-1.jar": b"1", "slf4j-api-1.jar": b"Spark's own"}, monkeypatch)
    s3a_jars.fetch(tmp_path / "jars")
    assert [path.name for path in (tmp_path / "jars").iterdir()] == ["hadoop-aws-1.jar"]
