"""Secrets by reference."""

from __future__ import annotations

import traceback
from pathlib import Path

import pytest

from tidegate.connectors import secrets
from tidegate.connectors.secrets import (
    check_references,
    has_credentials,
    has_reference,
    hidden,
    resolve,
    resolved,
    starred,
    without_secrets,
)
from tidegate.errors import BindError, OptionsError, Position, RunError


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


_SESAME = "open-sesame"


@pytest.fixture
def known(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Secrets that references have stood for: open-sesame, me:hunter/2, and a file of two lines."""
    monkeypatch.setattr(secrets, "_seen", set())
    monkeypatch.setenv("SECRET", "open-sesame")
    monkeypatch.setenv("USER_INFO", "me:hunter/2")
    monkeypatch.setenv("SERVER", "kafka:9092")
    monkeypatch.setenv("SHORT", "abc")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "of-the-store")
    file = tmp_path / "key.pem"
    file.write_text("BEGIN\nMIIEvQIBADAN\n")
    for text in ("${env:SECRET}", "x ${env:USER_INFO}", "${env:SHORT}", "${env:SERVER}"):
        check_references(text)
    check_references(f"${{file:{file}}} ${{file:/dev/zero}} ${{env:NO_SUCH}}")


@pytest.mark.usefixtures("known")
def test_what_references_stand_for_is_hidden() -> None:
    assert hidden("open-sesame at https://me:hunter%2F2@h: MIIEvQIBADAN, of-the-store") == (
        "*** at https://me:***@h: ***, ***"
    )
    assert hidden("hunter/2 hunter%2F2 abc 9092") == "*** *** abc 9092"


def _failed(cause: Exception) -> None:
    try:
        raise cause
    except type(cause) as error:
        raise RunError(_SESAME, detail="x hunter/2", hint="MIIEvQIBADAN") from error


def _cleaned(cause: Exception) -> tuple[RunError, str]:
    """The error of which ``cause`` is the cause, and its trace."""
    with pytest.raises(RunError) as caught, without_secrets():
        _failed(cause)
    return caught.value, "".join(traceback.format_exception(caught.value))


@pytest.mark.usefixtures("known")
def test_errors_and_their_causes_tell_no_secret() -> None:
    error, told = _cleaned(ValueError(f"wrong: {_SESAME}"))
    assert "ValueError: wrong: ***" in told
    assert error.render() == "***\nx ***\nhint: ***"
    assert _SESAME not in told


class _StubbornError(Exception):
    def __str__(self) -> str:
        return _SESAME


class _GoneError(Exception):
    def __str__(self) -> str:
        raise ConnectionError("Java has ended")


@pytest.mark.usefixtures("known")
@pytest.mark.parametrize("cause", [_StubbornError(), _GoneError()])
def test_a_cause_that_cannot_be_cleaned_goes(cause: Exception) -> None:
    error, told = _cleaned(cause)
    assert error.detail == "x ***"
    assert "direct cause" not in told
    assert _SESAME not in told


@pytest.mark.usefixtures("known")
def test_an_error_that_cannot_be_cleaned_is_another_one() -> None:
    with pytest.raises(RunError, match=r"^_StubbornError: \*\*\*$"), without_secrets():
        raise _StubbornError


@pytest.mark.usefixtures("known")
def test_a_line_of_sql_is_as_it_was_written() -> None:
    line = f"user = '{_SESAME}'"  # a word that a reference has stood for, too
    with pytest.raises(BindError) as caught, without_secrets():
        raise BindError(f"{_SESAME} is refused", Position("f.sql", 1, 1, line))
    assert caught.value.render().splitlines()[:2] == ["f.sql:1:1: *** is refused", f"  {line}"]


@pytest.mark.parametrize(
    ("written", "shown"),
    [
        ("SET 'spark.x.secret' = 'a''b c'; SELECT", "SET 'spark.x.secret' = '******'; SELECT"),
        ("SET spark.x.password = abc;", "SET spark.x.password = ***;"),
        ("set `a.access.key` to 'k';", "set `a.access.key` to '*';"),
        ("\"sasl.password\" = 'x' y", "\"sasl.password\" = '*' y"),
        ("'ssl.key.pem'\n = 'a\nb' y", "'ssl.key.pem'\n = '*\n*' y"),
        ("'p' = 's3://k:s@b/x', 'q' = 'r'", "'p' = '************', 'q' = 'r'"),
    ],
)
def test_secrets_written_in_sql_are_stars_as_long_as_they_are(written: str, shown: str) -> None:
    assert starred(written) == shown
    assert len(shown) == len(written)


@pytest.mark.parametrize(
    "text",
    [
        "'sasl.password' = '${env:P}'",
        "'oauthbearer.token.endpoint.url' = 'https://h'",
        "'ssl.key.location' = '/x'",
        "SELECT token FROM t WHERE a = 'b'",
        "'path' = 's3://b/x'",
    ],
)
def test_what_is_no_secret_is_shown(text: str) -> None:
    assert starred(text) == text
