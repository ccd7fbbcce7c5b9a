"""What of a golden's job lies outside of its directory: nothing, unless it talks to a server."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path


class World:
    """Where a job runs. `begin`, `keep`: of the run that makes a golden; `resume`: of the next."""

    @property
    def words(self) -> Mapping[str, str]:
        """What stands in the job for words in braces."""
        return {}

    @property
    def env(self) -> Mapping[str, str]:
        return {}

    def begin(self) -> None:
        """Makes what the first run finds."""

    def keep(self, directory: Path) -> None:
        """Writes into the golden what the first run has left, and what its checkpoint knows."""

    def resume(self, directory: Path) -> None:
        """Makes the same again, and what has come since; the checkpoint learns its new names."""

    def sinks(self) -> dict[str, list[str]]:
        """The rows of the sinks that lie there."""
        return {}
