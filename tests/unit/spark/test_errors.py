from __future__ import annotations

import pytest

from tidegate import errors
from tidegate.spark.errors import CarriedError, carried, recovered


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
