"""The judgement: a golden is resumed, and gives what 0.1 gave."""

from __future__ import annotations

import shutil
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

from goldens.golden import Golden, Results, results, unpack
from goldens.world import World
from spark.processes import Commands
from spark.shared_jvm import SharedJvm


def goes_on_as_before(golden: Golden, jvm: SharedJvm, world: World) -> None:
    """Fails where rows of any sink, their order, or the ledger are others than 0.1's.

    It is resumed where ``jvm`` runs: there a golden's paths begin.
    """
    directory = jvm.directory
    wanted = unpacked_alone(golden, directory, world)
    with Commands(directory, jvm=jvm) as tidegate:
        ran = tidegate.run(*golden.args, **world.env)
        assert ran.code == 0, ran.err
        ledger = tidegate.run("ledger", "checkpoint", "--json")
        assert ledger.code == 0, ledger.err
    found = results(golden, directory, world, ran.out, ledger.out)
    told = list(differences(found, wanted))
    assert not told, "\n".join(told)


def unpacked_alone(golden: Golden, directory: Path, world: World) -> Results:
    """`unpack` where the golden before it has run."""
    for folder in ("in", "checkpoint", "out", "later"):
        shutil.rmtree(directory / folder, ignore_errors=True)
    return unpack(golden, directory, world)


def differences(found: Results, wanted: Results) -> Iterator[str]:
    """A sentence for each sink, and for the ledger, that are not as they were."""
    for name in sorted(found.sinks.keys() | wanted.sinks.keys()):
        is_now, was = found.sinks.get(name, []), wanted.sinks.get(name, [])
        if is_now != was:
            yield f"{name}: {_compared(is_now, was)}"
    if found.ledger != wanted.ledger:
        rows = ([str(row) for row in each.ledger["rows"]] for each in (found, wanted))
        yield f"ledger: {_compared(*rows)}; {found.ledger['counts']}, {wanted.ledger['counts']}"


def _compared(found: Sequence[str], wanted: Sequence[str]) -> str:
    missing, more = Counter(wanted) - Counter(found), Counter(found) - Counter(wanted)
    if not missing and not more:
        return f"{len(found)} rows in another order"
    counts = f"{len(found)} rows for {len(wanted)}"
    return f"{counts}, without {list(missing)[:2]}, but {list(more)[:2]}"
