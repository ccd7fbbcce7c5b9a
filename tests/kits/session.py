"""A session's surroundings without Spark."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from kits.entries import an_entry
from tidegate import session as module
from tidegate.clock import Clock
from tidegate.epochs.entry import Entry
from tidegate.epochs.listener import Listener
from tidegate.plan.fragments import Plan
from tidegate.session import Job, Session
from tidegate.spark.launch.given import Given
from tidegate.spark.run_options import RunOptions
from tidegate.spark.stop import Stop

TABLES = """
CREATE TABLE orders (id BIGINT, at TIMESTAMP, WATERMARK FOR at AS at) WITH (connector = 'datagen');
CREATE TABLE shown (id BIGINT) WITH (connector = 'blackhole');
"""
INSERT = "INSERT INTO shown SELECT id FROM orders"


@dataclass
class FakeRun:
    run: Callable[[], Entry]


class FakeRuns:
    """Stands for `Driver`: a job runs until it is stopped, or fails when it is told to."""

    def __init__(self) -> None:
        self.options: list[RunOptions] = []
        self.plans: list[Plan] = []
        self.fails: Exception | None = None
        self.fails_later: Exception | None = None
        self.hangs: threading.Event | None = None

    def __call__(
        self,
        plan: Plan,
        options: RunOptions,
        clock: Clock,
        log: Any,  # noqa: ARG002
        listeners: tuple[Listener, ...],
        stop: Stop,
        given: Given,  # noqa: ARG002
    ) -> FakeRun:
        self.plans.append(plan)
        self.options.append(options)
        return FakeRun(lambda: self._run(clock, listeners, stop))

    def _run(self, clock: Clock, listeners: tuple[Listener, ...], stop: Stop) -> Entry:
        if self.fails is not None:
            raise self.fails
        for listener in listeners:
            listener.started()
            listener.on_epoch(an_entry(7, 1, counts={"orders": {"a": {"read": 3, "used": 3}}}))
        if self.hangs is not None:
            assert self.hangs.wait(30)
        if self.fails_later is not None:
            raise self.fails_later
        while not stop.requested:
            clock.sleep(0.01)
        return Entry(8, 2)


class Context:
    master = "local[7]"


class FakeSpark:
    sparkContext = Context()  # noqa: N815 -- Spark's name


def started(session: Session, text: str, **options: Any) -> Job:
    job = session.sql(text, **options)
    assert isinstance(job, Job)
    return job


def faked(monkeypatch: pytest.MonkeyPatch) -> FakeRuns:
    """What jobs are from now on; any Spark is good for them."""
    fake = FakeRuns()
    monkeypatch.setattr(module, "Driver", fake)
    monkeypatch.setattr(Given, "check", lambda _: None)
    return fake


def opened(directory: Path) -> Session:
    spark: Any = FakeSpark()
    return Session(spark, directory, {"tidegate.vnodes": 3})
