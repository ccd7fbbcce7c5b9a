from __future__ import annotations

import pytest

from kits.frontend import plan
from tidegate.errors import BindError


@pytest.mark.parametrize(
    ("text", "said", "hint"),
    [
        ("id - INTERVAL '5' SECOND", "an INTERVAL cannot be taken from a BIGINT",
         "write id - 5000 where it counts milliseconds; or compute a time: TO_TIMESTAMP_LTZ(id"),
        ("id + 1 + INTERVAL '1 hour'", "an INTERVAL cannot be added to a BIGINT",
         "write … + 3600000 where"),
        ("price - INTERVAL '1' MONTH", "an INTERVAL cannot be taken from a DECIMAL(28,10)",
         "compute a time: TO_TIMESTAMP_LTZ(price, 3) takes milliseconds"),
        ("(id - id * INTERVAL '1' SECOND)", "an INTERVAL cannot be taken from a BIGINT",
         "compute a time"),
        ("CAST(id AS STRING) - '5' SECOND", "an INTERVAL cannot be taken from a VARCHAR",
         "convert the text: to_timestamp(…)"),
        ("order_time - '5 seconds'", "a text is neither added to nor taken from a time",
         "write an interval: INTERVAL '5' SECOND"),
        ("id > now() - INTERVAL '5' SECOND", "a BIGINT is not compared with a time",
         "convert it: TO_TIMESTAMP_LTZ(id, 3) takes milliseconds"),
        ("order_time <= id", "a BIGINT is not compared with a time",
         "convert it: TO_TIMESTAMP_LTZ(id, 3) takes milliseconds"),
        ("extract(hor FROM order_time)", "'HOR' is no part of a time", "did you mean 'hour'?"),
        ("date_trunc('mont', order_time)", "'mont' is no part of a time", "did you mean 'month'?"),
        ("order_time - INTERVAL '5' SECNOD", "'5' is not an interval of SECNOD",
         "did you mean 'SECOND'?"),
    ],
)  # fmt: skip
def test_what_does_not_fit_is_said_with_what_to_write(text: str, said: str, hint: str) -> None:
    with pytest.raises(BindError) as caught:
        plan(f"SELECT {text} AS x FROM orders")
    assert said in caught.value.message
    assert hint in caught.value.hint


def test_other_misfits_keep_what_duckdb_says() -> None:
    with pytest.raises(BindError) as caught:
        plan("SELECT id * order_time AS x FROM orders")
    assert "No function matches" in caught.value.detail
