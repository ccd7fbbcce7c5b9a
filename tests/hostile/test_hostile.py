"""Some worlds are read as they should be; and the judge does object where one is not."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import pytest

from hostile.__main__ import EACH, wrong
from hostile.account import Account
from hostile.judge import faults, message_faults
from hostile.messages import messages
from hostile.worlds import World, world
from kits.many import seeds

WORLDS = 64


@pytest.mark.slow
@pytest.mark.parametrize("seed", seeds(WORLDS))
def test_a_world_is_read_as_it_should_be(seed: int) -> None:
    assert wrong(seed, Counter()) == []


@pytest.fixture(scope="module")
def good() -> World:
    """A world with rows of all kinds."""
    tried = (world(seed) for seed in range(1, 1000) if seed % EACH)
    return next(each for each in tried if each.form == "json" and _has_all(each.account))


def _has_all(account: Account) -> bool:
    return len(account.accepted) > 9 and "malformed" in account.ledger.values()


@pytest.mark.slow
def test_what_the_judge_objects_to(good: World) -> None:
    assert faults(good) == []
    account = good.account
    lost = replace(account, accepted=account.accepted[1:])
    assert any(fault.startswith("accepted: ") for fault in faults(replace(good, account=lost)))
    first = account.accepted[0]
    other = replace(account, accepted=[(first[0], *reversed(first[1:]), 1), *account.accepted[1:]])
    assert any(fault.startswith("missing: ") for fault in faults(replace(good, account=other)))
    kept = dict(list(account.ledger.items())[1:])
    found = faults(replace(good, account=replace(account, ledger=kept)))
    assert any(fault.startswith("in the ledger: ") for fault in found)
    place = next(iter(account.ledger))
    found = faults(replace(good, records={**good.records, place: b"?"}))
    assert any(fault.startswith("the ledger has ") for fault in found)
    split = next(iter(account.counts))
    counts = {**account.counts, split: account.counts[split] + Counter(read=1)}
    found = faults(replace(good, account=replace(account, counts=counts)))
    assert any(fault.startswith("split ") for fault in found)


def test_messages_that_the_judge_objects_to() -> None:
    given = messages(next(s for s in range(999) if any(messages(s).wanted)))
    assert message_faults(given) == []
    given.wanted = [None if each else (1,) for each in given.wanted]
    assert message_faults(given) != []
