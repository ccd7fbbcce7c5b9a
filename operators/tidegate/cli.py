"""The command line (design §4): what may be asked. What is done then is in `commands`, which is
loaded when something is: it takes a second, and ``--help`` needs none of it."""

from __future__ import annotations

import sys
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer

from tidegate.connectors.secrets import hidden
from tidegate.errors import TidegateError
from tidegate.reasons import Reason
from tidegate.reports.terminal import printable_lines, quiet_end
from tidegate.version import __version__

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
    from tidegate.spark.launch.own_jvm import started_early

    with _reported(debug), started_early(master, set_ or ()):
        from tidegate import commands

        commands.run(
            file,
            set_,
            checkpoint=checkpoint,
            master=master,
            available_now=available_now,
            takeover=takeover,
            fresh=fresh,
            json_=json_,
            debug=debug,
        )


@app.command()
def explain(file: File, set_: Set = None, debug: Debug = False) -> None:
    """Show fragments, exchanges, watermark columns, and a bound on each operator's state."""
    with _reported(debug):
        from tidegate import commands

        commands.explain(file, set_)


@app.command()
def check(file: File, set_: Set = None, debug: Debug = False) -> None:
    """Parse, bind and plan a job; run nothing."""
    with _reported(debug):
        from tidegate import commands

        commands.check(file, set_)


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
        from tidegate import commands

        commands.ledger(directory, table, split, reason, limit, json_)


@app.command()
def verify(directory: Directory, json_: Json = False, debug: Debug = False) -> None:
    """Read all of a checkpoint, and say what is not what it was; exit code 4 if anything is."""
    with _reported(debug):
        from tidegate import commands

        commands.verify(directory, json_)


@app.command()
def status(place: Place, json_: Json = False, debug: Debug = False) -> None:
    """Show how a job stands: its driver, rows, ledger, state, sinks and watermarks."""
    with _reported(debug):
        from tidegate import commands

        commands.status(place, json_)


@app.command()
def watermarks(place: Place, json_: Json = False, debug: Debug = False) -> None:
    """Show every split's offset, end, watermark and status, and what holds the minimum."""
    with _reported(debug):
        from tidegate import commands

        commands.watermarks(place, json_)


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
        from tidegate import commands

        commands.why(place, row, json_)


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
        from tidegate import commands

        commands.replay(directory, file, into, table, reason, query, as_is, json_)


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
        from tidegate import commands

        commands.rescale(directory, parallelism, master, set_, takeover, debug)


def main() -> None:
    """Entry point of the ``tidegate`` command."""
    if "--debug" not in sys.argv:
        quiet_end()
    app()


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
