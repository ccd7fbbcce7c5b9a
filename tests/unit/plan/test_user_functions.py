from __future__ import annotations

import pickle

from tidegate.plan.user_functions import UserFunction


def test_it_travels() -> None:
    function = UserFunction("f", ("BIGINT",), "VARCHAR", "def f(x): ...", "f")
    assert pickle.loads(pickle.dumps(function)) == function
    assert hash(function) == hash(pickle.loads(pickle.dumps(function)))
