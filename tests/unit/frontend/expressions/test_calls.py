from __future__ import annotations

import pytest

from kits.frontend import job
from tidegate.errors import SqlError


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("today()", "it reads the clock; cast PROC_TIME() instead"),
        ("random()", "does not follow from the row alone"),
        ("pg_sleep(1)", "does not follow from the row alone"),
        ("read_text('/etc/passwd')", "it reads files"),
        ("json_pretty('{}')", "its cost grows faster than its argument"),
        ("range(3)", "it makes rows, or as many elements as a number says"),
        ("list_aggregate([1], 'sum')", "it calls whatever function its argument names"),
        ("levenstein('a', 'b')", "did you mean 'levenshtein'?"),
        ("regexp_match('a', 'b')", "did you mean 'regexp_matches'?"),
        ("nosuchthing(1)", "docs/functions.md has all that are"),
        ("customer_name GLOB 'x'", "this operator is not allowed"),
        ("customer_name COLLATE de", "this operator is not allowed"),
    ],
)
def test_what_is_not_allowed_is_an_error_that_says_why(text: str, said: str) -> None:
    with pytest.raises(SqlError) as caught:
        job(f"SELECT {text} AS x FROM plain")
    assert said in caught.value.render()
