"""datagen (to come)."""

from typing import Any


class DatagenPlanner:
    def __init__(self, *a: Any) -> None: ...


class DatagenReader:
    def __init__(self, *a: Any) -> None: ...
