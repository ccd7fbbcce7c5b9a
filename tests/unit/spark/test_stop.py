from __future__ import annotations

import os
import signal
import threading

import pytest

from tidegate.spark.stop import Stop

NUMBERS = (signal.SIGINT, signal.SIGTERM)


@pytest.mark.parametrize("number", NUMBERS)
def test_one_signal_asks_two_insist(number: signal.Signals) -> None:
    before = [signal.getsignal(n) for n in NUMBERS]
    with Stop() as stop:
        assert not stop.requested
        os.kill(os.getpid(), number)
        assert stop.requested
        assert not stop.at_once
        os.kill(os.getpid(), signal.SIGINT)
        assert stop.at_once
        assert [signal.getsignal(n) for n in NUMBERS] == before, "a third one has its usual effect"
    assert [signal.getsignal(n) for n in NUMBERS] == before


def test_signals_are_taken_again_from_whoever_took_them() -> None:
    before = signal.getsignal(signal.SIGINT)
    with Stop() as stop:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        stop.reinstall()
        os.kill(os.getpid(), signal.SIGINT)
        assert stop.requested
    assert signal.getsignal(signal.SIGINT) == before


def test_one_that_is_not_open_takes_nothing() -> None:
    before = signal.getsignal(signal.SIGINT)
    Stop().reinstall()
    assert signal.getsignal(signal.SIGINT) == before


def test_other_threads_leave_signals_alone() -> None:
    before = signal.getsignal(signal.SIGINT)
    seen = []

    def run() -> None:
        with Stop():
            seen.append(signal.getsignal(signal.SIGINT))

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    assert seen == [before]
