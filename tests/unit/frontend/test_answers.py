from __future__ import annotations

from tidegate.frontend.answers import Answer

_ANSWER = Answer((("table", "t"),), "columns", ("Column Name", "Kind"), (("a", "x"), ("bcd", "")))


def test_for_people() -> None:
    assert _ANSWER.text() == (
        """\
+-------------+------+
| Column Name | Kind |
+-------------+------+
| a           | x    |
| bcd         |      |
+-------------+------+"""
    )


def test_for_programs() -> None:
    assert _ANSWER.document() == {
        "table": "t",
        "columns": [{"column_name": "a", "kind": "x"}, {"column_name": "bcd", "kind": ""}],
    }
