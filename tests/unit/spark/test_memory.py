from __future__ import annotations

import pytest

from tidegate.spark.memory import resident_bytes


@pytest.mark.slow
def test_it_grows_with_what_is_held() -> None:
    before = resident_bytes()
    held = bytearray(b"x" * (64 << 20))
    assert resident_bytes() - before > 48 << 20
    assert len(held) == 64 << 20
