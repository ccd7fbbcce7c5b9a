"""The values that options hold."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import TypeAdapter, ValidationError

from tidegate.connectors.option_types import (
    Character,
    CsvOptions,
    Margins,
    OptionProblem,
    Options,
    SourceOptions,
    list_of,
    names_in,
)

SECOND = 1_000_000


def source(**given: Any) -> SourceOptions:
    named = {f"scan.watermark.{name.replace('_', '.')}": value for name, value in given.items()}
    return SourceOptions.model_validate(named)


def refused(model: Any, given: dict[str, Any]) -> str:
    with pytest.raises(ValidationError) as caught:
        model.model_validate(given)
    return str(caught.value.errors()[0]["msg"])


def test_a_problem_names_the_option_as_it_was_written() -> None:
    problem = OptionProblem("Scan.Mode", "it is wrong", hint="write another")
    assert (problem.option, problem.message, problem.hint, problem.exit_code) == (
        "Scan.Mode",
        "it is wrong",
        "write another",
        2,
    )


def test_unknown_names_are_refused_and_values_frozen() -> None:
    assert "not permitted" in refused(Options, {"other": "1"})
    with pytest.raises(ValidationError, match="frozen"):
        source().unit = "s"


def test_defaults_of_sources() -> None:
    options = source()
    assert (options.max_future_skew_us, options.unit, options.emit_strategy) == (
        3600 * SECOND,
        "ms",
        "on-event",
    )
    assert (options.quantile, options.records, options.delay_us_min) == (0.95, 5_000, 50_000)
    assert options.margins == (
        (250, 7 * 24 * 3600 * SECOND),
        (500, 30 * SECOND),
        (750, 10 * SECOND),
        (1_000, SECOND),
    )


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("", ()),
        ("250:7d", ((250, 7 * 24 * 3600 * SECOND),)),
        (" 1:1s , 2:500 ms,", ((1, SECOND), (2, SECOND // 2))),
        (((5, 6),), ((5, 6),)),
    ],
)
def test_margins(text: Any, value: tuple[tuple[int, int], ...]) -> None:
    assert TypeAdapter[Any](Margins).validate_python(text) == value


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("250", "'250' is not a margin"),
        ("x:1s", "'x:1s' is not a margin"),
        ("-1:1s", "'-1:1s' is not a margin"),
        ("1:soon", "not a duration"),
        ("2:1s,1:1s", "must rise"),
        ("1:1s,1:2s", "must rise"),
    ],
)
def test_margins_that_are_none(text: str, told: str) -> None:
    with pytest.raises(ValidationError, match=told):
        TypeAdapter[Any](Margins).validate_python(text)


@pytest.mark.parametrize(("text", "value"), [(";", ";"), ("\\t", "\t"), ("\t", "\t"), ("|", "|")])
def test_characters(text: str, value: str) -> None:
    assert TypeAdapter[str](Character).validate_python(text) == value


@pytest.mark.parametrize("text", ["", "ab", "\n", "\r", "ü"])
def test_no_characters(text: str) -> None:
    with pytest.raises(ValidationError, match="one ASCII character"):
        TypeAdapter[str](Character).validate_python(text)


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"max-future-skew": "soon"}, "not a duration"),
        ({"max-future-skew": "-1s"}, "not a duration"),
        ({"unit": "minutes"}, "Input should be 's', 'ms', 'us' or 'none'"),
        ({"emit_strategy": "never"}, "on-event"),
        ({"idle-timeout": "1s"}, "less than or equal to 0"),  # only where a source is read live
        ({"source_quantile": "0"}, "greater than 0"),
        ({"source_quantile": "1.1"}, "less than or equal to 1"),
        ({"source_records": "0"}, "greater than or equal to 1"),
        ({"source_delay_min": "2s", "source_delay_max": "1s"}, "is more than"),
    ],
)
def test_what_sources_refuse(given: dict[str, str], told: str) -> None:
    with pytest.raises(ValidationError, match=told):
        source(**given)


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"csv.quote-character": ","}, "must differ from the field delimiter"),
        ({"csv.field-delimiter": '"'}, "must differ from the field delimiter"),
        ({"csv.null-literal": "a,b"}, "must hold no delimiter"),
        ({"csv.null-literal": 'a"'}, "must hold no delimiter"),
        ({"csv.null-literal": "a\n"}, "must hold no delimiter"),
    ],
)
def test_csv_signs_that_do_not_go_together(given: dict[str, str], told: str) -> None:
    assert told in refused(CsvOptions, given)


def test_csv_signs() -> None:
    options = CsvOptions.model_validate({"csv.field-delimiter": "\\t", "csv.header": "true"})
    assert (options.delimiter, options.quote, options.null_literal, options.header) == (
        "\t",
        '"',
        "",
        True,
    )


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("", ()),
        (" ; ,", ()),
        ("a", ("a",)),
        (" a b ;c, d;", ("a b", "c", "d")),
        ('"a;b", "c,d" ;"e""f"', ("a;b", "c,d", 'e"f')),
        ('a"b;"c"d', ('a"b', '"c"d')),
        ('"a', ('"a',)),
        ('""', ()),
    ],
)
def test_names_of_a_list(text: str, names: tuple[str, ...]) -> None:
    assert names_in(text) == names
    assert names_in(list_of(names)) == names


def test_names_of_a_list_that_need_quotes() -> None:
    names = ("plain", "in between", 'in"side', "a;b", "a,b", ' "', '"a"', '"', '";"')
    assert list_of(names).startswith('plain;in between;in"side;"a;b";')
    assert names_in(list_of(names)) == names
