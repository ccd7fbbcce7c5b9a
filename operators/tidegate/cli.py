"""The command line (design §4): a thin skin over frontend, plan and the Spark driver."""

from __future__ import annotations

import json
import os
import shlex
import sys
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console

from tidegate.clock import SystemClock
from tidegate.connectors.secrets import hidden
from tidegate.errors import OptionsError, TidegateError, TrustError
from tidegate.frontend import compile_file, declared_sink
from tidegate.frontend.source import text_of
from tidegate.plan.explain import explain as explain_plan
from tidegate.plan.fragments import Plan, cut
from tidegate.policy import policy
from tidegate.refusals import resumes
from tidegate.reports.ledger import Chosen, read_ledger
from tidegate.reports.progress import Progress, progress_for
from tidegate.reports.show import (
    console,
    print_ledger,
    print_status,
    print_verified,
    print_watermarks,
    printable,
    printable_lines,
    quiet_end,
)
from tidegate.reports.why import reason_of, reasons
from tidegate.settings import Settings, check_master, pairs_of, resolve, spark_alone
from tidegate.types import Reason
from tidegate.version import __version__

if TYPE_CHECKING:
    from tidegate.epochs.checkpoint import Checkpoint

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)

File = Annotated[Path, typer.Argument(help="SQL file: all its statements are one job.")]
Set = Annotated[list[str] | None, typer.Option("--set", help="A setting, key=value; repeatable.")]
Debug = Annotated[bool, typer.Option("--debug", help="Show Spark's output and whole traces.")]
Json = Annotated[bool, typer.Option("--json", help="JSON instead of text.")]
Master = Annotated[str, typer.Option("--master", help="Spark's master.")]
Takeover = Annotated[
    bool, typer.Option("--takeover", help="Take the checkpoint from a live driver.")
]
Tables = Annotated[
    list[str] | None, typer.Option("--table", help="Only rows of this source; repeatable.")
]
Reasons = Annotated[
    list[Reason] | None, typer.Option("--reason", help="Only such rows; repeatable.")
]
Directory = Annotated[str, typer.Argument(metavar="DIR", help="A job's checkpoint.")]
Place = Annotated[
    str,
    typer.Argument(
        metavar="PLACE", help="A job's checkpoint, or HOST:PORT of a running one's metrics."
    ),
]


def _say_version(asked: bool) -> None:
    if asked:
        typer.echo(f"tidegate {__version__}")
        raise typer.Exit


@app.callback()
def tidegate_(
    version: Annotated[
        bool,
        typer.Option("--version", callback=_say_version, is_eager=True, help="Say the release."),
    ] = False,
) -> None:
    """Event-time SQL for Apache Spark."""


@app.command()
def run(
    file: File,
    available_now: Annotated[
        bool, typer.Option("--available-now", help="Stop at what is there now.")
    ] = False,
    checkpoint: Annotated[
        str | None, typer.Option("--checkpoint", help="Where the job keeps what it knows.")
    ] = None,
    master: Master = "local[2]",
    set_: Set = None,
    takeover: Takeover = False,
    fresh: Annotated[
        bool, typer.Option("--fresh", help="Begin anew: remove the checkpoint and its output.")
    ] = False,
    json_: Json = False,
    debug: Debug = False,
) -> None:
    """Run a job until its tables end, or until it is stopped."""
    with _reported(debug):
        if fresh and checkpoint is None:
            raise OptionsError("--fresh needs --checkpoint: the one that is to begin anew")
        if checkpoint is not None:
            policy().check_path(f"--checkpoint {checkpoint}", checkpoint)
        plan, settings, spark = _compiled(file, set_, json_, writes=True)
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
        if stop.at_once:
            raise typer.Exit(130)


@app.command()
def explain(file: File, set_: Set = None, debug: Debug = False) -> None:
    """Show fragments, exchanges, watermark columns, and a bound on each operator's state."""
    with _reported(debug):
        plan, _, _ = _compiled(file, set_)
        if plan.job.sinks:
            typer.echo(explain_plan(plan))


@app.command()
def check(file: File, set_: Set = None, debug: Debug = False) -> None:
    """Parse, bind and plan a job; run nothing."""
    with _reported(debug):
        plan, _, _ = _compiled(file, set_)
        sinks, tables = len(plan.job.sinks), len(plan.tables)
        typer.echo(f"{file}: ok ({tables} source table(s), {sinks} sink(s))")


@app.command()
def ledger(
    directory: Directory,
    table: Tables = None,
    split: Annotated[
        list[str] | None, typer.Option("--split", help="Only rows of this split; repeatable.")
    ] = None,
    reason: Reasons = None,
    limit: Annotated[
        int | None,
        typer.Option("--limit", min=0, help="List so many rows, instead of groups of them."),
    ] = None,
    json_: Json = False,
    debug: Debug = False,
) -> None:
    """Show a job's late and quarantined rows, by what they have in common, and its account."""
    with _reported(debug):
        chosen = Chosen(tuple(table or ()), tuple(split or ()), _words(reason), limit)
        _show(
            read_ledger(_checkpoint(directory), chosen), json_, partial(print_ledger, listed=limit)
        )


@app.command()
def verify(directory: Directory, json_: Json = False, debug: Debug = False) -> None:
    """Read all of a checkpoint, and say what is not what it was; exit code 4 if anything is."""
    with _reported(debug):
        from tidegate.reports.verify import verify as verified

        document = verified(_checkpoint(directory))
        _show(document, json_, print_verified)
        if document["wrong"]:
            raise typer.Exit(TrustError.exit_code)


