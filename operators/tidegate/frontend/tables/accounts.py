"""Gives every scan its account and every watermark filter its id (S7).

An account is a table with one chain of watermark declarations. The first chain on a table is
called like the table, the second ``table#2``; equal chains are one. All filters of a chain share
the chain's account. Ids are ``account.column``, with ``#2`` for a second filter on one column.
"""

from __future__ import annotations

from dataclasses import replace

from tidegate.plan.nodes import Node, Refusing, Scan, Sink, Unary, WatermarkFilter
from tidegate.plan.over import RecentRows


def assign_accounts(sinks: list[Sink]) -> list[Sink]:
    """The sinks with accounts and filter ids assigned, in the order of the file."""
    chains: dict[str, list[Node]] = {}
    return [replace(sink, input=_assigned(sink.input, chains)) for sink in sinks]


def _assigned(node: Node, chains: dict[str, list[Node]]) -> Node:
    if isinstance(node, Refusing):
        return _named(node, _account(node, chains))
    return node.on([_assigned(below, chains) for below in node.inputs])


def _account(chain: Node, chains: dict[str, list[Node]]) -> str:
    scan = next(node for node in chain.walk() if isinstance(node, Scan))
    known = chains.setdefault(scan.table.name, [])
    if isinstance(chain, WatermarkFilter) and chain.is_end:
        chain = scan
    if chain not in known:
        known.append(chain)
    number = known.index(chain) + 1
    return scan.table.name if number == 1 else f"{scan.table.name}#{number}"


def _named(node: Node, account: str) -> Node:
    """The chain below ``node`` under its account."""
    if isinstance(node, Scan):
        return replace(node, account=account)
    assert isinstance(node, Unary)
    assert not node.stateful
    below = _named(node.input, account)
    if isinstance(node, RecentRows):
        lower = sum(isinstance(part, RecentRows) for part in below.walk())
        id_ = f"{account}#recent{lower + 1}"  # no filter's: theirs have the column behind a dot
        return replace(node, input=below, account=account, id=id_)
    if not isinstance(node, WatermarkFilter):
        return replace(node, input=below)
    taken = {part.id for part in below.walk() if isinstance(part, WatermarkFilter)}
    id_ = f"{account}.{node.column}"
    number = 2
    while id_ in taken:
        id_, number = f"{account}.{node.column}#{number}", number + 1
    return replace(node, input=below, account=account, id=id_)
