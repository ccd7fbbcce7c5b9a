from __future__ import annotations

from collections.abc import Collection, Mapping

import pytest

from tidegate.clock import ManualClock
from tidegate.epochs.alignment import Alignment, Split
from tidegate.epochs.entry import Entry, FilterLog
from tidegate.errors import BindError
from tidegate.frontend import compile as compile_sql
from tidegate.plan.fragments import cut
from tidegate.types import FilterState, Status

TABLE = """
CREATE TABLE {name} (at BIGINT, WATERMARK FOR at AS at) WITH ('connector' = 'kafka',
  'topic' = '{name}', 'properties.bootstrap.servers' = 'b:1', 'format' = 'json'{options});
CREATE TABLE {name}_out (at BIGINT) WITH ('connector' = 'blackhole');
INSERT INTO {name}_out SELECT at FROM {name};
"""
GROUP = """, 'scan.watermark.alignment.group' = '{0}',
  'scan.watermark.alignment.max-drift' = '10 s',
  'scan.watermark.alignment.update-interval' = '1 s'"""
WHOLE = "SET 'pipeline.watermark-alignment.allow-unaligned-source-splits' = 'true';"


class World:
    """Tables a and b in one group, c in another, d in none."""

    def __init__(self, settings: str = "", options: str = "") -> None:
        groups = {"a": "one", "b": "one", "c": "two", "d": ""}
        text = settings + "".join(
            TABLE.format(name=name, options=(GROUP.format(group) if group else "") + options)
            for name, group in groups.items()
        )
        self.clock = ManualClock()
        plan = cut(compile_sql(text, "job.sql", {}), vnodes=2)
        self.alignment = Alignment(plan, self.clock.monotonic_s)

    def held(
        self,
        seconds: Mapping[str, Mapping[str, int | None]],
        resting: Collection[Split] = (),
        idle: Collection[Split] = (),
        waiting: set[Split] | None = None,
    ) -> set[Split]:
        """What is held when the splits' watermarks are so many seconds; all have rows."""
        splits = {(table, split) for table, known in seconds.items() for split in known}
        filters = {
            f"{table}.at": {
                split: FilterState(None if at is None else at * 1000) for split, at in known.items()
            }
            for table, known in seconds.items()
        }
        statuses = {
            table: {
                split: Status.IDLE if (table, split) in idle else Status.ACTIVE for split in known
            }
            for table, known in seconds.items()
        }
        entry = Entry(1, 1, filters=FilterLog(filters))
        return self.alignment.held(entry, statuses, splits if waiting is None else waiting, resting)


def test_whoever_is_too_far_ahead_of_the_group_waits() -> None:
    at = {"a": {"0": 100, "1": 111}, "b": {"0": 110, "1": 115}, "c": {"0": 900}, "d": {"0": 999}}
    assert World().held(at) == {("a", "1"), ("b", "1")}


def test_groups_do_not_know_of_each_other() -> None:
    at = {"a": {"0": 100}, "c": {"0": 500, "1": 511}}
    assert World().held(at) == {("c", "1")}


def test_idle_splits_and_those_at_rest_hold_nobody() -> None:
    at = {"a": {"0": 100}, "b": {"0": 200, "1": 205}}
    assert World().held(at) == {("b", "0"), ("b", "1")}
    assert World().held(at, idle={("a", "0")}) == set()
    assert World().held(at, resting={("a", "0")}) == set()


def test_a_split_that_never_had_a_row_holds_nobody() -> None:
    assert World().held({"a": {"0": None}, "b": {"0": 200}}) == set()


def test_the_minimum_is_used_for_the_interval_but_never_stops_all() -> None:
    world = World()
    assert world.held({"a": {"0": 100}, "b": {"0": 105}}) == set()
    world.clock.sleep(0.5)
    assert world.held({"a": {"0": 104}, "b": {"0": 111}}) == {("b", "0")}
    assert world.held({"a": {"0": 111}, "b": {"0": 112}}) == set(), "all would wait: looked anew"
    world.clock.sleep(1)
    assert world.held({"a": {"0": 120}, "b": {"0": 129}}) == set()


def test_a_group_whose_slowest_has_no_rows_waits_for_it() -> None:
    at = {"a": {"0": 100}, "b": {"0": 200}}
    assert World().held(at, waiting={("b", "0")}) == {("b", "0")}


@pytest.mark.slow
def test_tables_as_a_whole() -> None:
    at = {"a": {"0": 100, "1": 150}, "b": {"0": 111, "1": 105}}
    assert World().held(at) == {("a", "1"), ("b", "0")}
    assert World(WHOLE).held(at) == set(), "each has a split that is near"
    later = {"a": {"0": 100}, "b": {"0": 111, "1": 120}}
    assert World(WHOLE).held(later) == {("b", "0"), ("b", "1")}


def test_a_number_that_is_no_time_cannot_be_aligned() -> None:
    with pytest.raises(BindError, match="table 'a' is in alignment group 'one', but has no"):
        World(options=", 'scan.watermark.unit' = 'none'")
