"""What each command does: a thin skin over frontend, plan, the Spark driver and the reports."""

from __future__ import annotations

import json
import os
import shlex
from collections.abc import Callable, Sequence
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any

import typer
from rich.console import Console

from tidegate.clock import SystemClock
from tidegate.connectors.secrets import hidden
from tidegate.epochs.checkpoint import Checkpoint
from tidegate.errors import OptionsError, TrustError
from tidegate.frontend import compile_file, declared_sink
from tidegate.frontend.source import text_of
from tidegate.plan.explain import explain as explain_plan
from tidegate.plan.fragments import Plan, cut
from tidegate.policy import policy
from tidegate.reasons import Reason
from tidegate.refusals import resumes
from tidegate.reports.ledger import Chosen, read_ledger
from tidegate.reports.progress import Progress, progress_for
from tidegate.reports.show import print_ledger, print_status, print_verified, print_watermarks
from tidegate.reports.terminal import console, printable, printable_lines
from tidegate.reports.why import reason_of, reasons
from tidegate.settings import Settings, check_master, pairs_of, resolve, spark_alone


def run(
    file: Path,
    overrides: Sequence[str] | None,
    *,
    checkpoint: str | None,
    master: str,
    available_now: bool,
    takeover: bool,
    fresh: bool,
    json_: bool,
    debug: bool,
) -> None:
    """Raises typer.Exit where it was stopped at once, TidegateError for all that is wrong."""
    if fresh and checkpoint is None:
        raise OptionsError("--fresh needs --checkpoint: the one that is to begin anew")
    if checkpoint is not None:
        policy().check_path(f"--checkpoint {checkpoint}", checkpoint)
    plan, settings, spark = _compiled(file, overrides, json_, writes=True)
    if not plan.job.sinks:
        return
    from tidegate.spark.driver import Driver
    from tidegate.spark.run_options import RunOptions
    from tidegate.spark.stop import Stop

    options = RunOptions.of(
        settings,
        spark,
        checkpoint=checkpoint,
        master=check_master(master),
        available_now=available_now,
        takeover=takeover,
        fresh=fresh,
        debug=debug,
    )
    clock = SystemClock()
    progress: Progress = progress_for(plan, clock, json_)
    again = ["tidegate", "run", str(file), "--checkpoint", checkpoint or ""]
    with progress, Stop() as stop, resumes(shlex.join(again) if checkpoint else ""):
        last = Driver(plan, options, clock, progress.log, (progress,), stop).run()
        progress.finish(last, stopped=stop.requested)
        counts = last.accounts.total()
        if checkpoint is not None and counts.late + counts.quarantined:
            progress.log(f"{shlex.join(['tidegate', 'ledger', checkpoint])} shows the refused rows")
    if stop.at_once:
        raise typer.Exit(130)


def explain(file: Path, overrides: Sequence[str] | None) -> None:
    plan, _, _ = _compiled(file, overrides)
    if plan.job.sinks:
        typer.echo(explain_plan(plan))


def check(file: Path, overrides: Sequence[str] | None) -> None:
    plan, _, _ = _compiled(file, overrides)
    sinks, tables = len(plan.job.sinks), len(plan.tables)
    typer.echo(f"{file}: ok ({tables} source table(s), {sinks} sink(s))")


def ledger(
    directory: str,
    tables: Sequence[str] | None,
    splits: Sequence[str] | None,
    reasons: Sequence[Reason] | None,
    limit: int | None,
    json_: bool,
) -> None:
    chosen = Chosen(tuple(tables or ()), tuple(splits or ()), _words(reasons), limit)
    _show(read_ledger(_checkpoint(directory), chosen), json_, partial(print_ledger, listed=limit))


def verify(directory: str, json_: bool) -> None:
    """Raises typer.Exit where something is wrong."""
    from tidegate.reports.verify import verify as verified

    document = verified(_checkpoint(directory))
    _show(document, json_, print_verified)
    if document["wrong"]:
        raise typer.Exit(TrustError.exit_code)


def status(place: str, json_: bool) -> None:
    _show(_status_of(place), json_, print_status)


