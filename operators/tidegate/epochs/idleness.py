"""Which splits are idle (S8): at the end that the broker tells, for the whole timeout.

A split *stands* when the epochs so far have read it to its end, and the broker says, now, that this
is still its end: nothing has come meanwhile, since ends only rise. A split that is merely behind
does not stand, however long nothing of it was read. Time in which this process was stopped does not
count (`tidegate.clock.AwakeClock`), and neither does what was before a restart.

Once idle, a split stays so while it stands, over a restart too: its status is in the offset.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field


@dataclass(slots=True)
class Idleness:
    """Remembers since when each split stands. ``awake_s`` is a clock that stops with us."""

    awake_s: Callable[[], float]
    _since: dict[tuple[str, str], float] = field(default_factory=dict)

    def is_idle(
        self,
        table: str,
        split: str,
        *,
        stands: bool,
        was_idle: bool,
        timeout_us: int,
        begins: bool = True,
    ) -> bool:
        """Whether the split is idle in the epoch that is planned now; called at every plan.

        ``begins`` is false for a run to what is there now: its ends are those of its first look, so
        it knows who is idle still, but not who becomes so.
        """
        key = (table, split)
        if not stands or not timeout_us:
            self._since.pop(key, None)
            return False
        since = self._since.setdefault(key, self.awake_s())
        return was_idle or (begins and self.awake_s() - since >= timeout_us / 1e6)
