"""Finds the matches of a row pattern, of all starts at once (SQL:2016; see `plan.pattern`).

A *thread* is a way in which the rows from a start on may be taken: a state of the automaton. All
threads go one row further together, so a step costs some calls of numpy and of the engine, whatever
their number, and there are as many steps as the longest match has rows. The threads of a start
stand in the order of preference. One that is complete ends those behind it; those before it go on
and may still be preferred. Of threads of a start that are in one state, and of which the conditions
will see the same, only the first can matter.

What conditions see of earlier rows is kept in *registers* (the rows that a variable has taken
first and last) and *sums* (running aggregates). Conditions that see only the row itself, and rows a
fixed distance before it, are computed once for all rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tidegate.engine.engine import Engine
from tidegate.executor.columns import Bools, Int64s, moved, single_array
from tidegate.executor.evaluate import evaluate
from tidegate.executor.patterns.match_sums import Sums
from tidegate.plan.match import AGGREGATES, Condition, Look, MatchRecognize
from tidegate.plan.pattern import ACCEPT, Automaton, variables
from tidegate.types import END

NOTHING: Final = 0
MATCHED: Final = 1
OPEN: Final = 2
"""A start's fate: no match, one, or rows that come later decide."""
NO_ROW: Final = -1
Verdicts: TypeAlias = dict[int, Bools]


@dataclass(frozen=True, slots=True)
class Rows:
    """Known rows, partition by partition in their order.

    ``times`` are those of the pattern's time; ``first`` is for each row the number of its
    partition's first row, ``end`` the number behind its last.
    """

    data: pa.Table
    times: Int64s
    first: Int64s
    end: Int64s


@dataclass(frozen=True, slots=True)
class Taken:
    """Rows of matches, in the order of matches, and of rows.

    ``match`` and ``row`` are their numbers, ``variable`` what the row was taken as.
    """

    match: Int64s
    row: Int64s
    variable: Int64s


@dataclass(frozen=True, slots=True)
class Found:
    """What became of each of ``starts``; ``length`` is how many rows its match has.

    ``depth`` is how far the one that went furthest went.
    """

    starts: Int64s
    fate: npt.NDArray[np.int8]
    length: Int64s
    depth: int
    _last: Int64s  # the step with which the match ended
    _before: Int64s  # of each step, the one before it, or `NO_ROW`
    _variable: Int64s  # of each step, what the row was taken as

    def taken(self, which: Int64s) -> Taken:
        """The rows of the matches of ``starts[which]``."""
        steps, depth = self._last[which], self.length[which]
        numbers, matches, rows, variables = np.arange(len(which)), [], [], []
        while len(steps):
            depth = depth - 1
            matches.append(numbers)
            rows.append(self.starts[which[numbers]] + depth)
            variables.append(self._variable[steps])
            steps = self._before[steps]
            more = steps != NO_ROW
            steps, depth, numbers = steps[more], depth[more], numbers[more]
        match, row = _joined(matches), _joined(rows)
        order = np.lexsort((row, match))
        return Taken(match[order], row[order], _joined(variables)[order])


@dataclass(slots=True)
class _Threads:
    """Threads, those of a start together, in the order of preference."""

    owner: Int64s  # the start, by its number
    state: Int64s
    step: Int64s  # the last step
    registers: Int64s  # a row for each thread: numbers of rows, or `NO_ROW`
    sums: pa.Table | None

    def only(self, which: Int64s) -> _Threads:
        sums = None if self.sums is None else self.sums.take(pa.array(which))
        return _Threads(
            self.owner[which], self.state[which], self.step[which], self.registers[which], sums
        )


@dataclass(slots=True)
class _Steps:
    """How threads came about: each step with the one before it."""

    before: list[Int64s] = field(default_factory=list)
    variable: list[Int64s] = field(default_factory=list)
    count: int = 0

    def add(self, before: Int64s, variable: Int64s) -> Int64s:
        """New steps; gives their numbers."""
        self.before.append(before)
        self.variable.append(variable)
        start, self.count = self.count, self.count + len(before)
        return np.arange(start, self.count)


