"""Secrets by reference."""

from __future__ import annotations

from pathlib import Path

import pytest

from tidegate.connectors.secrets import has_credentials, has_reference, resolve, resolved
from tidegate.errors import OptionsError


@pytest.fixture(autouse=True)
def _variables(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("USER_NAME", "ann")
    monkeypatch.setenv("PASSWORD", "sesa${env:USER_NAME}me")
    monkeypatch.setenv("EMPTY", "")


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("plain", "plain"),
        ("", ""),
        ("${env:USER_NAME}", "ann"),
        ("${env: USER_NAME }", "ann"),
        ("${env:USER_NAME}:${env:USER_NAME}!", "ann:ann!"),
        ("${env:PASSWORD}", "sesa${env:USER_NAME}me"),  # what is found is not read again
        ("${env:EMPTY}", ""),
        ("${ENV:USER_NAME}", "${ENV:USER_NAME}"),
        ("${env:}", "${env:}"),
        ("$env:USER_NAME", "$env:USER_NAME"),
    ],
)
def test_references_are_replaced(text: str, value: str) -> None:
    assert resolve(text) == value


@pytest.mark.parametrize(
    ("content", "value"),
    [("sesame", "sesame"), ("sesame\n", "sesame"), ("a\nb\n\n", "a\nb\n"), ("ü", "ü"), ("", "")],
)
def test_files_lose_their_last_newline(tmp_path: Path, content: str, value: str) -> None:
    file = tmp_path / "a secret"
    file.write_text(content)
    assert resolve(f"[${{file:{file}}}]") == f"[{value}]"


def test_what_must_not_be_told(tmp_path: Path) -> None:
    file = tmp_path / "secret"
    file.write_text("sesame\n")
    text = f"${{env:USER_NAME}}:${{file:{file}}}${{env:EMPTY}}"
    assert resolved(text) == ("ann:sesame", {"ann", "sesame"})
    assert resolved("plain") == ("plain", set())


@pytest.mark.parametrize(
    ("text", "found"),
    [("${env:A}", True), ("x${file:/a}y", True), ("${ENV:A}", False), ("${env:}", False)],
)
def test_what_a_reference_is(text: str, found: bool) -> None:
    assert has_reference(text) is found


def test_a_variable_that_is_not_there() -> None:
    with pytest.raises(OptionsError) as caught:
        resolve("${env:NO_SUCH_VARIABLE}")
    assert "there is no environment variable 'NO_SUCH_VARIABLE'" in caught.value.message
    assert "executors" in caught.value.hint


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    binary = tmp_path / "binary"
    binary.write_bytes(b"\xff")
    for path, told in (
        (tmp_path / "none", "No such file"),
        (tmp_path, "directory"),
        (binary, "UTF"),
    ):
        with pytest.raises(OptionsError, match=told) as caught:
            resolve(f"${{file:{path}}}")
        assert str(path) in caught.value.message
        assert caught.value.__cause__ is None


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("s3://bucket/orders/*.json", False),
        ("s3://AKIA:sesame@bucket/orders", True),
        ("s3a://AKIA:ses/ame@bucket/orders", True),
        ("s3://AKIA@bucket/orders", False),
        ("abfs://container@account.dfs.core.windows.net/in", False),
        ("http://registry:8081", False),
        ("http://registry:8081/a@b", False),
        ("http://me:sesame@registry:8081", True),
        ("http://${env:ME}:${env:SESAME}@registry", False),
        ("http://me:123@registry", True),
        ("https://a:80,https://b:81/x@y", False),
        ("s3://bucket/x?region=eu&endpoint_override=localhost:9000", False),
        ("s3://bucket/x?access_key=a&secret_key=b", True),
        ("https://host/x?sig=abc", True),
        ("https://host/x?design=abc", False),
        ("https://host/x?Access_Token=abc", True),
        ("in/at 10:30/a@b", False),
        ("mail:me@x", False),
    ],
)
def test_credentials_in_uris(text: str, found: bool) -> None:
    assert has_credentials(text) is found
