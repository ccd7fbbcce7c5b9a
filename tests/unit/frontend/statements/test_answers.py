from __future__ import annotations

from tidegate.frontend.statements.answers import Explained, Listing

_ANSWER = Listing((("table", "t"),), "columns", ("Column Name", "Kind"), (("a", "x"), ("bcd", "")))


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


def test_a_plan() -> None:
    explained = Explained(("job f: 1 source", "", "fragment 0"))
    assert explained.text() == "job f: 1 source\n\nfragment 0"
    assert explained.document() == {"plan": ["job f: 1 source", "", "fragment 0"]}