def watermarks(place: str, json_: bool) -> None:
    from tidegate.reports.scraped import address_of, scrape
    from tidegate.reports.watermarks import read_watermarks

    url = address_of(place)
    document = read_watermarks(_checkpoint(place)) if url is None else scrape(url)
    _show(document, json_, print_watermarks)


def why(place: str, row: str | None, json_: bool) -> None:
    sentences = list(reasons(_status_of(place))) if row is None else _row_of(place, row)
    typer.echo(json.dumps(sentences) if json_ else "\n".join(map(printable, sentences)))


def replay(
    directory: str,
    file: Path,
    into: str,
    tables: Sequence[str] | None,
    reasons: Sequence[Reason] | None,
    query: str,
    as_is: bool,
    json_: bool,
) -> None:
    from tidegate.epochs.exposed import exposures
    from tidegate.reports.replay import Choice
    from tidegate.reports.replay import replay as replay_rows

    if query and as_is:
        raise OptionsError("--query and --as-is exclude each other")
    choice = Choice(tuple(tables or ()), _words(reasons), query, as_is)
    target = declared_sink(text_of(file), str(file), into)
    for line in exposures([target], directory):
        typer.echo(printable_lines(hidden(f"warning: {line}")), err=True)
    done = replay_rows(_checkpoint(directory), target, choice, SystemClock())
    if json_:
        typer.echo(json.dumps(asdict(done)))
        return
    typer.echo(f"{done.rows:,} rows written into {into}, up to epoch {done.epoch}")
    if done.skipped:
        typer.echo(f"{done.skipped:,} rows do not decode: correct them with --query", err=True)


def rescale(
    directory: str,
    parallelism: int,
    master: str,
    overrides: Sequence[str] | None,
    takeover: bool,
    debug: bool,
) -> None:
    from tidegate.spark.rescale import rescale as rescale_job
    from tidegate.spark.run_options import RunOptions

    options = RunOptions(
        master=check_master(master),
        parallelism=parallelism,
        takeover=takeover,
        debug=debug,
        spark=spark_alone(pairs_of(overrides)),
    )
    rescale_job(
        _checkpoint(directory), options, SystemClock(), lambda line: typer.echo(line, err=True)
    )


def _checkpoint(directory: str) -> Checkpoint:
    """The one at ``directory``. Raises OptionsError where the operator allows none."""
    policy().check_path(f"the checkpoint {directory}", directory)
    return Checkpoint(directory)


def _status_of(place: str) -> dict[str, Any]:
    from tidegate.reports.scraped import address_of, scrape
    from tidegate.reports.status import read_status

    url = address_of(place)
    return read_status(_checkpoint(place), SystemClock()) if url is None else scrape(url)


def _words(reasons: Sequence[Reason] | None) -> tuple[str, ...]:
    return tuple(str(each.value) for each in reasons or ())


def _row_of(place: str, row: str) -> list[str]:
    """Why a row is in the ledger, for each time that it is."""
    split, at, offset = row.rpartition("@")
    if not at or not offset.isdigit():
        raise OptionsError(f"'{row}' is not a row: write SPLIT@OFFSET, as tidegate ledger names it")
    rows = read_ledger(_checkpoint(place), Chosen(splits=(split,)))["rows"]
    found = [reason_of(each) for each in rows if each["offset"] == int(offset)]
    return found or [f"{row} is not in the ledger: it was not read yet, or was not refused"]


def _show(
    document: dict[str, Any], json_: bool, shown: Callable[[dict[str, Any], Console], None]
) -> None:
    if json_:
        typer.echo(json.dumps(document))
    else:
        shown(document, console())


def _compiled(
    file: Path, overrides: Sequence[str] | None, json_: bool = False, *, writes: bool = False
) -> tuple[Plan, Settings, dict[str, str]]:
    """The plan of a file, which may have nothing to run; prints what its DESCRIBE statements ask.

    ``writes``: what COMPILE PLAN asks for.
    """
    compiled = compile_file(text_of(file), str(file), pairs_of(overrides))
    for description in compiled.descriptions:
        typer.echo(json.dumps(description.document()) if json_ else description.text())
    for kept in compiled.plans if writes else ():
        typer.echo(kept.write(), err=True)
    job = compiled.job
    settings, spark = resolve(dict(job.settings), os.environ)
    return cut(job, settings.vnodes, settings.pushdown), settings, spark
