from __future__ import annotations

import numpy as np
import pytest

from tidegate.connectors.generated import (
    GeneratedOptions,
    behind_us,
    random_words,
    rows_of_split,
)


@pytest.mark.parametrize(("rows", "splits"), [(0, 3), (5, 2), (7, 3), (2, 4)])
def test_rows_are_spread_over_all_splits(rows: int, splits: int) -> None:
    shares = [rows_of_split(rows, splits, index) for index in range(splits)]
    assert sum(shares) == rows
    assert max(shares) - min(shares) <= 1


def test_words_follow_from_seed_split_name_and_number() -> None:
    numbers = np.arange(1000, dtype=np.int64)
    words = random_words(1, 2, "a", numbers)
    assert np.array_equal(words[300:400], random_words(1, 2, "a", numbers[300:400]))
    for other in (random_words(0, 2, "a", numbers), random_words(1, 0, "a", numbers)):
        assert not np.array_equal(words, other)
    assert not np.array_equal(words, random_words(1, 2, "b", numbers))
    assert len(set(words.tolist())) == 1000


def test_rows_are_moved_back_by_the_disorder_and_some_by_more() -> None:
    numbers = np.arange(20_000, dtype=np.int64)
    assert not behind_us(GeneratedOptions.model_validate({}), 0, numbers).any()
    some = {"seed": "3", "disorder": "5 s", "late-share": "0.1"}
    behind = behind_us(GeneratedOptions.model_validate(some), 0, numbers)
    late = behind > 5_000_000
    assert 0.08 < late.mean() < 0.12
    assert behind.min() >= 0
    assert 12_000_000 < behind.max() <= 16_000_001
