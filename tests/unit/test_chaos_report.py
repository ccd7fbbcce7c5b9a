from __future__ import annotations

from chaos.report import Kill, slow_epochs
from chaos.watch import Sample


def _kill(at_s: float) -> Kill:
    return Kill(at_s, "killed", 1.0, 1.0, 1.0)


def test_epochs_that_a_fault_has_made_slow() -> None:
    """An epoch a second, but two of six seconds, and none while the driver does not answer."""
    times = [*range(20), 26, 27, 28, 34, *range(35, 50)]
    samples = [Sample(float(at_s), epoch) for epoch, at_s in enumerate(times)]
    samples.insert(30, Sample(36.5, -1))
    kills = [_kill(5.0), _kill(19.5), _kill(40.0)]
    assert slow_epochs(kills, samples) == [0, 2, 0]


def test_nothing_was_seen() -> None:
    assert slow_epochs([_kill(1.0)], []) == [0]
