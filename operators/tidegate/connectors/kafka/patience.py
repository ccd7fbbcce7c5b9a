"""How long the Kafka connector waits: all its times, in seconds, each with its reason."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf
from typing import Final

from tidegate.errors import RunError
from tidegate.patience import Patience


@dataclass(frozen=True, slots=True)
class KafkaPatience:
    """What planner, reader, writer and committer are given; tests give them less."""

    question: Patience = Patience(10, 3, 1, pause_s=0.2, least_s=0.2, passing=(RunError,))
    """To the cluster. Leaders change, and for a moment nobody is one: it passes. Tries are short,
    since a client that has asked the leader of before hears of no other one; they get longer from
    question to question when there is no answer at all."""
    overdue_s: float = 2.0
    """Beyond a try's time: the client should end it itself."""
    slow_s: float = 2.0
    """What a client's answer should not take."""

    starting: Patience = Patience(30, pause_s=1, passing=(RunError,))
    """For the leaders, when a job starts and the cluster has told of its topics."""
    running: Patience = Patience(120, pause_s=1)
    """For brokers that do not answer the planner: they restart."""
    asking: Patience = Patience(120, pause_s=0.1, passing=(RunError,))
    """The same of a reader: a task that fails costs the epoch."""

    hearing: Patience = Patience(120, 5, growth=4)
    """For the next message. A try is a client's, whose place another one takes while brokers
    answer: it may have missed that they went and came. The next has longer: they may be slow, or
    send aborted transactions, of which a client tells at their end only."""
    stuck_s: float = 1.0
    """For the next message, of a client that has said that it missed its leader."""
    look_s: float = 1.0
    """Until a reader that gets nothing asks whether the topic is still the same."""
    locked_out_s: float = 5.0
    """What takes longer, where a call takes milliseconds, has not come to an end at all."""
    flows_s: float = 0.1
    """How soon behind a call that got all the next may be made directly: brokers need longer."""
    moment_s: float = 0.01
    """For the last of the messages that a call asked for: in gaps there are none."""

    fence: Patience = Patience(120, 5, least_s=5, errors_max=4)
    """For a transaction. A try is a client's: its fence, its look, its offsets. Another client
    connects and asks anew. Errors are others' fences."""
    coordinator: Patience = Patience(inf, pause_s=0.02, least_s=0.02)
    """A group's, for as long as a look may take: one that is silent may answer another client."""
    delivery: Patience = Patience(120, 1, growth=1)
    """For brokers that are away, before an epoch fails. Tries are looks at what is delivered."""
    unsure: Patience = Patience(10, 1, growth=1)
    """The same where rows may be lost."""
    stuck_tries: int = 2
    """Of a client that missed a leader, until another one sends: it may have sent all before."""
    resend: Patience = Patience(inf, errors_max=4)
    """Of rows that may be written twice, each time by another client."""
    abort_s: float = 10.0
    renewal_s: float = 6 * 3600.0
    """Until an idle writer is marked again: far below any ``offsets.retention.minutes``."""


USUAL: Final = KafkaPatience()