class Matcher:
    """Finds the matches of ``node``."""

    def __init__(self, node: MatchRecognize, engine: Engine) -> None:
        self._node = node
        self._engine = engine
        automaton = Automaton.of(node.pattern)
        self.names = variables(node.pattern)
        numbers = {name: number for number, name in enumerate(self.names)}
        self._variable = np.array([numbers[name] for name in automaton.variables], dtype=np.int64)
        follow = [automaton.entry, *automaton.after]
        self._counts = np.array([len(states) for states in follow], dtype=np.int64)
        self._begins = np.cumsum(self._counts) - self._counts
        self._follow = np.array([s for states in follow for s in states], dtype=np.int64)
        self._conditions = {numbers[each.variable]: each for each in node.conditions}
        looks = [look for each in node.conditions for look in each.looks]
        self._registers = _Registers(looks, numbers)
        sums = [look for look in looks if look.function in AGGREGATES]
        self._sums = Sums(sums, numbers, engine) if sums else None

    def at_once(self, rows: Rows) -> Verdicts:
        """Where the conditions hold that see no match: by variable, for all ``rows``."""
        found = {}
        for number, condition in self._conditions.items():
            if all(look.function == "prev" and not look.variable for look in condition.looks):
                row = np.arange(len(rows.times))
                seen = _Seen(rows, None, row, number, 0)
                found[number] = self._holds(condition, seen)
        return found

    def find(self, rows: Rows, at_once: Verdicts, starts: Int64s, bound: int) -> Found:
        """Tries ``starts``, numbers of rows, ascending; below ``bound`` all rows are known.

        ``at_once`` is of these ``rows``.
        """
        count = len(starts)
        fate = np.zeros(count, dtype=np.int8)
        length = np.zeros(count, dtype=np.int64)
        last = np.full(count, NO_ROW, dtype=np.int64)
        until = self._until(rows, starts)
        can_wait = np.full(count, bound != END) if until is None else until > bound
        steps = _Steps()
        threads = self._begun(count)
        depth = 0
        while len(threads.owner):
            threads, target = self._next(threads)
            threads, target, done, by = _completed(threads, target, count)
            fate[done], length[done], last[done] = MATCHED, depth, by
            row = starts[threads.owner] + depth
            is_behind = row >= rows.end[starts[threads.owner]]
            waiting = threads.owner[is_behind & can_wait[threads.owner]]
            fate[waiting] = OPEN
            alive = ~is_behind & (fate[threads.owner] != OPEN)
            if until is not None:
                alive[alive] = rows.times[row[alive]] < until[threads.owner[alive]]
            which = np.flatnonzero(alive)
            threads, target, row = threads.only(which), target[which], row[which]
            threads = self._taking(rows, threads, target, row, depth, at_once, steps)
            depth += 1
        return Found(
            starts, fate, length, depth, last, _joined(steps.before), _joined(steps.variable)
        )

    def _until(self, rows: Rows, starts: Int64s) -> Int64s | None:
        """The time before which a match of each start ends."""
        if self._node.within is None:
            return None
        return moved(rows.times[starts], self._node.within)

    def _begun(self, count: int) -> _Threads:
        """A thread for each start, which has taken no row."""
        none = np.full((count, self._registers.count), NO_ROW, dtype=np.int64)
        sums = None if self._sums is None else self._sums.begun(count)
        numbers = np.arange(count, dtype=np.int64)
        return _Threads(numbers, np.zeros_like(numbers), np.full_like(numbers, NO_ROW), none, sums)

    def _next(self, threads: _Threads) -> tuple[_Threads, Int64s]:
        """Each thread once for each state that may follow, and that state."""
        counts = self._counts[threads.state]
        which = np.repeat(np.arange(len(counts)), counts)
        place = np.arange(len(which)) - np.repeat(np.cumsum(counts) - counts, counts)
        target = self._follow[self._begins[threads.state[which]] + place]
        return threads.only(which), target

    def _taking(
        self,
        rows: Rows,
        threads: _Threads,
        target: Int64s,
        row: Int64s,
        depth: int,
        at_once: Verdicts,
        steps: _Steps,
    ) -> _Threads:
        """The threads that may take ``row`` as their ``target`` says, having done so."""
        variable = self._variable[target]
        if self._sums is not None and len(target):
            threads.sums = self._sums.added(threads.sums, rows.data, row, variable)
        holds = np.ones(len(target), dtype=np.bool_)
        for number in np.unique(variable).tolist():
            condition = self._conditions.get(number)
            which = np.flatnonzero(variable == number)
            if number in at_once:
                holds[which] = at_once[number][row[which]]
            elif condition is not None:
                seen = _Seen(rows, threads.only(which), row[which], number, depth)
                holds[which] = self._holds(condition, seen)
        which = np.flatnonzero(holds)
        threads, variable, row = threads.only(which), variable[which], row[which]
        threads.state = target[which] + 1
        threads.registers = self._registers.after(threads.registers, variable, row)
        kept = self._distinct(threads)
        threads, variable = threads.only(kept), variable[kept]
        threads.step = steps.add(threads.step, variable)
        return threads

    def _distinct(self, threads: _Threads) -> Int64s:
        """The first ones of those that will go the same way."""
        owner = threads.owner
        if len(owner) < 2 or not (owner[1:] == owner[:-1]).any():
            return np.arange(len(owner))
        columns = [owner, threads.state, *threads.registers.T]
        if self._sums is not None:
            columns.append(self._sums.alike(threads.sums))
        places = np.arange(len(owner))
        order = np.lexsort((places, *reversed(columns)))
        new = np.zeros(len(order), dtype=np.bool_)
        new[:1] = True
        for column in columns:
            new[1:] |= column[order][1:] != column[order][:-1]
        return np.sort(order[new])

    def _holds(self, condition: Condition, seen: _Seen) -> Bools:
        """For each row, whether it may be taken; NULL and failure are no."""
        if not len(seen.row):
            return np.zeros(0, dtype=np.bool_)
        predicate = condition.predicate
        looks = {look.output.name: look for look in condition.looks}
        columns = {}
        for name in sorted(predicate.columns) or [self._node.time]:
            look = looks.get(name)
            if look is None:
                columns[name] = seen.rows.data.column(name).take(pa.array(seen.row))
            elif look.function in AGGREGATES:
                assert self._sums is not None
                assert seen.threads is not None
                columns[name] = self._sums.value(look, seen.threads.sums)
            else:
                place = self._registers.place(look, seen)
                assert look.argument is not None
                column = seen.rows.data.column(look.argument.name)
                columns[name] = column.take(pa.array(place, mask=place == NO_ROW))
        (result,) = evaluate(self._engine, pa.table(columns), [predicate])
        holds: Bools = single_array(result).fill_null(False).to_numpy(zero_copy_only=False)
        return holds


