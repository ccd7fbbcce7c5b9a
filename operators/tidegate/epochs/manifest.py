"""``job.json``: what a checkpoint's job is. Its first run writes it, all others are held to it."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any, Final

from tidegate.connectors.registry import connector_of
from tidegate.engine.engine import shared_engine
from tidegate.epochs.about import About
from tidegate.epochs.difference import Parts, differences, parts_of
from tidegate.errors import OptionsError, TrustError
from tidegate.executor.exchange.dispatch import hash_probe
from tidegate.plan.fragments import Plan
from tidegate.plan.names import canonical
from tidegate.plan.nodes import WatermarkFilter, time_zone
from tidegate.plan.tables import Table
from tidegate.version import __version__

_SETTINGS: Final = {
    "vnodes": "tidegate.vnodes",
    "pushdown": "tidegate.watermark.pushdown",
    "time_zone": "table.local-time-zone",
}
"""What of the manifest a setting says, and state or results depend on."""


@dataclass(frozen=True, slots=True)
class Manifest:
    """``sinks``: what the committer of each target remembers. ``hash`` tells by what hash keys are
    spread over vnodes, ``tidegate`` the release that has written this. ``parallelism`` is that of
    the first run (see `parallelism`). ``parts`` tell people what differs in another job."""

    fingerprint: str
    vnodes: int
    pushdown: bool
    time_zone: str
    hash: str
    parallelism: int
    sinks: Mapping[int, Mapping[str, str]]
    job: str = ""
    about: About = field(default_factory=About)
    tidegate: str = ""
    parts: Parts = field(default_factory=dict)

    @classmethod
    def of(cls, plan: Plan, parallelism: int, sinks: Mapping[int, Mapping[str, str]]) -> Manifest:
        """That of a job's first run."""
        return cls(
            fingerprint(plan),
            plan.vnodes,
            _pushed_down(plan),
            time_zone(plan.job),
            _hash(),
            parallelism,
            sinks,
            plan.job.name,
            About.of(plan),
            __version__,
            parts_of(plan),
        )

    def check(self, now: Manifest, uri: str) -> None:
        """Raises OptionsError when a run of ``now`` is another job's than that of the checkpoint
        at ``uri``, or has other settings where that matters; TrustError for another hash."""
        if self.fingerprint != now.fingerprint:
            told = differences(self.parts, now.parts)
            if not told:
                raise OptionsError(
                    f"the checkpoint {uri} was made by tidegate {self.tidegate}, which computes"
                    " something of this job otherwise",
                    detail="its statements are the same",
                    hint=f"run it with tidegate {self.tidegate}, or give it another --checkpoint;"
                    " or begin anew with --fresh, which removes what that one has written",
                )
            raise OptionsError(
                f"the checkpoint {uri} belongs to another job",
                detail="\n".join(
                    [
                        f"it was made by '{self.job}'; tables or queries differ",
                        *(told if self.parts else ()),
                    ]
                ),
                hint="give this job a checkpoint of its own; or run the SQL that made this one, if"
                " it has relative paths in the directory in which it was run; or begin anew with"
                " --fresh, which removes what that one has written",
            )
        for name, setting in _SETTINGS.items():
            began, wanted = (json.dumps(getattr(each, name)) for each in (self, now))
            if began != wanted:
                raise OptionsError(
                    f"{setting} is {wanted}, but the checkpoint began with {began}, and keeps to"
                    " it",
                    hint=f"run with --set {setting}={began}, or give a new --checkpoint",
                )
        if self.hash != now.hash:
            raise TrustError(
                "this release spreads keys over vnodes in another way than the checkpoint's",
                hint=f"run with tidegate {self.tidegate}, which made the checkpoint",
            )


@cache
def _hash() -> str:
    return hash_probe(shared_engine())


def _pushed_down(plan: Plan) -> bool:
    """Whether the watermark filters run in the readers (`tidegate.watermark.pushdown`)."""
    return not any(
        isinstance(node, WatermarkFilter)
        for fragment in plan.fragments
        if fragment.table is None
        for node in fragment.nodes
    )


def fingerprint(plan: Plan) -> str:
    """What a checkpoint's job is: its sinks' plans, whatever settings it is run with."""
    job = plan.job
    further = [part for part in (job.ledger, job.functions) if part]
    written = [job.sinks, *further] if further else job.sinks
    document = json.dumps(canonical(written, _compared), sort_keys=True)
    return hashlib.sha256(document.encode()).hexdigest()


def _compared(value: Any) -> Any:
    """Of a table what makes it another one."""
    return connector_of(value).same_table(value) if isinstance(value, Table) else value
