"""`run --fresh`: a checkpoint's job begins anew, and what it had written is removed.

job.json is put aside; the outputs that it names are removed, then all of the checkpoint but its
lease, then job.json. A crash in between leaves a checkpoint that no run takes but one with
``--fresh``, which goes on.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from tidegate.epochs.checkpoint import JOB, Checkpoint
from tidegate.epochs.difference import parts_of
from tidegate.epochs.listener import Log
from tidegate.epochs.manifest import Manifest, fingerprint
from tidegate.epochs.targets import TO_LEDGER, TO_SINK
from tidegate.errors import OptionsError
from tidegate.plan.fragments import Plan
from tidegate.ports import ErasingCommitter, SinkCommitter

_ASIDE: Final = "removed.json"
_OF_JOB: Final = ["spark", "epochs", "ledger", "staging", "views", "replays", "rescales", "log"]
_OUTPUTS: Final = ("sink '", "ledger table '")
_PLACE: Final = ("connector", "option '")
_BY_HAND: Final = "remove by hand what it has written, and give another --checkpoint"


def begin_anew(
    checkpoint: Checkpoint, plan: Plan, committers: Mapping[int, SinkCommitter], log: Log
) -> None:
    """Removes what the job of ``checkpoint`` has written, and all that the checkpoint knows.

    ``committers`` are those of ``plan``, which may be another job with the same outputs. Raises
    OptionsError before anything is removed where an output would stay: this job has no such one,
    or it is of a connector that cannot take back what it was given.
    """
    name = next((each for each in (JOB, _ASIDE) if checkpoint.store.exists(each)), None)
    if name is None:
        return
    manifest = checkpoint.read_job(name)
    outputs = _outputs(manifest, plan, committers, checkpoint.uri)
    if name == JOB:
        checkpoint.store.write(_ASIDE, checkpoint.store.read(JOB))
        checkpoint.store.sync([_ASIDE])
        checkpoint.store.delete([JOB])
    for target, (output, committer) in outputs.items():
        if files := committer.erase(manifest.sinks[target]):
            log(f"--fresh: removed {files:,} file{'s' * (files > 1)} of {output}")
    _clear(checkpoint)
    log(f"--fresh: the checkpoint {checkpoint.uri} begins anew")


def _clear(checkpoint: Checkpoint) -> None:
    """Removes all but the lease; last, what was put aside."""
    for folder in _OF_JOB:
        checkpoint.store.clear(folder)
    checkpoint.store.delete(["metrics.prom"])
    checkpoint.store.delete([_ASIDE])
    checkpoint.create()


def _outputs(
    manifest: Manifest, plan: Plan, committers: Mapping[int, SinkCommitter], uri: str
) -> dict[int, tuple[str, ErasingCommitter]]:
    """What a checkpoint's job has written, by target: the name, and who can remove it."""
    now = _named(parts_of(plan))
    was = now if manifest.fingerprint == fingerprint(plan) else _named(manifest.parts)
    if len(was) != len(manifest.sinks.keys() - {TO_LEDGER}):
        raise OptionsError(
            f"the checkpoint {uri} does not say where another job has written",
            hint=f"run --fresh with the SQL that made it, or {_BY_HAND}",
        )
    found = {}
    for index, (name, place) in enumerate(was.items()):
        if now.get(name) != place:
            raise OptionsError(
                f"--fresh would leave the output of {name} behind: this job does not write there",
                hint=f"run --fresh with the SQL that made the checkpoint, or {_BY_HAND}",
            )
        committer = committers[TO_SINK - list(now).index(name)]
        if not (isinstance(committer, ErasingCommitter) and committer.erases()):
            connector = place["connector"]
            raise OptionsError(
                f"--fresh cannot remove the output of {name}: connector '{connector}' keeps it",
                hint=_BY_HAND,
            )
        found[TO_SINK - index] = name, committer
    return found


def _named(parts: Mapping[str, Mapping[str, str]]) -> dict[str, dict[str, str]]:
    """The outputs among the parts of a job, in the order of their targets: where each is."""
    return {
        name: {part: text for part, text in own.items() if part.startswith(_PLACE)}
        for name, own in parts.items()
        if name.startswith(_OUTPUTS)
    }
