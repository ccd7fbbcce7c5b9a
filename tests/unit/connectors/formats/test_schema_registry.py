"""What the client says where no registry is; with a real one: tests/kafka/test_avro_confluent."""

from __future__ import annotations

import socket
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from pathlib import Path

import pytest

from tidegate.connectors.formats import schema_registry
from tidegate.connectors.formats.schema_registry import Registry
from tidegate.errors import OptionsError, RunError

Connect = Callable[..., Registry]


@pytest.fixture
def closed_port() -> Iterator[int]:
    """A port that refuses: it is taken, but nobody listens."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        yield taken.getsockname()[1]


@pytest.fixture
def silent_port() -> Iterator[int]:
    """A port that takes connections and never answers."""
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        listening.listen(8)
        yield listening.getsockname()[1]


@pytest.fixture
def connect() -> Iterator[Connect]:
    """Makes clients that are closed after the test."""
    with ExitStack() as opened:
        yield lambda *args: opened.enter_context(closing(Registry(*args)))


@pytest.mark.slow
def test_nobody_there(closed_port: int, connect: Connect) -> None:
    registry = connect(f"http://127.0.0.1:{closed_port}/apis")
    with pytest.raises(RunError) as caught:
        registry.schema(7)
    error = caught.value
    assert error.message == (
        "schema 7 cannot be fetched: no answer from the schema registry "
        f"http://127.0.0.1:{closed_port}/apis"
    )
    assert "refused" in error.detail
    assert "avro-confluent.url" in error.hint
    with pytest.raises(RunError, match="the schema of subject 's-value' cannot be registered"):
        registry.register("s-value", '"string"')


@pytest.mark.slow
def test_no_answer_comes_in_bounded_time(
    silent_port: int, connect: Connect, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(schema_registry, "ANSWER_S", 0.2)
    registry = connect(f"http://127.0.0.1:{silent_port}")
    begun = time.monotonic()
    with pytest.raises(RunError, match="no answer from the schema registry") as caught:
        registry.schema(1)
    assert time.monotonic() - begun < 5
    assert "Timeout" in caught.value.detail


@pytest.mark.slow
@pytest.mark.parametrize("place", ["reference", "url"])
def test_secrets_are_not_told(
    closed_port: int,
    place: str,
    connect: Connect,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    monkeypatch.setenv("REGISTRY_PASSWORD", "hunter2")
    file = tmp_path / "user"
    file.write_text("alice\n")
    user = f"${{file:{file}}}:${{env:REGISTRY_PASSWORD}}"
    host = f"127.0.0.1:{closed_port}"
    if place == "url":
        registry = connect(f"http://{user}@{host}")
    else:
        registry = connect(f"http://{host}", user)
    assert registry.url == f"http://{host}"
    with pytest.raises(RunError) as caught:
        registry.schema(1)
    assert "hunter2" not in caught.value.render()
    assert "alice" not in caught.value.render()
    assert caught.value.__cause__ is None


@pytest.mark.parametrize(
    ("url", "user", "ca"),
    [
        ("ftp://host", "", ""),
        ("", "", ""),
        ("http://host", "no-colon", ""),
        ("http://a:b@host", "c:d", ""),
        ("https://host", "", "/nowhere/ca.pem"),
    ],
)
def test_options_that_cannot_be_right(url: str, user: str, ca: str) -> None:
    with pytest.raises(OptionsError, match="the options of the schema registry") as caught:
        Registry(url, user, ca)
    assert "no-colon" not in caught.value.render()
    assert "a:b" not in caught.value.render()
    assert "avro-confluent.url" in caught.value.hint


def test_a_reference_that_names_nothing() -> None:
    with pytest.raises(OptionsError, match="NOT_SET_ANYWHERE"):
        Registry("http://host", "user:${env:NOT_SET_ANYWHERE}")
