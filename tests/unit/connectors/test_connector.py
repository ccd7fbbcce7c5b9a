"""What is so of a connector that says nothing else."""

from __future__ import annotations

from dataclasses import FrozenInstanceError

import pytest

from tidegate.connectors.connector import Connector, with_key, with_option
from tidegate.connectors.option_types import SourceOptions
from tidegate.errors import OptionsError
from tidegate.plan.tables import Table
from tidegate.ports import Stage
from unit.connectors.files_kit import COLUMNS, ENGINE

PLAIN = Connector(name="plain", aliases={"rows": "number-of-rows"})
TABLE = Table("t", COLUMNS, "plain", "", (("number-of-rows", "5"),))


def test_it_is_frozen() -> None:
    with pytest.raises(FrozenInstanceError):
        PLAIN.name = "other"  # type: ignore[misc]


def test_roles_that_it_has_not() -> None:
    assert (PLAIN.source, PLAIN.sink) == (None, None)
    source = "connector 'plain' of table 't' cannot be a source"
    with pytest.raises(OptionsError, match=source):
        PLAIN.planner(TABLE, False)
    with pytest.raises(OptionsError, match=source):
        PLAIN.reader(TABLE, ENGINE)
    sink = "connector 'plain' of table 't' cannot be a sink"
    with pytest.raises(OptionsError, match=sink):
        PLAIN.writer(TABLE, Stage("", 0, "0"))
    with pytest.raises(OptionsError, match=sink):
        PLAIN.committer(TABLE, "")


def test_what_is_so_of_most() -> None:
    assert PLAIN.is_bounded(TABLE)
    assert not PLAIN.may_be_idle({"number-of-rows"})
    assert PLAIN.ends_now(TABLE, ["a"]) == {}
    assert PLAIN.offset_at(5) is None
    assert PLAIN.columns_of_key_alone(TABLE) == ()
    assert not PLAIN.takes_changes(TABLE)
    assert PLAIN.key(TABLE) is None
    assert PLAIN.as_bytes(TABLE) is None
    assert PLAIN.passes_on == ""
    PLAIN.check_passed_on("properties.a", "1")
    assert not PLAIN.is_secret("password", "sesame")
    assert PLAIN.is_path("path", "x")
    assert PLAIN.is_path("journal.dir", "x")
    assert not PLAIN.is_path("pathological", "x")
    assert not PLAIN.runs_code("path")
    assert not PLAIN.feeds(TABLE, TABLE)
    assert PLAIN.resolved(TABLE) is TABLE
    assert PLAIN.same_table(TABLE) == PLAIN.same_target(TABLE) == TABLE
    PLAIN.check(TABLE, "source")


def test_an_option_has_one_canonical_name() -> None:
    assert PLAIN.canonical(" Rows ") == "number-of-rows"
    assert PLAIN.canonical("Nothing") == "nothing"


def test_alignment_makes_no_other_table() -> None:
    read = Connector(name="plain", source=SourceOptions)
    table = Table("t", COLUMNS, "plain", "")
    in_group = with_option(table, "scan.watermark.alignment.group", "g")
    in_group = with_option(in_group, "scan.watermark.alignment.max-drift", "1 s")
    assert read.same_table(in_group) == table
    options = read.read_options(in_group)
    assert (options.alignment_group, options.max_drift_us) == ("g", 1_000_000)
    assert (options.idle_timeout_us, options.alignment_interval_us) == (0, 1_000_000)
    options = read.read_options(table)
    assert (options.alignment_group, options.max_drift_us) == ("", None)
    assert (options.idle_timeout_us, options.alignment_interval_us) == (0, 1_000_000)


def test_options_are_sorted() -> None:
    keyed = with_key(TABLE, ("b;c", "a"))
    assert keyed.options == (("key.fields", '"b;c";a'), ("number-of-rows", "5"))
    assert with_option(keyed, "number-of-rows", "6").option("number-of-rows") == "6"
