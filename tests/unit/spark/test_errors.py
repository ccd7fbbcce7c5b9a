from __future__ import annotations

import pytest

from tidegate import errors
from tidegate.spark.errors import CarriedError, carried, explained, recovered, worker_was_late


def through_spark(error: Exception) -> str:
    """What of an error in a worker the driver sees: text, with other text around it."""
    with pytest.raises(CarriedError) as caught, carried():
        raise error
    return f"Job aborted: Traceback …\n{caught.value}\n\tat org.apache.spark.Thing(Thing.scala:1)"


@pytest.mark.parametrize(
    "kind", [errors.TrustError, errors.SinkError, errors.OptionsError, errors.LeaseHeldError]
)
def test_our_errors_arrive_as_what_they_are(kind: type[errors.TidegateError]) -> None:
    error = recovered(through_spark(kind("wh@t, [where]", detail="what\nwas", hint="do ü")))
    assert type(error) is kind
    assert error is not None
    assert (error.message, error.detail, error.hint) == ("wh@t, [where]", "what\nwas", "do ü")
    assert error.exit_code == kind.exit_code


def test_an_error_with_a_position_becomes_one_of_running() -> None:
    error = recovered(through_spark(errors.BindError("late bind", None)))
    assert type(error) is errors.RunError


def test_others_pass_as_they_are() -> None:
    with pytest.raises(ZeroDivisionError), carried():
        raise ZeroDivisionError
    assert recovered("java.lang.OutOfMemoryError") is None


def test_a_file_of_sparks_that_was_changed_is_not_trusted() -> None:
    checksum = "Checksum error: file:/c/spark/offsets/14 at 0 exp: 5 got: 6"
    java = f"o1.start.\n: org.apache.hadoop.fs.ChecksumException: {checksum}\n\tat java.lang.Error"
    for text in (java, f"[STREAM_FAILED] Query terminated with exception: {checksum}\nRUNNABLE"):
        error = explained(text)
        assert isinstance(error, errors.TrustError)
        assert error.detail.startswith(checksum)


@pytest.mark.parametrize(
    "line",
    [
        "[CANNOT_LOAD_STATE_STORE.CANNOT_READ_MISSING_SNAPSHOT_FILE] Error reading 3.zip",
        "[STREAMING_STATEFUL_OPERATOR_MISSING_STATE_DIRECTORY] Cannot restart",
        "java.util.zip.ZipException: invalid entry CRC (expected 0x1 but got 0x2)",
        "RocksDBException: Corruption: block checksum mismatch",
    ],
)
def test_state_that_is_gone_or_changed_is_not_trusted(line: str) -> None:
    error = explained(f"o1.start.\n: org.apache.spark.SparkException: x\nCaused by: {line}\n\tat y")
    assert isinstance(error, errors.TrustError)
    assert error.detail == line


def test_other_errors_show_their_telling_line() -> None:
    error = explained("Job aborted\nCaused by: java.io.IOException: it is broken\n\tat x.y")
    assert (type(error), error.detail) == (
        errors.RunError,
        "java.io.IOException: it is broken",
    )
    streamed = "[STREAM_FAILED] Query terminated with exception: it is no number\n+- LocalRelation"
    assert explained(streamed).detail == streamed.splitlines()[0], "what is behind it is a plan"
    assert explained("").detail == "no detail"


PYTHON = """[STREAM_FAILED] Query [id = 1] terminated with exception: Job aborted
Driver stacktrace: SQLSTATE: XXKST
Caused by: org.apache.spark.api.python.PythonException: Traceback (most recent call last):
  File "/a/worker.py", line 3, in main
    raise ValueError("an Error at x")
ValueError: an Error at x

\tat org.apache.spark.api.python.BasePythonRunner$ReaderIterator.handlePythonException(P.scala:1)
\tat org.apache.spark.util.NonFatalErrorHandler.run(Error.scala:2)
\t... 12 more"""
NESTED = """o1.start.
: org.apache.spark.SparkException: Job aborted
\tat java.base/java.lang.ErrorThing.run(ErrorThing.java:1)
Caused by: java.lang.RuntimeException: in between
\tat x.ErrorHandler.y(Z.scala:3)
Caused by: java.lang.IllegalStateException: the bottom
\tat org.apache.spark.sql.errors.QueryExecutionErrors$.unsupported(Q.scala:5)
\t... 3 more"""


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        (PYTHON, "ValueError: an Error at x"),
        (NESTED, "java.lang.IllegalStateException: the bottom"),
        ("x\n\tat a.NoError(E.java:1)\n\tat b.SomeException(E.java:2)", "x"),
    ],
)
def test_the_innermost_cause_is_told_and_no_frame(text: str, wanted: str) -> None:
    error = explained(text, "/c/log/spark.log")
    assert error.detail == wanted
    assert "/c/log/spark.log" in error.hint


def test_a_full_disk_under_spark_is_exit_code_5() -> None:
    error = explained("x\nCaused by: java.io.IOException: No space left on device\n\tat x.y(z)")
    assert error.exit_code == 5


def test_a_full_disk_in_a_worker_arrives_as_that() -> None:
    error = recovered(through_spark(OSError(28, "No space left on device", "/c/f")))
    assert isinstance(error, errors.RefusedError)
    assert error.message == "'/c/f' is full"


def test_a_worker_that_did_not_come_is_known() -> None:
    text = "SparkException: Python worker failed to connect back.\nCaused by: java.net.X: timed out"
    assert worker_was_late(text)
    assert "too busy" in explained(text).hint
    assert not worker_was_late(PYTHON)