@app.command()
def status(place: Place, json_: Json = False, debug: Debug = False) -> None:
    """Show how a job stands: its driver, rows, ledger, state, sinks and watermarks."""
    with _reported(debug):
        _show(_status_of(place), json_, print_status)


@app.command()
def watermarks(place: Place, json_: Json = False, debug: Debug = False) -> None:
    """Show every split's offset, end, watermark and status, and what holds the minimum."""
    with _reported(debug):
        from tidegate.reports.scraped import address_of, scrape
        from tidegate.reports.watermarks import read_watermarks

        url = address_of(place)
        document = read_watermarks(_checkpoint(place)) if url is None else scrape(url)
        _show(document, json_, print_watermarks)


@app.command()
def why(
    place: Place,
    row: Annotated[
        str | None, typer.Argument(metavar="[SPLIT@OFFSET]", help="A row of the ledger.")
    ] = None,
    json_: Json = False,
    debug: Debug = False,
) -> None:
    """Say what holds a job's watermarks and windows back, or why a row was refused."""
    with _reported(debug):
        sentences = list(reasons(_status_of(place))) if row is None else _row_of(place, row)
        typer.echo(json.dumps(sentences) if json_ else "\n".join(map(printable, sentences)))


@app.command()
def replay(
    directory: Directory,
    file: File,
    into: Annotated[str, typer.Option("--into", help="The table of FILE to write into.")],
    table: Tables = None,
    reason: Reasons = None,
    query: Annotated[
        str, typer.Option("--query", help="SQL over the table ledger: the rows, corrected.")
    ] = "",
    as_is: Annotated[
        bool, typer.Option("--as-is", help="The records' bytes, into a kafka table.")
    ] = False,
    json_: Json = False,
    debug: Debug = False,
) -> None:
    """Write a job's late and quarantined rows, corrected or not, into a table; each once."""
    with _reported(debug):
        from tidegate.epochs.exposed import exposures
        from tidegate.reports.replay import Choice
        from tidegate.reports.replay import replay as replay_rows

        if query and as_is:
            raise OptionsError("--query and --as-is exclude each other")
        choice = Choice(tuple(table or ()), _words(reason), query, as_is)
        target = declared_sink(text_of(file), str(file), into)
        for line in exposures([target], directory):
            _tell(f"warning: {line}")
        done = replay_rows(_checkpoint(directory), target, choice, SystemClock())
        if json_:
            typer.echo(json.dumps(asdict(done)))
            return
        typer.echo(f"{done.rows:,} rows written into {into}, up to epoch {done.epoch}")
        if done.skipped:
            typer.echo(f"{done.skipped:,} rows do not decode: correct them with --query", err=True)


@app.command()
def rescale(
    directory: Directory,
    parallelism: Annotated[
        int, typer.Option("--parallelism", help="Tasks of each Spark stage, up to its vnodes.")
    ],
    master: Master = "local[2]",
    set_: Annotated[
        list[str] | None, typer.Option("--set", help="A setting of Spark's; repeatable.")
    ] = None,
    takeover: Takeover = False,
    debug: Debug = False,
) -> None:
    """Let a stopped job go on with more or fewer parallel tasks."""
    with _reported(debug):
        from tidegate.spark.rescale import rescale as rescale_job
        from tidegate.spark.run_options import RunOptions

        options = RunOptions(
            master=check_master(master),
            parallelism=parallelism,
            takeover=takeover,
            debug=debug,
            spark=spark_alone(pairs_of(set_)),
        )
        rescale_job(
            _checkpoint(directory), options, SystemClock(), lambda line: typer.echo(line, err=True)
        )


def _checkpoint(directory: str) -> Checkpoint:
    """The one at ``directory``. Raises OptionsError where the operator allows none."""
    from tidegate.epochs.checkpoint import Checkpoint

    policy().check_path(f"the checkpoint {directory}", directory)
    return Checkpoint(directory)


def main() -> None:
    """Entry point of the ``tidegate`` command."""
    if "--debug" not in sys.argv:
        quiet_end()
    app()


def _status_of(place: str) -> dict[str, Any]:
    from tidegate.reports.scraped import address_of, scrape
    from tidegate.reports.status import read_status

    url = address_of(place)
    return read_status(_checkpoint(place), SystemClock()) if url is None else scrape(url)


def _words(reasons: list[Reason] | None) -> tuple[str, ...]:
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
    file: Path, overrides: list[str] | None, json_: bool = False, *, writes: bool = False
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


@contextmanager
def _reported(debug: bool) -> Iterator[None]:
    """Turns our errors into one clear message on stderr and the exit code of design §4."""
    try:
        yield
    except TidegateError as error:
        _tell(traceback.format_exc() if debug else error.render())
        raise typer.Exit(error.exit_code) from None
    except (typer.Exit, BrokenPipeError):
        raise
    except KeyboardInterrupt:
        typer.echo("stopped", err=True)
        raise typer.Exit(130) from None
    except Exception as error:
        if debug:
            _tell(traceback.format_exc())
            raise typer.Exit(1) from None
        _tell(f"internal error: {type(error).__name__}: {error}")
        _tell("hint: run again with --debug for the trace, and tell us")
        raise typer.Exit(1) from None


def _tell(text: str) -> None:
    typer.echo(printable_lines(hidden(text)), err=True)


if __name__ == "__main__":
    main()
