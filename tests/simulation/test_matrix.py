"""The page of conformance: what it says was run, is run; and nothing that is drawn is missing."""

from __future__ import annotations

from random import Random

from simulation.changing_page import BEGIN
from simulation.check import Ran, Shape, judged
from simulation.matrix import COLUMNS, PAGE, cells, operators, page
from simulation.on_spark import operators_on_spark
from simulation.runner import judge_batch


def rows_of_page() -> dict[str, list[str]]:
    lines = PAGE.read_text("utf-8").partition(BEGIN)[0].splitlines()
    table = [line.strip("|").split("|") for line in lines if line.startswith("|")][2:]
    return {cells[0].strip(): [cell.strip() for cell in cells[1:]] for cells in table}


def test_every_operator_was_run_in_every_world() -> None:
    """Of the sizes of epochs three suffice: the rarest joins are drawn once in a hundred seeds."""
    for operator, (*counts, on_spark) in rows_of_page().items():
        assert len(counts) == len(COLUMNS)
        missing = [
            column
            for column, count in zip(COLUMNS, counts, strict=True)
            if int(count.replace(",", "")) == 0
        ]
        assert len(missing) <= 1, (operator, missing)
        assert all(column.startswith("epochs") for column in missing), (operator, missing)
        assert on_spark == "yes", operator


def test_every_operator_is_run_on_spark() -> None:
    assert operators_on_spark() == set(rows_of_page())


def test_a_run_is_counted_once_in_each_of_its_columns() -> None:
    failure, runs = judged(0)
    assert failure is None
    assert len(runs) == 2  # in two worlds
    ran = runs[0]
    found = list(cells(ran))
    assert len(found) == len(set(found))
    for operator in operators(ran.job):
        columns = [column for name, column in found if name == operator]
        assert len([column for column in columns if column.startswith("epochs")]) == 1
        assert len([column for column in columns if "vnode" in column]) == 1
        assert ("late rows" in columns) == (ran.run.total.late > 0)
    assert isinstance(ran, Ran)
    assert ran.shape == Shape.draw(Random(0))


def test_the_page_has_a_line_for_each_operator() -> None:
    counts = judge_batch(range(2)).cells
    text = page(counts, 2, ["GROUP BY"])
    assert "2 seeds" in text
    for operator in {operator for operator, _ in counts}:
        (line,) = (line for line in text.splitlines() if line.startswith(f"| {operator} |"))
        assert line.endswith("| yes |" if operator == "GROUP BY" else "| no |")
