"""Questions to brokers that are not there; tests/kafka asks real ones."""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import replace
from typing import Any

import pytest

from tidegate.connectors.kafka import topics
from tidegate.connectors.kafka.patience import USUAL
from tidegate.connectors.kafka.topics import Topics
from tidegate.errors import OptionsError, RunError
from unit.connectors.kafka.kafka_kit import NOWHERE, source_options

SOON = replace(USUAL, question=replace(USUAL.question, in_all_s=0.2), overdue_s=0.1)


def asked(**options: str) -> Topics:
    return Topics("t", source_options(**options), SOON)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("ask", "what"),
    [
        (lambda found: found.described(["t"]), "it cannot describe topic 't'"),
        (lambda found: found.earliest([("t", 0)]), "the offsets of 't', partition 0"),
        (lambda found: found.latest([("t", 1)]), "the offsets of 't', partition 1"),
        (lambda found: found.at_time([("t", 0)], 5), "the offsets of 't', partition 0"),
        (lambda found: found.committed([("t", 0)], "g"), "the offsets of group 'g'"),
        (lambda found: found.require("t"), "it cannot list topics"),
    ],
)
def test_no_answer_is_an_error_in_bounded_time(ask: Callable[[Topics], object], what: str) -> None:
    found = asked()
    for _ in range(2):  # with a new client
        with pytest.raises(RunError) as caught:
            ask(found)
        assert caught.value.message.startswith("table 't': ")
        assert what in caught.value.message
        assert f"no answer from the brokers at {NOWHERE}" in caught.value.message


def test_what_is_not_asked_needs_no_answer() -> None:
    found = asked()
    assert found.named(source_options(topic="b;a")) == ["b", "a"]
    assert (found.described([]), found.earliest([]), found.latest([])) == ({}, {}, {})
    assert found.at_time([], 5) == {}


def test_wrong_properties_are_told_before_anything_is_asked() -> None:
    with pytest.raises(OptionsError, match="refuses the table's properties"):
        asked(properties_no_such_thing="1").described(["t"])


class Silent:
    """A client that forgets what it was asked."""

    asked = 0

    def __init__(self, config: dict[str, Any]) -> None:
        del config

    def poll(self, timeout: float) -> int:
        assert timeout == 0
        return 0

    def describe_topics(self, *_: object, request_timeout: float) -> dict[str, Future[Any]]:
        assert request_timeout > 0
        type(self).asked += 1
        return {"t": Future()}


@pytest.mark.slow
def test_a_question_that_the_client_forgets_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(topics, "AdminClient", Silent)
    before = time.monotonic()
    with pytest.raises(RunError, match="it cannot describe topic 't': no answer"):
        asked().described(["t"])
    assert Silent.asked >= 1
    assert time.monotonic() - before < 30
