from __future__ import annotations

from tidegate.events import Events


def test_each_is_told_once() -> None:
    events = Events()
    assert events.take() == {}
    for name in "aba":
        events.happened(name)
    assert events.take() == {"a": 2, "b": 1}
    assert events.take() == {}
