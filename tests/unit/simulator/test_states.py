from __future__ import annotations

from tidegate.simulator.states import States

PLACE = (1, 0, "op.2")


def test_a_table_is_as_it_was_behind_an_epoch() -> None:
    states = States()
    for epoch in (1, 2, 3):
        states.table(PLACE).put("n", b"%d" % epoch)
        states.save(epoch)
    assert states.table(PLACE).values == {"n": b"3"}
    assert not states.table(PLACE).buckets()
    assert states.rows == 0
    states.table(PLACE).put("n", b"4")
    states.restore(2)
    assert states.table(PLACE).get("n") == b"2"
    states.table(PLACE).put("n", b"?")
    states.restore(2)
    assert states.table(PLACE).get("n") == b"2"


def test_before_the_first_epoch_there_is_nothing() -> None:
    states = States()
    states.table(PLACE).put("n", b"1")
    states.restore(0)
    assert states.table(PLACE).get("n") is None
