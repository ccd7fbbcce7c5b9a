from __future__ import annotations

from tidegate.plan.derived import NONE, Derived


def test_what_is_said_of_a_watermark() -> None:
    assert NONE.describe() == "none: no watermark is declared on it"
    assert not NONE.has_watermark
    own = Derived("orders.t", "t")
    assert own.describe() == "t"
    assert own.through("f(·)").through("g(·)").describe() == "g(f(t))"
    assert own.through("f(·)").unwrapped() == own
    two = Derived("orders.t", "t", others=(Derived("bids.u", "u"),))
    assert two.describe() == "min(t, u)"


def test_the_clock_is_itself_alone() -> None:
    clock = Derived("t.p", "p", clock=True)
    assert clock.is_clock
    assert not clock.through("f(·)").is_clock