@dataclass(frozen=True, slots=True)
class _Seen:
    """Rows that are tried, as ``variable``, by threads that have taken ``depth`` rows."""

    rows: Rows
    threads: _Threads | None
    row: Int64s
    variable: int
    depth: int


class _Registers:
    """Which rows are kept of each thread: of a variable the first ones, and the last ones."""

    def __init__(self, looks: Sequence[Look], numbers: dict[str, int]) -> None:
        self._numbers = numbers
        self._columns: dict[tuple[str, int], tuple[int, int]] = {}  # (end, variable): where, many
        self.count = 0
        for end in ("first", "last"):
            for name, number in numbers.items():
                offsets = [
                    0 if look.function == "prev" else look.offset
                    for look in looks
                    if look.variable == name and look.function in (end, *["prev"] * (end == "last"))
                ]
                if offsets:
                    self._columns[end, number] = self.count, max(offsets) + 1
                    self.count += max(offsets) + 1

    def after(self, registers: Int64s, variable: Int64s, row: Int64s) -> Int64s:
        """``registers`` once each thread's ``row`` has been taken as ``variable``."""
        result = registers.copy()
        for (end, number), (start, many) in self._columns.items():
            which = np.flatnonzero(variable == number)
            part = registers[which, start : start + many]
            if end == "last":
                result[which, start + 1 : start + many] = part[:, :-1]
                result[which, start] = row[which]
                continue
            free = np.argmax(part == NO_ROW, axis=1) if len(which) else np.empty(0, dtype=np.int64)
            has_room = (part == NO_ROW).any(axis=1)
            result[which[has_room], start + free[has_room]] = row[which[has_room]]
        return result

    def place(self, look: Look, seen: _Seen) -> Int64s:
        """The row that ``look`` sees, if the one being tried is taken; `NO_ROW`: there is none."""
        row = seen.row
        if look.function == "prev":
            last = self._of_end("last", look.variable, 0, seen)
            found = last - look.offset
            return np.where((last != NO_ROW) & (found >= seen.rows.first[row]), found, NO_ROW)
        return self._of_end(look.function, look.variable, look.offset, seen)

    def _of_end(self, end: str, name: str, offset: int, seen: _Seen) -> Int64s:
        row = seen.row
        if not name:
            place = row - offset if end == "last" else row - seen.depth + offset
            return np.where(offset <= seen.depth, place, NO_ROW)
        assert seen.threads is not None
        number = self._numbers[name]
        start, _ = self._columns[end, number]
        registers = seen.threads.registers
        if number != seen.variable:
            return registers[:, start + offset]
        if end == "last":
            return row if offset == 0 else registers[:, start + offset - 1]
        known = registers[:, start + offset]
        is_next = registers[:, start + offset - 1] != NO_ROW if offset else True
        return np.where((known == NO_ROW) & is_next, row, known)


def _completed(
    threads: _Threads, target: Int64s, count: int
) -> tuple[_Threads, Int64s, Int64s, Int64s]:
    """Without what is complete, and what is behind that; then the starts, and with which step."""
    places = np.flatnonzero(target == ACCEPT)
    if not len(places):
        none = np.empty(0, dtype=np.int64)
        return threads, target, none, none
    done, at = np.unique(threads.owner[places], return_index=True)
    cut = np.full(count, len(target), dtype=np.int64)
    cut[done] = places[at]
    kept = np.flatnonzero(np.arange(len(target)) < cut[threads.owner])
    return threads.only(kept), target[kept], done, threads.step[places[at]]


def _joined(parts: list[Int64s]) -> Int64s:
    return np.concatenate(parts) if parts else np.empty(0, dtype=np.int64)
