from __future__ import annotations

import pytest

from tidegate import errors
from tidegate.spark.errors import CarriedError, carried, explained, recovered


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
    error = explained("Job aborted\nCaused by: java.io.IOException: No space left\n\tat x.y")
    assert (type(error), error.detail) == (
        errors.RunError,
        "Caused by: java.io.IOException: No space left",
    )
    streamed = "[STREAM_FAILED] Query terminated with exception: it is no number\n+- LocalRelation"
    assert explained(streamed).detail == streamed.splitlines()[0], "what is behind it is a plan"
    assert explained("").detail == "no detail"
