from __future__ import annotations

from pathlib import Path

import pytest

from kits.spark import new_checkpoint, write_log
from tidegate.epochs.checkpoint import Checkpoint
from tidegate.epochs.entry import Entry
from tidegate.epochs.parallelism import Rescale, Rescales, parallelism_of
from tidegate.errors import OptionsError, TrustError

UP = Rescale(before=2, after=4, epoch=7, time_us=70)
DOWN = Rescale(before=4, after=1, epoch=9, time_us=90)


@pytest.fixture
def checkpoint(tmp_path: Path) -> Checkpoint:
    return new_checkpoint(tmp_path)


def commit(checkpoint: Checkpoint, epoch: int) -> None:
    write_log(checkpoint, "commits", epoch - 1, "v1\n{}")


def test_a_job_that_was_not_rescaled_has_what_it_began_with(checkpoint: Checkpoint) -> None:
    assert Rescales(checkpoint).pending is None
    assert parallelism_of(checkpoint, 2) == 2
    assert not (Path(checkpoint.uri) / "rescales").exists()


def test_a_rescale_holds_once_spark_has_committed_its_epoch(checkpoint: Checkpoint) -> None:
    Rescales(checkpoint).begin(UP)
    begun = Rescales(checkpoint)
    assert begun.pending == UP
    assert begun.parallelism(2) == 2
    with pytest.raises(OptionsError, match="half way from 2 parallel tasks to 4") as caught:
        parallelism_of(checkpoint, 2)
    assert "--parallelism 4 again, which finishes it" in caught.value.hint
    assert "with 2, which undoes it" in caught.value.hint

    checkpoint.write_entry(Entry(7, 70))
    assert Rescales(checkpoint).pending == UP, "the entry alone commits nothing"
    commit(checkpoint, 7)
    assert Rescales(checkpoint).pending is None
    assert parallelism_of(checkpoint, 2) == 4


def test_it_holds_when_spark_has_forgotten_the_commit(checkpoint: Checkpoint) -> None:
    Rescales(checkpoint).begin(UP)
    checkpoint.write_entry(Entry(8, 80))
    assert parallelism_of(checkpoint, 2) == 4


def test_the_last_of_many_counts(checkpoint: Checkpoint) -> None:
    rescales = Rescales(checkpoint)
    rescales.begin(UP)
    commit(checkpoint, 7)
    rescales.begin(DOWN)
    assert rescales.pending == Rescales(checkpoint).pending == DOWN
    assert rescales.parallelism(2) == 4
    rescales.forget_pending()
    assert rescales.pending is None
    assert rescales.parallelism(2) == parallelism_of(checkpoint, 2) == 4
    rescales.begin(DOWN)
    commit(checkpoint, 9)
    assert parallelism_of(checkpoint, 2) == 1


def test_of_two_that_begin_one_does(checkpoint: Checkpoint) -> None:
    one, other = Rescales(checkpoint), Rescales(checkpoint)
    one.begin(UP)
    with pytest.raises(FileExistsError):
        other.begin(DOWN)
    assert Rescales(checkpoint).pending == UP


@pytest.mark.parametrize("text", ["", "{", "[]", "7", '{"after": 4}', "other"])
def test_a_record_that_cannot_be_read(checkpoint: Checkpoint, text: str) -> None:
    Rescales(checkpoint).begin(UP)
    path = Path(checkpoint.uri) / "rescales/000001.json"
    other = path.read_text().replace('"after":4', '"after":3')
    path.write_text(other if text == "other" else text)
    with pytest.raises(TrustError, match=str(path)):
        Rescales(checkpoint)
