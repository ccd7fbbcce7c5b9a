"""Tries worlds for a time: `python -m hostile --seconds 3600 --seed 7`."""

from __future__ import annotations

import argparse
import sys
import time
import traceback
from collections import Counter

from hostile.judge import faults, message_faults
from hostile.messages import messages
from hostile.worlds import world

EACH = 3
"""Of so many seeds one gives messages, the others files."""


def main() -> int:
    """Exit code 1 when a world was read wrong, or ended its job."""
    parser = argparse.ArgumentParser(prog="hostile", description=__doc__)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--seed", type=int, default=1, help="a million times this is a world's")
    parser.add_argument("--only", type=int, help="try one world, by its own seed, and show its job")
    parser.add_argument("--failures", type=int, default=20, help="stop after so many")
    given = parser.parse_args()
    if given.only is not None:
        print(messages(given.only).sql() if given.only % EACH == 0 else world(given.only).sql("."))
        return int(bool(wrong(given.only, Counter())))
    print(f"hostile: {given.seconds:g} seconds of worlds, SEED={given.seed}", flush=True)
    ends, seed = time.monotonic() + given.seconds, given.seed * 1_000_000
    failed: list[int] = []
    seen: Counter[str] = Counter()
    while time.monotonic() < ends and len(failed) < given.failures:
        if wrong(seed, seen):
            failed.append(seed)
        seed += 1
    print(", ".join(f"{count} {what}" for what, count in sorted(seen.items())))
    print(f"wrong: {failed}; try one with --only SEED" if failed else "all as they should be")
    return int(bool(failed))


def wrong(seed: int, seen: Counter[str]) -> list[str]:
    """What is wrong with how the world of ``seed`` is read, which is also shown."""
    try:
        found = _tried(seed, seen)
    except Exception:
        found = [traceback.format_exc()[-1500:]]
    if found:
        print(f"seed {seed}:", *found, sep="\n  ", flush=True)
    return found


def _tried(seed: int, seen: Counter[str]) -> list[str]:
    if seed % EACH == 0:
        given = messages(seed)
        seen[f"worlds of {given.form} in Kafka"] += 1
        seen["rows"] += len(given.wanted)
        seen["rows accepted"] += sum(each is not None for each in given.wanted)
        return message_faults(given)
    tried = world(seed)
    seen[f"worlds of {tried.form}"] += 1
    seen["rows"] += sum(counts["read"] for counts in tried.account.counts.values())
    seen["rows accepted"] += len(tried.account.accepted)
    return faults(tried)


if __name__ == "__main__":
    sys.exit(main())
