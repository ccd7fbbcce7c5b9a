"""The condition of a join with the versions valid at a time: FOR SYSTEM_TIME AS OF (S4, S5).

Equations are keys, and what a version is of; the times decide which of a key's versions it is. So
the keys decide what is kept.
"""

from __future__ import annotations

from sqlglot import exp

from tidegate.errors import BindError, Position, UnsupportedError
from tidegate.frontend.ast.queries import Scalar
from tidegate.frontend.expressions.scalar import plan_column
from tidegate.frontend.expressions.scope import article
from tidegate.frontend.queries.changes import CHANGE
from tidegate.frontend.queries.join_bounds import moment
from tidegate.frontend.queries.join_condition import JoinCondition, shaped
from tidegate.frontend.source import Span
from tidegate.plan.joins import JoinKind, TemporalJoin


class VersionsCondition(JoinCondition):
    """The condition of one join: `take` all of it, then make the `temporal_join`."""

    def temporal_join(
        self, kind: JoinKind, as_of: Scalar, key: tuple[str, ...] = ()
    ) -> TemporalJoin:
        """The plan's node of a join with the versions that were valid at the time ``as_of``.

        Versions are those of ``key``, the right side's primary key, where it has one: other
        equations are then about the version.
        """
        place = as_of.span.place
        if kind not in (JoinKind.INNER, JoinKind.LEFT):
            raise UnsupportedError(
                f"FOR SYSTEM_TIME AS OF takes JOIN or LEFT JOIN, not {kind} JOIN",
                place,
                hint="write JOIN or LEFT JOIN",
            )
        times = (self._time_as_of(as_of, place), self._time_of_versions(place))
        one, other = (self._type_of(time) for time in times)
        if one != other:
            raise BindError(
                f"'{self._shown(times[0])}' is {article(one)}, the versions' time"
                f" '{self._shown(times[1])}' {article(other)}",
                place,
                hint="declare both of one type",
            )
        if not self._keys:
            raise BindError(
                "a join FOR SYSTEM_TIME AS OF needs an equation of keys: whose version?",
                place,
                hint="write ON left.key = right.key",
            )
        if key:
            self._keep(key, place)
        self._leave_out_what_is_gone(as_of.span)
        left, right, condition = self._parts(None)
        keys = tuple(self._keys)
        return shaped(TemporalJoin((), left, right, kind, keys, times, 0, 0, condition))

    def _leave_out_what_is_gone(self, span: Span) -> None:
        """Of a table that changes, a version may say that the row is gone."""
        for column in self._sides[1].schema:
            if column.name.startswith(CHANGE):
                odd = exp.Mod(this=plan_column(column.name), expression=exp.Literal.number(2))
                part = exp.EQ(this=odd, expression=exp.Literal.number(0))
                self._rest.append(part)
                self._texts[part] = "it is there"
                self._span = self._span or span

    def _keep(self, key: tuple[str, ...], place: Position) -> None:
        """Makes conditions of the equations that are not about ``key``."""
        key = tuple(self._casts.get(name, name) for name in key)
        missing = [name for name in key if all(name != right for _, right in self._keys)]
        if missing:
            shown = " and ".join(self._shown(name) for name in missing)
            raise BindError(
                f"versions are those of the PRIMARY KEY, and ON does not say what {shown} is",
                place,
                hint=f"add an equation of {shown} to ON",
            )
        for left, right in self._keys:
            if right not in key:
                part = exp.EQ(this=plan_column(left), expression=plan_column(right))
                self._rest.append(part)
                self._texts[part] = f"{left} = {right}"
        self._keys = [pair for pair in self._keys if pair[1] in key]

    def _time_as_of(self, as_of: Scalar, place: Position) -> str:
        found = moment(self._binder, self._binder.resolve(as_of))
        is_left = found is not None and self._side_of(found.column) == 0
        if found is None or found.shift or not is_left:
            raise UnsupportedError(
                "FOR SYSTEM_TIME AS OF takes a time column of the left side",
                place,
                hint="for the version of the moment, declare a column p AS PROCTIME() in CREATE"
                " TABLE of the left side",
            )
        lost = self._known[0][found.column].lost
        if lost:
            raise BindError(
                f"FOR SYSTEM_TIME AS OF '{self._shown(found.column)}': the column has no watermark",
                place,
                detail=f"{self._shown(found.column)}: {lost}",
                hint="declare WATERMARK FOR it in CREATE TABLE",
            )
        return found.column

    def _time_of_versions(self, place: Position) -> str:
        known = self._known[1]
        timed = [name for name, of in known.items() if of.has_watermark]
        if len(timed) > 1:  # versions are of an event time, where there is one
            timed = [name for name in timed if not known[name].clock] or timed
        if len(timed) != 1:
            shown = ", ".join(self._shown(name) for name in timed)
            raise BindError(
                "the right side has no time with a watermark from which its rows are valid"
                if not timed
                else f"the right side has several times with a watermark: {shown}",
                place,
                hint="declare WATERMARK FOR its time column"
                if not timed
                else "leave the other one out in a query in FROM",
            )
        return timed[0]
